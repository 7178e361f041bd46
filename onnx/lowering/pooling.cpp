#include "onnx/lowering/windows.h"

namespace taso::onnx::lowering {
namespace {

template <class Pool>
std::optional<Pool> read_pool(const LoweringCall& call) {
  if (!call.has(0) || call.rank(0) < 3 || call.outputs > 1 || !is_floating(call.element(0))) return std::nullopt;
  const auto kernel = call.attributes.integers("kernel_shape");
  if (kernel.size() + 2 != call.rank(0)) return std::nullopt;
  const auto windows = read_windows(call, kernel);
  if (!windows) return std::nullopt;
  Pool pool;
  pool.kernel = kernel;
  pool.strides = windows->strides;
  pool.dilations = windows->dilations;
  pool.pads = windows->pads;
  pool.ceil = call.attributes.integer("ceil_mode", 0) != 0;
  return pool;
}

Lowered average_pool(const LoweringCall& call) {
  auto pool = read_pool<op::AveragePool>(call);
  if (!pool) return std::nullopt;
  pool->count_padding = call.attributes.integer("count_include_pad", 0) != 0;
  return one(call.apply(*pool, {call.inputs[0]}));
}

Lowered max_pool(const LoweringCall& call) {
  const auto pool = read_pool<op::MaxPool>(call);
  if (!pool) return std::nullopt;
  return one(call.apply(*pool, {call.inputs[0]}));
}

Lowered global_average_pool(const LoweringCall& call) {
  if (!call.has(0) || call.rank(0) < 3 || !is_floating(call.element(0))) return std::nullopt;
  return one(call.apply(op::GlobalAveragePool{}, {call.inputs[0]}));
}

Lowered global_max_pool(const LoweringCall& call) {
  if (!call.has(0) || call.rank(0) < 3 || !is_floating(call.element(0))) return std::nullopt;
  op::ReduceMax most;
  for (std::size_t i = 2; i < call.rank(0); ++i) most.axes.push_back(static_cast<std::int64_t>(i));
  return one(call.apply(most, {call.inputs[0]}));
}

}  // namespace

Family pooling() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {{"AveragePool", average_pool},
                                                                         {"MaxPool", max_pool},
                                                                         {"GlobalAveragePool", global_average_pool},
                                                                         {"GlobalMaxPool", global_max_pool}};
  return table;
}

}  // namespace taso::onnx::lowering
