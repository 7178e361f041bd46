#include "search/cost_model.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace taso {
namespace {

double bytes_of(const Type& type) {
  return type.shape ? size_estimate(*type.shape) * static_cast<double>(size_of(type.element)) : 0;
}

bool is_view(const Operator& op) {
  return std::holds_alternative<op::Reshape>(op) || std::holds_alternative<op::Split>(op) ||
         std::holds_alternative<op::Slice>(op);
}

}  // namespace

Cost RooflineModel::price(const Program& program, ComputationId id) const {
  const Store& store = program.store();
  const Computation& computation = store[id];
  if (computation.weight_only) return 0;
  double bytes = 0, flops = 0;
  if (computation.op == nullptr) {
    if (computation.origin->as_opaque() == nullptr) return 0;
    for (const ValueId operand : computation.operands)
      if (operand != no_value) bytes += bytes_of(store.type(operand));
    for (std::size_t i = 0; i < computation.results; ++i) bytes += bytes_of(store.result_type(id, i));
  } else {
    if (is_view(computation.op->op)) return 0;
    Shapes shapes;
    for (const ValueId operand : computation.operands) shapes.push_back(store.shape(operand));
    const Work work = work_of(computation.op->op, shapes);
    bytes = (work.read + work.written) * static_cast<double>(size_of(store.result_type(id, 0).element));
    flops = work.flops;
  }
  const double seconds = device_.launch + std::max(bytes / device_.bandwidth, flops / device_.flops);
  return static_cast<Cost>(std::llround(std::min(seconds * cost_per_second, static_cast<double>(highest_price))));
}

Cost Prices::price(const Program& program, ComputationId id) {
  if (model_.reach() > 0) return std::clamp<Cost>(model_.price(program, id), 0, highest_price);
  if (place(id) >= known_.size()) known_.resize(std::max(place(id) + 1, program.store().computations()), -1);
  if (known_[place(id)] < 0) known_[place(id)] = std::clamp<Cost>(model_.price(program, id), 0, highest_price);
  return known_[place(id)];
}

Cost Prices::total(const Program& program) { return sum(program, program.computations()); }

Cost Prices::sum(const Program& program, const std::vector<ComputationId>& computations) {
  Cost sum = 0;
  for (const ComputationId id : computations)
    if (program.has(id)) sum += price(program, id);
  return sum;
}

std::vector<ComputationId> Prices::affected(const Program& program, const Program::Log& log) const {
  std::set<ComputationId> all;
  for (const Change& change : log)
    if (change.kind == Change::Kind::added || change.kind == Change::Kind::removed) all.insert(change.computation);
  std::vector<ComputationId> border(all.begin(), all.end());
  for (std::size_t step = 0; step < model_.reach(); ++step) {
    std::vector<ComputationId> next;
    const auto reach = [&](ComputationId id) {
      if (program.has(id) && all.insert(id).second) next.push_back(id);
    };
    for (const ComputationId id : border) {
      for (const ValueId operand : program.store()[id].operands) {
        if (operand == no_value) continue;
        if (program.definition(operand).exists) reach(program.definition(operand).computation);
        for (const ComputationId user : program.users(operand)) reach(user);
      }
      if (!program.has(id)) continue;
      for (const ValueId result : program.results(id))
        if (result != no_value)
          for (const ComputationId user : program.users(result)) reach(user);
    }
    border = std::move(next);
  }
  return {all.begin(), all.end()};
}

Cost Prices::difference(Program& program, const Program::Log& log) {
  if (model_.reach() == 0) {
    Cost difference = 0;
    for (const Change& change : log) {
      if (change.kind == Change::Kind::added) difference += price(program, change.computation);
      if (change.kind == Change::Kind::removed) difference -= price(program, change.computation);
    }
    return difference;
  }
  std::vector<ComputationId> all = affected(program, log);
  program.undo(log);
  const std::vector<ComputationId> before = affected(program, log);
  std::vector<ComputationId> both;
  std::set_union(all.begin(), all.end(), before.begin(), before.end(), std::back_inserter(both));
  const Cost cost_before = sum(program, both);
  program.redo(log);
  return sum(program, both) - cost_before;
}

}  // namespace taso
