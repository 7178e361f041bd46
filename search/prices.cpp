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

void Prices::moved() {
  here_.forget();
  ++time_;
}

Cost Prices::price(ComputationId id) {
  if (place(id) >= known_.size()) known_.resize(std::max(place(id) + 1, 2 * known_.size()));
  Known& known = known_[place(id)];
  if (known.time != time_)
    known = {time_, std::clamp<Cost>(here_.price(plan_node(id), kernels_), 0, highest_kernel_price)};
  return known.price;
}

GraphCost Prices::total() {
  GraphCost sum;
  for (const ComputationId id : program_.computations()) sum += {price(id), counts(program_.store()[id]) ? 1 : 0};
  return sum;
}

void Prices::add_affected(const Program::Log& log, const Fusion& fusion) {
  for (const Change& change : log) {
    if (change.kind == Change::Kind::added || change.kind == Change::Kind::removed) {
      if (program_.has(change.computation)) fusion.affected(plan_node(change.computation), affected_);
    } else if (change.kind == Change::Kind::output) {
      for (const ValueId name : change.names)
        if (program_.definition(name).exists) fusion.affected(plan_value(name), affected_);
    }
  }
}

GraphCost Prices::difference(Program& program, const Program::Log& log) {
  check(&program == &program_, "prices are those of one program");
  affected_.clear();
  there_.forget();
  add_affected(log, there_);
  program.undo(log);
  affected_.next_graph();
  add_affected(log, here_);
  GraphCost difference;
  for (const PlanNode node : affected_.nodes())
    if (const auto id = static_cast<ComputationId>(node); program_.has(id)) difference.price -= price(id);
  program.redo(log);
  for (const PlanNode node : affected_.nodes())
    if (program_.has(static_cast<ComputationId>(node)))
      difference.price += std::clamp<Cost>(there_.price(node, kernels_), 0, highest_kernel_price);
  for (const Change& change : log) {
    if (change.kind != Change::Kind::added && change.kind != Change::Kind::removed) continue;
    if (counts(program.store()[change.computation]))
      difference.operators += change.kind == Change::Kind::added ? 1 : -1;
  }
  return difference;
}

}  // namespace taso
