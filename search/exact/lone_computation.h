// One computation of a search as a graph by itself, for the price of its kernel. Its operands are leaves.
#pragma once

#include <optional>
#include <vector>

#include "cost/plan/fusion.h"
#include "search/program/store.h"

namespace taso::search {

class LoneComputation : public cost::GraphView {
 public:
  LoneComputation(const Store& store, ComputationId id, const cost::PlanOptions& options);

  /// The kernel of the computation alone; nothing if it needs none.
  std::optional<cost::Kernel> kernel() const;
  static constexpr cost::PlanNode main{0};

  const Operator* op(cost::PlanNode node) const override;
  const Opaque* opaque(cost::PlanNode node) const override;
  bool is_free(cost::PlanNode node) const override { return node != main; }
  std::size_t operands(cost::PlanNode node) const override { return node == main ? computation_.operands.size() : 0; }
  cost::PlanValue operand(cost::PlanNode node, std::size_t index) const override;
  std::size_t results(cost::PlanNode node) const override { return node == main ? computation_.results : 1; }
  cost::PlanValue result(cost::PlanNode node, std::size_t index) const override;
  cost::PlanNode producer(cost::PlanValue value) const override;
  std::size_t users(cost::PlanValue value) const override { return is_result(value) ? 0 : 1; }
  cost::PlanNode user(cost::PlanValue, std::size_t) const override { return main; }
  bool is_output(cost::PlanValue value) const override { return is_result(value); }
  bool is_weight(cost::PlanValue value) const override;
  std::optional<double> number(cost::PlanValue value) const override;
  ElementType element(cost::PlanValue value) const override { return type(value).element; }
  const Extents* extents(cost::PlanValue value) const override { return extents_.of(place(value), type(value)); }

 private:
  bool is_result(cost::PlanValue value) const { return place(value) < computation_.results; }
  ValueId id_of(cost::PlanValue value) const { return inputs_[place(value) - computation_.results]; }
  const Type& type(cost::PlanValue value) const;

  const Store& store_;
  ComputationId id_;
  const Computation& computation_;
  std::vector<ValueId> inputs_;  // different operands; their values come after the results, their nodes after the main
  cost::ExtentsTable extents_;
};

}  // namespace taso::search
