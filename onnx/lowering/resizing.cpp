// Nearest-neighbour resizing by integer factors: every element is repeated.
#include <algorithm>
#include <set>

#include "onnx/lowering/lowering.h"

namespace taso::onnx::lowering {
namespace {

/// How many times each element is repeated along each axis; nothing if the node does something else.
std::optional<std::vector<std::int64_t>> factors_of(const LoweringCall& call) {
  const std::size_t rank = call.rank(0);
  std::vector<std::int64_t> axes = call.attributes.integers("axes");
  if (axes.empty())
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  std::vector<std::int64_t> factors(rank, 1);
  std::set<std::int64_t> seen;
  const auto set = [&](std::size_t i, std::int64_t factor) {
    const std::int64_t axis = LoweringCall::axis(axes[i], rank);
    factors[static_cast<std::size_t>(axis)] = factor;
    return seen.insert(axis).second && factor >= 1 && factor <= op::greatest_attribute;
  };
  // Operands are X, scales; from opset 11 on X, roi, scales, sizes. The oldest Upsample has its scales as an attribute.
  const bool is_old = call.op_type == "Upsample" || call.opset < 11;
  const std::size_t scales_at = is_old ? 1 : 2;
  if (!is_old && call.has(3)) {
    const auto sizes = call.dims(3);
    if (!sizes || sizes->size() != axes.size() || call.has(2)) return std::nullopt;
    if (call.attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch") return std::nullopt;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Dim& from = call.shape(0)[static_cast<std::size_t>(LoweringCall::axis(axes[i], rank))];
      const auto factor = exact_div((*sizes)[i], from);
      if (!factor || !factor->known() || !set(i, factor->value())) return std::nullopt;
    }
    return factors;
  }
  std::vector<double> scales;
  if (call.op_type == "Upsample" && call.opset < 9)
    scales = call.attributes.numbers("scales");
  else if (call.has(scales_at) && call.facts[scales_at] != nullptr && call.facts[scales_at]->constant)
    scales = call.facts[scales_at]->constant->doubles();
  if (scales.size() != axes.size()) return std::nullopt;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] >= 1 && scales[i] <= static_cast<double>(op::greatest_attribute))) return std::nullopt;
    const auto factor = static_cast<std::int64_t>(scales[i]);
    if (static_cast<double>(factor) != scales[i] || !set(i, factor)) return std::nullopt;
  }
  return factors;
}

/// Whether the nearest element of each copy is the one that it is a copy of.
bool repeats(const LoweringCall& call, const std::vector<std::int64_t>& factors) {
  if (call.op_type == "Upsample" || call.opset < 11) return true;  // rounds down
  const std::string places = call.attributes.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = call.attributes.text("nearest_mode", "round_prefer_floor");
  const bool rounds = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  if (places == "asymmetric" && nearest == "floor") return true;
  // Copies lie less than half an element from their origin, so it is the nearest.
  if (places == "half_pixel" || places == "pytorch_half_pixel") return rounds;
  // With a factor of 2, the second copy lies exactly half an element further, and rounds down.
  if (places == "asymmetric" && nearest == "round_prefer_floor")
    return std::all_of(factors.begin(), factors.end(), [](std::int64_t factor) { return factor <= 2; });
  return false;
}

/// Inserts an axis of 1 after each repeated axis, then multiplies by ones along the new axes.
Lowered resize(const LoweringCall& call) {
  if (!call.has(0) || call.attributes.text("mode", "nearest") != "nearest") return std::nullopt;
  if (!is_floating(call.element(0)) && !is_integer(call.element(0))) return std::nullopt;
  const auto factors = factors_of(call);
  if (!factors || !repeats(call, *factors)) return std::nullopt;
  Shape apart, result;
  std::vector<Dim> ones;
  for (std::size_t i = 0; i < factors->size(); ++i) {
    const Dim& size = call.shape(0)[i];
    apart.push_back(size);
    ones.emplace_back(1);
    result.push_back(size * (*factors)[i]);
    if ((*factors)[i] == 1) continue;
    apart.push_back(1);
    ones.emplace_back((*factors)[i]);
  }
  if (result == call.shape(0)) return one(call.inputs[0]);
  while (ones.front() == Dim(1)) ones.erase(ones.begin());
  const Value many = call.pool.apply(op::Ones{.shape = ones, .type = call.element(0)}, {});
  return one(call.reshape(call.apply(op::Mul{}, {call.reshape(call.inputs[0], apart), many}), result));
}

}  // namespace

Family resizing() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {{"Resize", resize}, {"Upsample", resize}};
  return table;
}

}  // namespace taso::onnx::lowering
