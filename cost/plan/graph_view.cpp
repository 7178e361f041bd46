#include "cost/plan/graph_view.h"

#include <algorithm>

#include "cost/plan/cuts.h"

namespace taso::cost {

std::int64_t ExtentsTable::size(const Dim& dim) const {
  if (dim.is_static()) return dim.value();
  return dim.evaluate([this](std::string_view name) { return sizes_ ? sizes_(name) : 1; });
}

const Extents* ExtentsTable::of(std::size_t place, const Type& type) const {
  if (!type.shape) return nullptr;
  if (place >= known_.size()) known_.resize(place + 1, nullptr);
  if (known_[place] == nullptr) {
    Extents extents;
    // A window may not fit into an unknown dimension of assumed size 1: then there is one window.
    for (const Dim& dim : *type.shape) extents.push_back(std::max<std::int64_t>(dim.is_static() ? 0 : 1, size(dim)));
    known_[place] = &extents_.emplace_back(std::move(extents));
  }
  return known_[place];
}

bool gives_weights(const Opaque& opaque) {
  // ConstantOfShape is opaque only because the model keeps it as a node; it fills a tensor with a constant.
  if (opaque.kind == "ConstantOfShape") return true;
  // Larger results are better computed where they are needed than kept.
  constexpr double most_bytes = 1 << 30;
  const auto has_size = [](const Type& type) {
    if (size_of(type.element) == 0 || !type.shape) return false;
    const std::optional<Extents> extents = static_extents(*type.shape);
    double bytes = static_cast<double>(size_of(type.element));
    for (const std::int64_t extent : extents.value_or(Extents())) bytes *= static_cast<double>(extent);
    return extents && bytes <= most_bytes;
  };
  return opaque.body && std::all_of(opaque.outputs.begin(), opaque.outputs.end(), has_size) &&
         opaque.body->is_deterministic();
}

std::optional<double> number_of(const Node& node) {
  const Constant* const constant = node.as_constant();
  if (constant == nullptr || !constant->weight) return std::nullopt;
  if (!constant->type.shape || static_extents(*constant->type.shape) == std::nullopt) return std::nullopt;
  if (count(*static_extents(*constant->type.shape)) != 1) return std::nullopt;
  return constant->weight->load().doubles().at(0);
}

WholeGraph::WholeGraph(const Graph& graph, DimensionSizes sizes, Layout layout)
    : GraphView(layout), pool_(graph.pool), extents_(std::move(sizes)) {
  for (const Node* node : graph.nodes()) {
    const PlanNode id{static_cast<std::uint32_t>(nodes_.size())};
    NodeEntry entry{node, false, node->as_constant() != nullptr, static_cast<std::uint32_t>(values_.size()), {}};
    bool all_weights = true;
    for (const Value& operand : node->inputs()) {
      entry.operands.push_back(operand ? find(operand) : no_plan_value);
      if (!operand) continue;
      all_weights = all_weights && is_weight(entry.operands.back());
      std::vector<PlanNode>& users = values_[place(entry.operands.back())].users;
      if (users.empty() || users.back() != id) users.push_back(id);
    }
    const Opaque* opaque = node->as_opaque();
    if (node->as_operator() || (opaque != nullptr && all_weights && gives_weights(*opaque)))
      entry.is_weight = all_weights;
    entry.is_free = entry.is_weight || node->as_input() != nullptr;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) values_.push_back({node->output(i), id, false, {}});
    nodes_.push_back(std::move(entry));
    places_.emplace(node, id);
  }
  for (const Value& output : graph.outputs) values_[place(find(output))].is_output = true;
  set_cuts(find_cuts(*this));
}

PlanValue WholeGraph::find(const Value& value) const {
  const auto found = places_.find(value.node);
  return found == places_.end() ? no_plan_value : result(found->second, value.output);
}

}  // namespace taso::cost
