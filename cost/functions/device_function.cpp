#include "cost/functions/device_function.h"

#include "cost/functions/formula.h"
#include "cost/functions/node.h"
#include "cost/functions/recurrence.h"

namespace taso::cost {
namespace {

/// Nothing if the type or the shape of a value is unknown.
std::optional<FunctionNode> node_of(const GraphView& view, PlanNode node, const PlainFunction& function) {
  FunctionNode found{function, {}, {}};
  const auto side = [&](PlanValue value, FunctionNode::Side& to) {
    if (view.extents(value) == nullptr || size_of(view.element(value)) == 0) return false;
    to = {view.element(value), *view.extents(value)};
    return true;
  };
  for (std::size_t i = 0; i < view.operands(node); ++i) {
    found.operands.emplace_back();
    const PlanValue value = view.operand(node, i);
    if (value != no_plan_value && !side(value, found.operands.back())) return std::nullopt;
  }
  for (std::size_t i = 0; i < view.results(node); ++i) {
    found.results.emplace_back();
    const PlanValue value = view.result(node, i);
    // The first one counts even if it is unused, so that layouts do not depend on users far away.
    if (value == no_plan_value || (i > 0 && view.users(value) == 0 && !view.is_output(value))) continue;
    if (!side(value, found.results.back())) return std::nullopt;
  }
  while (!found.operands.empty() && !found.has(found.operands.size() - 1)) found.operands.pop_back();
  while (!found.results.empty() && found.results.back().element == ElementType::undefined) found.results.pop_back();
  if (found.operands.empty() || found.results.empty()) return std::nullopt;
  return found;
}

}  // namespace

DeviceFunction::Family family_of(std::string_view name) {
  using Family = DeviceFunction::Family;
  if (find_element_formula(name) != nullptr) return Family::element;
  if (find_row_formula(name) != nullptr) return Family::rows;
  if (name == "CumSum" || name == "RNN" || name == "GRU" || name == "LSTM") return Family::scan;
  if (name == "TopK") return Family::top;
  if (name == "DynamicQuantizeLinear") return Family::range;
  return name.find("Scatter") != std::string_view::npos ? Family::scatter : Family::place;
}

double operations_of(const DeviceFunction& function, std::size_t operands) {
  using Family = DeviceFunction::Family;
  if (is_recurrence(function)) return operations_of_recurrence(function);
  switch (function.family) {
    case Family::element: {
      const ElementFormula& formula = *find_element_formula(function.name);
      return formula.operations * static_cast<double>(formula.operands == 0 ? operands : 1);
    }
    case Family::rows: return 4 * static_cast<double>(find_row_formula(function.name)->passes.size() + 1);
    case Family::scan:
    case Family::range: return 20;
    case Family::top: return 4 * static_cast<double>(function.integers.at(1));  // it counts the elements before each
    case Family::place:
    case Family::scatter: break;
  }
  const bool is_product = function.name.starts_with("QLinear") || function.name.ends_with("Integer");
  if (is_product) return 3 * static_cast<double>(function.integers.back());  // the depth
  if (function.name == "RoiAlign") return 400;
  if (function.name == "LpPool" || function.name == "Col2Im" || function.name == "Det")
    return operations_of_window(function);
  if (function.name != "Resize" && function.name != "GridSample") return 12;
  constexpr double of_modes[] = {50, 120, 500};  // nearest, linear, cubic
  return of_modes[function.integers.at(0)];
}

bool counts_results(const DeviceFunction& function) {
  using Family = DeviceFunction::Family;
  return function.family == Family::element || function.family == Family::place || function.family == Family::scatter ||
         is_recurrence(function);
}

bool only_takes_parts(const DeviceFunction& function) { return function.name.starts_with("Gather"); }

std::optional<DeviceFunction> function_of(const GraphView& view, PlanNode node) {
  const Opaque* const opaque = view.opaque(node);
  const PlainFunction* const function = opaque != nullptr && opaque->body ? opaque->body->function() : nullptr;
  if (function == nullptr || function->opset < 7) return std::nullopt;
  const std::optional<FunctionNode> found = node_of(view, node, *function);
  if (!found || !found->has(0)) return std::nullopt;
  try {
    for (const auto make :
         {element_function, row_function, place_function, quantised_function, window_function, recurrent_function})
      if (auto made = make(*found)) {
        made->family = family_of(made->name);
        return made;
      }
  } catch (const InputError&) {  // an attribute of the wrong kind: the host says so when it runs
  }
  return std::nullopt;
}

bool is_element_function(const GraphView& view, PlanNode node) {
  const auto function = function_of(view, node);
  return function && function->family == DeviceFunction::Family::element;
}

}  // namespace taso::cost
