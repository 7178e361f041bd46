#include "cli/target/runtime_prices.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/target/call_model.h"
#include "onnx/export/export.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

constexpr double seconds_for_each = 0.06;
/// A call that takes less is measured several times in one run: the start of a run takes microseconds.
constexpr double short_nanoseconds = 400'000;
constexpr double usual_copies = 8;
/// The weights of all copies together stay in the cache, or mostly do not: a cache of hundreds of megabytes is shared
/// with others.
constexpr double warm_bytes = 8e6, cold_bytes = 160e6;
constexpr double most_copies = 340;
/// Weights from memory are worth measuring if fetching them takes this share of the time.
constexpr double memory_bytes_a_nanosecond = 10, noticeable_share = 0.05;
/// No kernel takes less than calling it does.
constexpr double least_nanoseconds = 200;

double weight_bytes_of(const cost::Call& call) {
  double bytes = 0;
  for (const cost::Call::Operand& operand : call.read)
    if (operand.is_weight)
      bytes += static_cast<double>(count(operand.extents)) * static_cast<double>(size_of(operand.element));
  return bytes;
}

}  // namespace

bool RuntimePrices::can_measure(const cost::Call& call) const { return has_model(call); }

std::string RuntimePrices::versions() const { return fmt::format("{}, opset {}", runtime_.versions(), opset_); }

OnnxRuntime::Price RuntimePrices::price_of(const onnx::Model& model) {
  const OnnxRuntime::Loaded loaded = runtime_.load(model.serialise_whole());
  try {
    const OnnxRuntime::Price price = runtime_.price(loaded, seconds_for_each);
    runtime_.drop(loaded);
    return price;
  } catch (const RuntimeRefusal&) {
    runtime_.drop(loaded);
    throw;
  }
}

double RuntimePrices::idle() {
  if (!idle_) {
    Graph graph{std::make_shared<Pool>(), {}, {}};
    graph.inputs.push_back(graph.pool->input("x", {ElementType::float32, Shape{Dim(1)}}));
    graph.outputs.push_back(graph.pool->apply(op::Relu{}, {graph.inputs[0]}));
    idle_ = price_of(onnx::write_model(graph)).nanoseconds;
  }
  return *idle_;
}

RuntimePrices::Timed RuntimePrices::time_of(const cost::Call& call, std::size_t copies) {
  const OnnxRuntime::Price price = price_of(model_of(call, copies, opset_));
  const double nanoseconds = (price.nanoseconds - idle()) / static_cast<double>(copies) * (1 - price.reordering);
  return {std::max(nanoseconds, least_nanoseconds), price};
}

gpu::Measurement RuntimePrices::measure(const cost::Call& call) {
  gpu::Measurement found;
  try {
    Timed timed = time_of(call, 1);
    const double bytes = weight_bytes_of(call);
    if (timed.nanoseconds < short_nanoseconds)
      timed = time_of(call, static_cast<std::size_t>(std::clamp(warm_bytes / std::max(bytes, 1.0), 1.0, usual_copies)));
    found.nanoseconds = found.warm_nanoseconds = timed.nanoseconds;
    // With so many copies, the weights of one leave the cache before its next run.
    if (const double copies = std::ceil(cold_bytes / std::max(bytes, 1.0));
        copies <= most_copies && bytes / memory_bytes_a_nanosecond > timed.nanoseconds * noticeable_share)
      found.nanoseconds = std::max(timed.nanoseconds, time_of(call, static_cast<std::size_t>(copies)).nanoseconds);
    found.again_nanoseconds = found.stranger_nanoseconds = found.nanoseconds;
    found.spread = timed.price.spread;
    found.choice = timed.price.kernels;
  } catch (const RuntimeRefusal& refusal) {
    found.trouble = refusal.reason;
  } catch (const InputError& error) {
    found.trouble = error.what();
  }
  return found;
}

std::unique_ptr<gpu::DeviceProgram> RuntimePrices::load(gpu::DeviceSteps) {
  throw InternalError("ONNX Runtime runs no plans of ours");
}

}  // namespace taso::cli
