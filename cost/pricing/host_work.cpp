#include "cost/pricing/host_work.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "cost/pricing/h200.h"

namespace taso::cost {
namespace {

/// Operators that move elements or do one simple operation on each.
bool is_light(std::string_view kind) {
  static const std::set<std::string_view> kinds{"Abs",
                                                "And",
                                                "BitwiseAnd",
                                                "BitwiseNot",
                                                "BitwiseOr",
                                                "BitwiseXor",
                                                "Cast",
                                                "CastLike",
                                                "Ceil",
                                                "Clip",
                                                "Compress",
                                                "Concat",
                                                "CumSum",
                                                "DepthToSpace",
                                                "DequantizeLinear",
                                                "Equal",
                                                "Expand",
                                                "EyeLike",
                                                "Flatten",
                                                "Floor",
                                                "Gather",
                                                "GatherElements",
                                                "GatherND",
                                                "Greater",
                                                "GreaterOrEqual",
                                                "Identity",
                                                "IsInf",
                                                "IsNaN",
                                                "Less",
                                                "LessOrEqual",
                                                "Max",
                                                "Min",
                                                "Mod",
                                                "Neg",
                                                "Not",
                                                "OneHot",
                                                "Or",
                                                "Pad",
                                                "QuantizeLinear",
                                                "Range",
                                                "Reshape",
                                                "ReverseSequence",
                                                "Round",
                                                "Scatter",
                                                "ScatterElements",
                                                "ScatterND",
                                                "Shape",
                                                "Sign",
                                                "Size",
                                                "Slice",
                                                "SpaceToDepth",
                                                "Split",
                                                "Squeeze",
                                                "Sum",
                                                "Tile",
                                                "Transpose",
                                                "Trilu",
                                                "Unsqueeze",
                                                "Where",
                                                "Xor"};
  return kinds.contains(kind);
}

double elements_of(const GraphView& view, PlanValue value) {
  const Extents* const extents = value == no_plan_value ? nullptr : view.extents(value);
  if (extents == nullptr) return 0;
  double product = 1;
  for (const std::int64_t extent : *extents) product *= static_cast<double>(extent);
  return product;
}

double extent_of(const GraphView& view, PlanValue value, std::size_t axis) {
  const Extents* const extents = value == no_plan_value ? nullptr : view.extents(value);
  return extents == nullptr || axis >= extents->size() ? 0 : static_cast<double>((*extents)[axis]);
}

/// The number of multiply-adds of an operator that multiplies its first two operands.
double products_of(const GraphView& view, PlanNode node, std::string_view kind) {
  const auto operand = [&](std::size_t i) { return i < view.operands(node) ? view.operand(node, i) : no_plan_value; };
  const PlanValue result = view.results(node) > 0 ? view.result(node, 0) : no_plan_value;
  const double out = elements_of(view, result);
  if (kind == "ConvTranspose")  // each input element meets all filters of its channel
    return elements_of(view, operand(0)) * elements_of(view, operand(1)) /
           std::max(extent_of(view, operand(1), 0), 1.0);
  if (kind == "Conv" || kind == "ConvInteger" || kind == "DeformConv")
    return out * elements_of(view, operand(1)) / std::max(extent_of(view, operand(1), 0), 1.0);
  if (kind == "QLinearConv") return out * elements_of(view, operand(3)) / std::max(extent_of(view, operand(3), 0), 1.0);
  if (kind == "LSTM" || kind == "GRU" || kind == "RNN")  // each step of each sequence meets both matrices
    return extent_of(view, operand(0), 0) * extent_of(view, operand(0), 1) *
           (elements_of(view, operand(1)) + elements_of(view, operand(2)));
  // For [m, k] times [k, n] this is exactly m k n; for other products it is an estimate.
  const auto product = [&](PlanValue left, PlanValue right) {
    return std::sqrt(elements_of(view, left) * elements_of(view, right) * out);
  };
  if (kind == "QLinearMatMul") return product(operand(0), operand(3));
  if (kind == "MatMulInteger" || kind == "MatMul" || kind == "Gemm" || kind == "Einsum")
    return product(operand(0), operand(1));
  if (kind == "Attention") return 2 * product(operand(0), operand(1));
  return 0;
}

}  // namespace

double nanoseconds_on_host(const GraphView& view, const Kernel& kernel) {
  const Opaque* const opaque = view.opaque(kernel.main);
  const std::string_view kind = opaque == nullptr ? std::string_view() : std::string_view(opaque->kind);
  double elements = 0;
  for (const auto* values : {&kernel.read, &kernel.written})
    for (const PlanValue value : *values) elements += elements_of(view, value);
  // Weights are copied too: the host gets its operands from the device.
  return h200::least_opaque + (kernel.bytes + kernel.weight_bytes) / h200::host_transfer +
         elements * (is_light(kind) ? h200::host_light_element : h200::host_element) +
         products_of(view, kernel.main, kind) * h200::host_product;
}

}  // namespace taso::cost
