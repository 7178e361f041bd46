#include "runtime/gpu/cuda/libraries/cudnn_engines.h"

#include "ops/core/error.h"

#ifdef TASO_HAS_CUDNN
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "runtime/gpu/cuda/libraries/cudnn_graph.h"

namespace taso::gpu::cuda {

struct CudnnEngines::State {
  cudnnHandle_t handle = nullptr;
  std::string device;
  KernelCache& cache;
  State(std::string on, KernelCache& of_kernels) : device(std::move(on)), cache(of_kernels) {
    require(cudnnCreate(&handle), "a handle");
  }
  ~State() { cudnnDestroy(handle); }
};

namespace {

constexpr std::int64_t workspace_limit = std::int64_t{64} << 20;
constexpr std::string_view padded_mark = "padded ";

struct Knob {
  cudnnBackendKnobType_t type{};
  std::int64_t value = 0;
};

/// An engine with its knobs as text: "engine 35 knobs 2=1,5=0".
std::string identity_of(std::int64_t engine, std::vector<Knob> knobs) {
  std::sort(knobs.begin(), knobs.end(), [](const Knob& a, const Knob& b) { return a.type < b.type; });
  std::string text = fmt::format("engine {}", engine);
  const char* before = " knobs ";
  for (const Knob& knob : knobs) {
    text += fmt::format("{}{}={}", before, static_cast<int>(knob.type), knob.value);
    before = ",";
  }
  return text;
}

std::vector<Knob> knobs_of(const Descriptor& configuration) {
  std::vector<Knob> knobs;
  for (const Descriptor& choice : configuration.get_descriptors(
           CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    knobs.push_back({choice.get_one<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                     choice.get_one<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)});
  }
  return knobs;
}

/// Whether an engine is as exact as required: float32 without TF32 must not use tensor cores, and nothing may be
/// rounded to a smaller type.
bool is_exact_enough(const Descriptor& engine, const CudnnGraph& graph) {
  const auto notes =
      engine.get_some<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const auto says = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (says(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) || says(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION))
    return false;
  // Results must be reproducible.
  if (says(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  return graph.is_tf32() || graph.is_small() || !says(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

/// What cuDNN writes of a plan, with the code that it compiled; empty if it cannot.
std::vector<char> written_plan(const Descriptor& plan) {
  std::int64_t size = 0;
  const auto get = [&](std::int64_t most, char* to) {
    return cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, most,
                                    &size, to);
  };
  if (get(0, nullptr) != CUDNN_STATUS_SUCCESS || size <= 0) return {};
  std::vector<char> text(static_cast<std::size_t>(size));
  if (get(size, text.data()) != CUDNN_STATUS_SUCCESS || size != static_cast<std::int64_t>(text.size())) return {};
  return text;
}

class PreparedEngine : public Prepared {
 public:
  PreparedEngine(std::shared_ptr<CudnnEngines::State> library, std::shared_ptr<CudnnGraph> graph,
                 const Descriptor& configuration, std::string_view identity)
      : library_(std::move(library)), handle_(library_->handle), graph_(std::move(graph)) {
    binary_.key = KernelCache::key_of(fmt::format("cuDNN {}, {}, {}\n{}", cudnnGetVersion(), library_->device, identity,
                                                  graph_->operations().text()));
    if (!read_plan()) make_plan(configuration);
    workspace_ = plan_.get_one<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (workspace_ < 0 || workspace_ > workspace_limit) throw EnvironmentError("cuDNN: the plan needs too much memory");
  }

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(workspace_); }
  bool is_exclusive() const override { return true; }
  const KernelBinary* binary() const override { return binary_.code.empty() ? nullptr : &binary_; }

  void launch(cudaStream_t stream, const Places& places) override {
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    for (const CudnnGraph::Bound& bound : graph_->bound()) {
      ids.push_back(bound.id);
      // cuDNN reads by-value operands immediately and does not write them.
      pointers.push_back(bound.by_value ? const_cast<void*>(static_cast<const void*>(&*bound.by_value))
                                        : static_cast<void*>(places.of(bound.memory)));
    }
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    void* const workspace = places.workspace;
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, static_cast<std::int64_t>(ids.size()), ids.data())
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()),
             pointers.data())
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
        .finalize("addresses");
    require(cudnnSetStream(handle_, stream), "a stream");
    require(cudnnBackendExecute(handle_, plan_.get(), pack.get()), "a launch");
  }

 private:
  /// Takes what an earlier process compiled, if that is known.
  bool read_plan() {
    binary_.code = library_->cache.find(binary_.key);
    if (binary_.code.empty()) return false;
    try {
      plan_ = Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_)
          .set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
               static_cast<std::int64_t>(binary_.code.size()), binary_.code.data())
          .finalize("a plan that was kept");
      return true;
    } catch (const EnvironmentError&) {  // of another cuDNN
      return false;
    }
  }

  void make_plan(const Descriptor& configuration) {
    plan_ = Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
        .finalize("a plan");
    constexpr std::size_t least_with_code = 16 << 10;  // a plan without code has 2 to 3 KB, and is made at once
    binary_.code = written_plan(plan_);
    if (binary_.code.size() < least_with_code)
      binary_.code.clear();
    else
      library_->cache.keep(binary_);
  }

  std::shared_ptr<CudnnEngines::State> library_;
  cudnnHandle_t handle_;
  std::shared_ptr<CudnnGraph> graph_;
  Descriptor plan_;
  KernelBinary binary_;  // without code if that is not worth keeping
  std::int64_t workspace_ = 0;
};

