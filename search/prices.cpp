#include "search/prices.h"

#include <algorithm>

#include "ops/error.h"

namespace taso {
namespace {

PlanValue plan_value(ValueId id) { return static_cast<PlanValue>(id); }
PlanNode plan_node(ComputationId id) { return static_cast<PlanNode>(id); }
static_assert(static_cast<PlanValue>(no_value) == no_plan_value);

/// Weight-only work is done ahead, leaves are no work.
bool counts(const Computation& computation) { return computation.op != nullptr && !computation.weight_only; }

}  // namespace

const Operator* ProgramView::op(PlanNode node) const {
  const KnownOperator* known = computation(node).op;
  return known ? &known->op : nullptr;
}

bool ProgramView::is_free(PlanNode node) const {
  const Computation& here = computation(node);
  return here.weight_only || (here.op == nullptr && here.origin->as_opaque() == nullptr);
}

PlanValue ProgramView::operand(PlanNode node, std::size_t index) const {
  return plan_value(computation(node).operands[index]);
}

PlanValue ProgramView::result(PlanNode node, std::size_t index) const {
  return plan_value(program_.results(static_cast<ComputationId>(node))[index]);
}

PlanNode ProgramView::producer(PlanValue value) const {
  const Program::Definition& definition = program_.definition(id(value));
  check(definition.exists, "what is priced is computed");
  return plan_node(definition.computation);
}

PlanNode ProgramView::user(PlanValue value, std::size_t index) const {
  return plan_node(program_.users(id(value))[index]);
}

Cost Prices::price(ComputationId id) const {
  return std::clamp<Cost>(fusion_.price(plan_node(id), kernels_), 0, highest_kernel_price);
}

GraphCost Prices::total() const {
  GraphCost sum;
  for (const ComputationId id : program_.computations()) sum += {price(id), counts(program_.store()[id]) ? 1 : 0};
  return sum;
}

void Prices::affected(const Program::Log& log, std::vector<PlanNode>& nodes) const {
  for (const Change& change : log) {
    if (change.kind == Change::Kind::added || change.kind == Change::Kind::removed) {
      if (program_.has(change.computation)) fusion_.affected(plan_node(change.computation), nodes);
    } else if (change.kind == Change::Kind::output) {
      for (const ValueId name : change.names)
        if (program_.definition(name).exists) fusion_.affected(plan_value(name), nodes);
    }
  }
}

Cost Prices::sum(const std::vector<PlanNode>& nodes) const {
  Cost sum = 0;
  for (const PlanNode node : nodes) {
    const auto id = static_cast<ComputationId>(node);
    if (program_.has(id)) sum += price(id);
  }
  return sum;
}

GraphCost Prices::difference(Program& program, const Program::Log& log) const {
  check(&program == &program_, "prices are those of one program");
  std::vector<PlanNode> nodes;
  affected(log, nodes);
  program.undo(log);
  affected(log, nodes);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const Cost before = sum(nodes);
  program.redo(log);
  GraphCost difference{sum(nodes) - before, 0};
  for (const Change& change : log) {
    if (change.kind != Change::Kind::added && change.kind != Change::Kind::removed) continue;
    if (counts(program.store()[change.computation]))
      difference.operators += change.kind == Change::Kind::added ? 1 : -1;
  }
  return difference;
}

}  // namespace taso
