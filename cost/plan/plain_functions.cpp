#include "cost/plan/plain_functions.h"

#include <algorithm>

namespace taso::cost {
namespace {

using Kind = PlainFunction::Kind;
using enum ElementType;

bool is_among(ops::ElementType element, std::initializer_list<ops::ElementType> types) {
  return std::find(types.begin(), types.end(), element) != types.end();
}

/// The types and extents of a node, without trailing operands that are omitted.
struct Operands {
  std::vector<ops::ElementType> elements;
  std::vector<const Extents*> extents;
  ops::ElementType result{};
  const Extents* result_extents = nullptr;
  std::size_t size() const { return elements.size(); }
};

std::optional<Operands> operands_of(const GraphView& view, PlanNode node) {
  if (view.results(node) != 1 || view.result(node, 0) == no_plan_value) return std::nullopt;
  Operands found;
  found.result = view.element(view.result(node, 0));
  found.result_extents = view.extents(view.result(node, 0));
  if (found.result_extents == nullptr) return std::nullopt;
  std::size_t count = view.operands(node);
  while (count > 0 && view.operand(node, count - 1) == no_plan_value) --count;
  for (std::size_t i = 0; i < count; ++i) {
    const PlanValue value = view.operand(node, i);
    if (value == no_plan_value || view.extents(value) == nullptr) return std::nullopt;
    found.elements.push_back(view.element(value));
    found.extents.push_back(view.extents(value));
  }
  return found;
}

bool broadcasts(const Operands& operands) {
  const Extents& result = *operands.result_extents;
  std::vector<bool> is_met(result.size(), false);
  for (const Extents* extents : operands.extents) {
    if (extents->size() > result.size()) return false;
    const std::size_t more = result.size() - extents->size();
    for (std::size_t i = 0; i < extents->size(); ++i) {
      if ((*extents)[i] == result[more + i])
        is_met[more + i] = true;
      else if ((*extents)[i] != 1)
        return false;
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!is_met[i] && result[i] != 1) return false;
  return true;
}

/// The axis of scales and zero points; 0 if there is a single one; nothing if they do not fit.
std::optional<std::int64_t> axis_of_scales(const Operands& operands, std::int64_t axis) {
  const Extents& whole = *operands.extents[0];
  if (*operands.result_extents != whole) return std::nullopt;
  const auto is_single = [](const Extents* extents) {
    return std::all_of(extents->begin(), extents->end(), [](std::int64_t extent) { return extent == 1; });
  };
  if (std::all_of(operands.extents.begin() + 1, operands.extents.end(), is_single)) return 0;
  const auto rank = static_cast<std::int64_t>(whole.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (*operands.extents[i] != Extents{whole[static_cast<std::size_t>(axis)]}) return std::nullopt;
  return axis;
}

bool has_types(Kind kind, const Operands& operands) {
  const auto& elements = operands.elements;
  const auto is_float = [](ops::ElementType element) { return is_among(element, {float32, float16, bfloat16}); };
  switch (kind) {
    case Kind::equal:
    case Kind::less:
    case Kind::less_or_equal:
    case Kind::greater:
    case Kind::greater_or_equal:
      return elements.size() == 2 && elements[0] == elements[1] && size_of(elements[0]) > 0 &&
             operands.result == boolean;
    case Kind::both:
    case Kind::either:
    case Kind::one_of_two:
      return elements.size() == 2 && elements[0] == boolean && elements[1] == boolean && operands.result == boolean;
    case Kind::negate: return elements.size() == 1 && elements[0] == boolean && operands.result == boolean;
    case Kind::choose:
      return elements.size() == 3 && elements[0] == boolean && elements[1] == elements[2] &&
             operands.result == elements[1] && size_of(elements[1]) > 0;
    case Kind::quantise:
      // Whether quotients by scales of lower precision are rounded to that precision depends on the opset.
      return (elements.size() == 2 || (elements.size() == 3 && elements[2] == operands.result)) &&
             is_float(elements[0]) && elements[1] == float32 && is_among(operands.result, {int8, uint8, int16, uint16});
    case Kind::dequantise:
      return (elements.size() == 2 || (elements.size() == 3 && elements[2] == elements[0])) &&
             is_among(elements[0], {int8, uint8, int16, uint16, int32, uint32}) && is_float(elements[1]) &&
             is_float(operands.result);
  }
  return false;
}

}  // namespace

std::optional<PlainFunction> function_of(const GraphView& view, PlanNode node) {
  const Opaque* const opaque = view.opaque(node);
  if (opaque == nullptr || !opaque->body) return std::nullopt;
  std::optional<PlainFunction> function = opaque->body->function();
  if (!function) return std::nullopt;
  const std::optional<Operands> operands = operands_of(view, node);
  if (!operands || !has_types(function->kind, *operands)) return std::nullopt;
  if (function->kind == Kind::quantise || function->kind == Kind::dequantise) {
    const std::optional<std::int64_t> axis = axis_of_scales(*operands, function->axis);
    if (!axis) return std::nullopt;
    function->axis = *axis;
    return function;
  }
  function->axis = 0;
  if (!broadcasts(*operands)) return std::nullopt;
  return function;
}

}  // namespace taso::cost