/// Adds the engines that the heuristics suggest for a graph, without duplicates.
void add_engines(const std::shared_ptr<CudnnEngines::State>& library, const std::shared_ptr<CudnnGraph>& graph,
                 std::string_view mark, std::vector<Alternative>& list) {
  std::set<std::string> known;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    std::vector<Descriptor> configurations;
    try {
      Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph->operations())
          .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode)
          .finalize("no engine");
      std::int64_t count = 0;
      require(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                       0, &count, nullptr),
              "no engine");
      configurations =
          heuristics.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
    } catch (const EnvironmentError&) {
      continue;  // other modes may still work
    }
    for (Descriptor& configuration : configurations) {
      try {
        std::vector<Descriptor> engines =
            configuration.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
        if (engines.empty() || !is_exact_enough(engines.front(), *graph)) continue;
        const std::string identity =
            identity_of(engines.front().get_one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX), knobs_of(configuration));
        if (!known.insert(identity).second) continue;
        auto kept = std::make_shared<Descriptor>(std::move(configuration));
        list.push_back({std::string(mark) + identity, [library, graph, kept, identity] {
                          return std::make_unique<PreparedEngine>(library, graph, *kept, identity);
                        }});
      } catch (const EnvironmentError&) {
        continue;  // an engine that cannot even describe itself
      }
    }
  }
}

/// Prepares an engine from its identity without the mark.
std::unique_ptr<Prepared> prepare_engine(const std::shared_ptr<CudnnEngines::State>& library,
                                         std::shared_ptr<CudnnGraph> graph, const std::string& identity) {
  std::istringstream words(identity);
  std::string word;
  std::int64_t index = 0;
  if (!(words >> word >> index) || word != "engine") throw EnvironmentError("cuDNN: no such engine");
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph->operations())
      .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index)
      .finalize("an engine");
  std::vector<Descriptor> knobs;
  if (words >> word) {
    int type = 0;
    char sign = 0;
    std::int64_t value = 0;
    while (words >> type >> sign >> value) {
      Descriptor knob(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(type))
          .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value)
          .finalize("a knob");
      knobs.push_back(std::move(knob));
      if (words.peek() == ',') words.get();
    }
  }
  Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!knobs.empty()) configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
  configuration.finalize("an engine's settings");
  return std::make_unique<PreparedEngine>(library, std::move(graph), configuration, identity);
}

}  // namespace

CudnnEngines::CudnnEngines(std::string device, KernelCache& cache)
    : state_(std::make_shared<State>(std::move(device), cache)) {}
CudnnEngines::~CudnnEngines() = default;

std::vector<Alternative> CudnnEngines::alternatives(const ConvolutionLaunch& launch, const Alignments& alignments,
                                                    std::string& reason) const {
  std::vector<Alternative> list;
  for (const bool is_padded : {false, true}) {
    if (is_padded && !CudnnGraph::takes_nothing_added(launch)) continue;
    try {
      auto graph = std::make_shared<CudnnGraph>(state_->handle, launch, alignments, is_padded);
      add_engines(state_, graph, is_padded ? padded_mark : "", list);
    } catch (const EnvironmentError& error) {
      reason = error.what();
    }
  }
  if (list.empty() && reason.empty()) reason = "cuDNN: no engine";
  return list;
}

std::vector<Alternative> CudnnEngines::alternatives(const MatmulLaunch& launch, const Alignments& alignments,
                                                    std::string& reason) const {
  std::vector<Alternative> list;
  try {
    auto graph = std::make_shared<CudnnGraph>(state_->handle, launch, alignments);
    add_engines(state_, graph, "", list);
  } catch (const EnvironmentError& error) {
    reason = error.what();
  }
  if (list.empty() && reason.empty()) reason = "cuDNN: no engine";
  return list;
}

std::unique_ptr<Prepared> CudnnEngines::prepare(const ConvolutionLaunch& launch, const Alignments& alignments,
                                                const std::string& identity) const {
  const bool is_padded = identity.starts_with(padded_mark);
  if (is_padded && !CudnnGraph::takes_nothing_added(launch)) throw EnvironmentError("cuDNN: no such engine");
  auto graph = std::make_shared<CudnnGraph>(state_->handle, launch, alignments, is_padded);
  return prepare_engine(state_, std::move(graph), is_padded ? identity.substr(padded_mark.size()) : identity);
}

std::unique_ptr<Prepared> CudnnEngines::prepare(const MatmulLaunch& launch, const Alignments& alignments,
                                                const std::string& identity) const {
  auto graph = std::make_shared<CudnnGraph>(state_->handle, launch, alignments);
  return prepare_engine(state_, std::move(graph), identity);
}

}  // namespace taso::gpu::cuda

#else

namespace taso::gpu::cuda {

struct CudnnEngines::State {};
CudnnEngines::CudnnEngines(std::string, KernelCache&) {}
CudnnEngines::~CudnnEngines() = default;
std::vector<Alternative> CudnnEngines::alternatives(const ConvolutionLaunch&, const Alignments&,
                                                    std::string& reason) const {
  reason = "this build has no cuDNN";
  return {};
}
std::vector<Alternative> CudnnEngines::alternatives(const MatmulLaunch&, const Alignments&, std::string& reason) const {
  reason = "this build has no cuDNN";
  return {};
}
std::unique_ptr<Prepared> CudnnEngines::prepare(const ConvolutionLaunch&, const Alignments&, const std::string&) const {
  throw EnvironmentError("this build has no cuDNN");
}
std::unique_ptr<Prepared> CudnnEngines::prepare(const MatmulLaunch&, const Alignments&, const std::string&) const {
  throw EnvironmentError("this build has no cuDNN");
}

}  // namespace taso::gpu::cuda
#endif
