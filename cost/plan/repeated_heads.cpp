#include "cost/plan/repeated_heads.h"

#include <algorithm>

namespace taso::cost {
namespace {

using Axes = std::vector<std::vector<AxisPart>>;

bool turns_or_reshapes(const GraphView& view, PlanNode node) {
  if (view.is_free(node)) return false;
  const std::optional<Role> role = role_of(view, node);
  return role == Role::reshape || role == Role::transpose;
}

/// Joins parts that have one common stride.
void add_part(std::vector<AxisPart>& axis, AxisPart outer) {
  if (outer.extent == 1) return;
  if (!axis.empty() && outer.stride == axis.front().stride * axis.front().extent)
    axis.front().extent *= outer.extent;
  else
    axis.insert(axis.begin(), outer);
}

Axes axes_of(const Extents& extents, const Strides& strides) {
  Axes axes(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) add_part(axes[i], {extents[i], strides[i]});
  return axes;
}

/// The axes of the operand of an expansion, as those of its result.
Axes expanded(const GraphView& view, PlanNode node) {
  const PlanValue source = view.operand(node, 0);
  const Extents &from = *view.extents(source), &to = *view.extents(view.result(node, 0));
  const Strides strides = strides_in_memory(view, source);
  Strides repeated(to.size(), 0);
  const std::size_t more = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] == to[more + i]) repeated[more + i] = strides[i];
  return axes_of(to, repeated);
}

/// The same elements in another shape; nothing if parts would have to be cut unevenly.
std::optional<Axes> reshaped(const Axes& from, const Extents& to) {
  std::vector<AxisPart> parts;
  for (const std::vector<AxisPart>& axis : from) parts.insert(parts.end(), axis.begin(), axis.end());
  Axes axes(to.size());
  for (std::size_t i = to.size(); i-- > 0;)
    for (std::int64_t rest = to[i]; rest > 1;) {
      if (parts.empty()) return std::nullopt;
      AxisPart& part = parts.back();
      if (rest % part.extent == 0) {
        add_part(axes[i], part);
        rest /= part.extent;
        parts.pop_back();
      } else if (part.extent % rest == 0) {
        add_part(axes[i], {rest, part.stride});
        part = {part.extent / rest, part.stride * rest};
        rest = 1;
      } else {
        return std::nullopt;
      }
    }
  return parts.empty() ? std::optional(std::move(axes)) : std::nullopt;
}

std::optional<Axes> moved(const GraphView& view, PlanNode node, const Axes& axes) {
  if (const auto* transpose = std::get_if<op::Transpose>(view.op(node))) {
    Axes turned;
    for (const std::int64_t axis : transpose->permutation) turned.push_back(axes[static_cast<std::size_t>(axis)]);
    return turned;
  }
  return reshaped(axes, *view.extents(view.result(node, 0)));
}

/// Whether a kernel can read a factor with these axes: rows are dense, aligned and there, and at most one axis of
/// batches is partly repeated.
bool is_fit(const Axes& axes, std::size_t along) {
  Extents extents;
  Strides strides;
  std::size_t shared = 0, place_along = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::vector<AxisPart>& parts = axes[i];
    const bool is_of_batches = i + 2 < axes.size();
    if (parts.size() > (is_of_batches ? 2 : 1)) return false;
    if (parts.size() == 2 && (parts[1].stride != 0 || ++shared > 1)) return false;
    if (!is_of_batches && !parts.empty() && parts[0].stride == 0) return false;
    if (i == along) {
      if (parts.empty()) return false;
      place_along = extents.size();
    }
    for (const AxisPart& part : parts) {
      extents.push_back(part.extent);
      strides.push_back(part.stride);
    }
  }
  return has_aligned_rows(extents, strides, place_along);
}

}  // namespace

bool is_expansion(const GraphView& view, PlanNode node) {
  if (node == no_plan_node || view.is_free(node)) return false;
  const Opaque* const opaque = view.opaque(node);
  const auto movement = opaque != nullptr && opaque->body ? opaque->body->movement() : std::nullopt;
  if (!movement || movement->kind != PlainMovement::Kind::expand) return false;
  if (view.operands(node) != 2 || view.results(node) < 1) return false;
  const PlanValue source = view.operand(node, 0), result = view.result(node, 0);
  if (source == no_plan_value || result == no_plan_value || size_of(view.element(source)) == 0) return false;
  if (view.extents(source) == nullptr || view.extents(result) == nullptr) return false;
  const Extents &from = *view.extents(source), &to = *view.extents(result);
  if (from.size() > to.size()) return false;
  return std::equal(from.begin(), from.end(), to.end() - std::ssize(from),
                    [](std::int64_t one, std::int64_t many) { return one == 1 || one == many; });
}

std::vector<PlanNode> nodes_before(const GraphView& view, PlanValue value) {
  std::vector<PlanNode> nodes;
  while (value != no_plan_value && nodes.size() <= most_views_of_heads) {
    if (view.is_weight(value)) return {};
    nodes.insert(nodes.begin(), view.producer(value));
    if (is_expansion(view, nodes.front())) return nodes;
    if (!turns_or_reshapes(view, nodes.front())) return {};
    value = view.operand(nodes.front(), 0);
  }
  return {};
}

bool repeats(const GraphView& view, PlanNode node) {
  return is_expansion(view, node) ||
         (turns_or_reshapes(view, node) && !nodes_before(view, view.operand(node, 0)).empty());
}

std::optional<Repetition> repetition(const GraphView& view, PlanValue factor, bool is_of_first) {
  if (view.layout() == Layout::onnxruntime) return std::nullopt;
  Repetition found;
  found.factor = factor;
  found.nodes = nodes_before(view, factor);
  if (found.nodes.empty()) return std::nullopt;
  for (const PlanNode node : found.nodes)
    if (only_user(view, view.result(node, 0)) == no_plan_node) return std::nullopt;
  found.expansion = found.nodes.front();
  found.source = view.operand(found.expansion, 0);
  std::optional<Axes> axes = expanded(view, found.expansion);
  for (std::size_t i = 1; i < found.nodes.size() && axes; ++i) axes = moved(view, found.nodes[i], *axes);
  // Rows lie along the depth: of the keys, which are columns of the first product, the last axis but one.
  if (!axes || axes->size() < 3 || !is_fit(*axes, axes->size() - (is_of_first ? 2 : 1))) return std::nullopt;
  found.axes = std::move(*axes);
  return found;
}

std::optional<SharedHeads> shared_heads(const Repetition& repetition) {
  for (std::size_t i = 0; i < repetition.axes.size(); ++i)
    if (repetition.axes[i].size() == 2) return SharedHeads{i, repetition.axes[i][1].extent};
  return std::nullopt;
}

PlanNode product_after_repetition(const GraphView& view, PlanNode node) {
  if (!repeats(view, node)) return no_plan_node;
  for (std::size_t i = 0; i <= most_views_of_heads && node != no_plan_node; ++i) {
    node = only_user(view, view.result(node, 0));
    if (node == no_plan_node || is_product(view, node)) return node;
    if (const PlanNode product = product_scaled_by(view, node); product != no_plan_node) return product;
    if (!turns_or_reshapes(view, node)) return no_plan_node;
  }
  return no_plan_node;
}

}  // namespace taso::cost
