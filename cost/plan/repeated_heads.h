// Keys and values whose heads are repeated for several heads of queries (grouped heads): Expand, and reshapes and
// transposes after it. Attention needs no copies of them: it reads each head where it lies.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cost/plan/attention_form.h"

namespace taso::cost {

/// Elements at equal distances. An axis of a value may consist of several such parts, the outermost first.
struct AxisPart {
  std::int64_t extent = 1, stride = 0;
};

/// A factor of a product that repeats `source` along some axes: parts of these have stride 0.
struct Repetition {
  PlanNode expansion = no_plan_node;
  PlanValue source = no_plan_value, factor = no_plan_value;
  std::vector<PlanNode> nodes;              ///< the expansion and the views between it and the factor
  std::vector<std::vector<AxisPart>> axes;  ///< of the factor; those of extent 1 have no parts
};

/// Neighbours along an axis of the scores that read the same keys and values, `each` at a time.
struct SharedHeads {
  std::size_t axis = 0;
  std::int64_t each = 1;
  bool operator==(const SharedHeads&) const = default;
};

/// Whether the node is an Expand of known sizes.
bool is_expansion(const GraphView& view, PlanNode node);
/// The most views that count between an expansion and a product.
inline constexpr std::size_t most_views_of_heads = 8;
/// The expansion before this value and the reshapes and transposes between them; empty if there is no expansion.
std::vector<PlanNode> nodes_before(const GraphView& view, PlanValue value);
/// Whether the node is an expansion, or a reshape or transpose after one.
bool repeats(const GraphView& view, PlanNode node);

/// How attention reads this factor of its first product (the keys) or its second one (the values) without copies.
/// Nothing if it repeats nothing, if something else uses the copies, or if no kernel could read it in place.
std::optional<Repetition> repetition(const GraphView& view, PlanValue factor, bool is_of_first);
/// The axis that is partly repeated, if there is one.
std::optional<SharedHeads> shared_heads(const Repetition& repetition);

/// The product of which this expansion, or view after one, is a factor, perhaps times a number, and nothing else; or
/// `no_plan_node`.
PlanNode product_after_repetition(const GraphView& view, PlanNode node);

}  // namespace taso::cost
