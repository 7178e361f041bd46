#include "runtime/gpu/cuda/libraries/libraries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/core/error.h"
#include "runtime/gpu/cuda/handles.h"

namespace taso::gpu::cuda {

namespace {

template <class... Visits>
struct Overloaded : Visits... {
  using Visits::operator()...;
};
template <class... Visits>
Overloaded(Visits...) -> Overloaded<Visits...>;

}  // namespace

Libraries::Libraries(int device) : device_(device) {
  const DeviceGuard current(device);
  require(cudaFree(nullptr), "its context");  // starts it, so that later calls report their own errors only
  int major = 0, minor = 0, bytes = 0;
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "its capability");
  require(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "its capability");
  require(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "its cache");
  cache_bytes_ = static_cast<std::size_t>(std::max(bytes, 0));
  capability_ = major * 10 + minor;
  sources_ = std::make_unique<SourceKernels>(device, capability_, cache_);
}

CudnnEngines& Libraries::cudnn() {
  if (!cudnn_) {
    int multiprocessors = 0;
    require(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_), "its multiprocessors");
    cudnn_ = std::make_unique<CudnnEngines>(fmt::format("sm_{} x {}", capability_, multiprocessors), cache_);
  }
  return *cudnn_;
}

CublasMatmul& Libraries::cublas() {
  if (!cublas_) cublas_ = std::make_unique<CublasMatmul>();
  return *cublas_;
}

std::vector<Alternative> Libraries::alternatives(const Launch& launch, const Alignments& alignments,
                                                 std::string& reason, Effort effort) {
  return std::visit(
      Overloaded{
          [&](const ConvolutionLaunch& convolution) { return cudnn().alternatives(convolution, alignments, reason); },
          [&](const MatmulLaunch& matmul) {
            std::vector<Alternative> list = cublas().alternatives(matmul, alignments, reason);
            if (effort == Effort::brief) return list;
            std::string other_reason;
            std::vector<Alternative> more = cudnn().alternatives(matmul, alignments, other_reason);
            std::move(more.begin(), more.end(), std::back_inserter(list));
            if (list.empty()) reason += "; " + other_reason;
            return list;
          },
          [&](const SourceLaunch& source) {
            std::vector<Alternative> one;
            one.push_back({SourceKernels::identity, [this, source] { return sources_->prepare(source); }});
            return one;
          }},
      launch);
}

std::unique_ptr<Prepared> Libraries::prepare(const Launch& launch, const Alignments& alignments,
                                             const std::string& identity) {
  return std::visit(Overloaded{[&](const ConvolutionLaunch& convolution) {
                                 return cudnn().prepare(convolution, alignments, identity);
                               },
                               [&](const MatmulLaunch& matmul) {
                                 return identity.starts_with("cublas ") ? cublas().prepare(matmul, alignments, identity)
                                                                        : cudnn().prepare(matmul, alignments, identity);
                               },
                               [&](const SourceLaunch& source) {
                                 if (identity != SourceKernels::identity)
                                   throw EnvironmentError("our own kernel: unknown variant");
                                 return sources_->prepare(source);
                               }},
                    launch);
}

void Libraries::expect(const std::vector<Lowering>& lowerings, const std::string& choice) {
  std::vector<SourceLaunch> launches;
  for (const Lowering& lowering : lowerings) {
    if (!choice.empty() && !choice.starts_with(lowering.name + ": ")) continue;
    for (const Launch& launch : lowering.launches)
      if (const auto* const source = std::get_if<SourceLaunch>(&launch)) launches.push_back(*source);
  }
  sources_->expect(std::move(launches));
}

std::vector<Lowering> Libraries::admitted(std::vector<Lowering> lowerings) const {
  if (!has_own_ && !std::all_of(lowerings.begin(), lowerings.end(), is_own)) std::erase_if(lowerings, is_own);
  return lowerings;
}

void Libraries::expect_nothing() { sources_->expect_nothing(); }

std::size_t PreparedCall::workspace_bytes() const {
  std::size_t most = 0;
  for (const auto& launch : launches) most = std::max(most, launch->workspace_bytes());
  return most;
}

bool PreparedCall::is_exclusive() const {
  return std::any_of(launches.begin(), launches.end(), [](const auto& launch) { return launch->is_exclusive(); });
}

void PreparedCall::launch(cudaStream_t stream, const Places& places) const {
  for (const auto& launch : launches) launch->launch(stream, places);
}

std::string choice_of(const std::string& lowering, const std::vector<std::string>& identities) {
  std::string text = lowering;
  const char* before = ": ";
  for (const std::string& identity : identities) {
    text += before + identity;
    before = "; ";
  }
  return text;
}

PreparedCall Libraries::prepare(const cost::Call& call, const Alignments& alignments, const std::string& choice) {
  const std::size_t colon = choice.find(": ");
  if (colon == std::string::npos) throw EnvironmentError("not a valid choice: " + choice);
  std::vector<std::string> identities;
  for (std::size_t begin = colon + 2; begin <= choice.size();) {
    const std::size_t end = std::min(choice.find("; ", begin), choice.size());
    identities.push_back(choice.substr(begin, end - begin));
    begin = end + 2;
  }
  for (const Lowering& lowering : lowerings(call)) {
    if (lowering.name != choice.substr(0, colon) || lowering.launches.size() != identities.size()) continue;
    PreparedCall prepared{choice, {}, static_cast<std::size_t>(lowering.scratch_bytes)};
    for (std::size_t i = 0; i < identities.size(); ++i)
      prepared.launches.push_back(prepare(lowering.launches[i], alignments, identities[i]));
    return prepared;
  }
  throw EnvironmentError("unknown choice: " + choice);
}

PreparedCall Libraries::prepare_for_program(const cost::Call& call, const Alignments& alignments,
                                            const std::string& choice) {
  const std::string key =
      fmt::format("{} | {} {} | {}", choice, alignments.read, alignments.written, cost::text_of(call));
  const auto known = kept_.find(key);
  if (known != kept_.end() && known->second.call == call) return known->second.prepared;
  PreparedCall prepared = prepare(call, alignments, choice);
  kept_.insert_or_assign(key, Kept{call, prepared});
  return prepared;
}

std::size_t span_bytes(const cost::Call::Operand& operand) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < operand.extents.size(); ++axis) {
    if (operand.extents[axis] == 0) return 0;
    last += (operand.extents[axis] - 1) * operand.strides[axis];
  }
  return static_cast<std::size_t>(last + 1) * size_of(operand.element);
}

}  // namespace taso::gpu::cuda
