#include "search/prices.h"

#include <algorithm>

#include "cost/plan/movement.h"
#include "ops/core/error.h"

namespace taso::search {
namespace {

cost::PlanValue plan_value(ValueId id) { return static_cast<cost::PlanValue>(id); }
cost::PlanNode plan_node(ComputationId id) { return static_cast<cost::PlanNode>(id); }
static_assert(static_cast<cost::PlanValue>(no_value) == cost::no_plan_value);

}  // namespace

const Operator* ProgramView::op(cost::PlanNode node) const {
  const KnownOperator* known = computation(node).op;
  return known ? &known->op : nullptr;
}

const Opaque* ProgramView::opaque(cost::PlanNode node) const {
  const Node* const origin = computation(node).origin;
  return origin == nullptr ? nullptr : origin->as_opaque();
}

std::optional<double> ProgramView::number(cost::PlanValue value) const {
  const Node* const origin = computation(producer(value)).origin;
  return origin == nullptr ? std::nullopt : cost::number_of(*origin);
}

bool ProgramView::is_free(cost::PlanNode node) const {
  const Computation& here = computation(node);
  return here.weight_only || here.is_leaf();
}

cost::PlanValue ProgramView::operand(cost::PlanNode node, std::size_t index) const {
  return plan_value(computation(node).operands[index]);
}

cost::PlanValue ProgramView::result(cost::PlanNode node, std::size_t index) const {
  return plan_value(program_.results(static_cast<ComputationId>(node))[index]);
}

cost::PlanNode ProgramView::producer(cost::PlanValue value) const {
  const Program::Definition& definition = program_.definition(id(value));
  check(definition.exists, "a priced value is computed");
  return plan_node(definition.computation);
}

cost::PlanNode ProgramView::user(cost::PlanValue value, std::size_t index) const {
  return plan_node(program_.users(id(value))[index]);
}

void Prices::set_border(const Border& border) {
  here_view_.set_border(border);
  there_view_.set_border(border);
  moved();
}

void Prices::set_cuts(const std::vector<bool>& cuts) {
  here_view_.set_cuts(cuts);
  there_view_.set_cuts(cuts);
  moved();
}

bool Prices::is_image(ValueId id) const { return cost::is_image(here_view_, plan_value(id)); }

void Prices::moved() {
  here_.forget();
  ++time_;
}

void Prices::accept() {
  here_.forget();
  for (const auto& [id, price] : changed_) known(id) = {time_, price};
}

Prices::Known& Prices::known(ComputationId id) {
  if (place(id) >= known_.size()) known_.resize(std::max(place(id) + 1, 2 * known_.size()));
  return known_[place(id)];
}

cost::Cost Prices::price(ComputationId id) {
  Known& price = known(id);
  if (price.time != time_) price = {time_, here_.price(plan_node(id), kernels_)};
  return price.price;
}

GraphCost Prices::total() {
  GraphCost sum;
  for (const ComputationId id : program_.computations()) {
    const cost::Cost its = price(id);
    sum.price += its;
    sum.kernels += its > 0 ? 1 : 0;
    sum.operators += program_.store()[id].is_work() ? 1 : 0;
  }
  if (growth_.is_counted()) {
    sum.growth = weights() - given_weights_;
    sum.charge = sum.growth * growth_.price_of_byte;
  }
  return sum;
}

void Prices::set_given_weights() {
  given_weights_ = weights();
  counts_as_stored_ = true;
  given_weights_as_stored_ = weights();
  counts_as_stored_ = false;
}

void Prices::count_as_stored() {
  if (counts_as_stored_) return;
  counts_as_stored_ = true;
  given_weights_ = given_weights_as_stored_;
}

/// Whether a weight consists of parts of other weights, and so adds no bytes.
bool Prices::is_made_of_parts(ValueId id) const {
  const KnownOperator* const known = program_.store()[program_.definition(id).computation].op;
  if (known == nullptr) return false;
  const Operator& op = known->op;
  return std::holds_alternative<op::Concat>(op) || std::holds_alternative<op::Split>(op) ||
         std::holds_alternative<op::Slice>(op) || std::holds_alternative<op::Transpose>(op) ||
         std::holds_alternative<op::Reshape>(op);
}

bool Prices::is_stored(ValueId id) const {
  const auto& users = program_.users(id);
  return program_.is_output(id) || std::any_of(users.begin(), users.end(),
                                               [&](ComputationId user) { return !program_.store()[user].is_foldable; });
}

/// Whether an operation that is not computed ahead uses the weight, or a weight that it is a part of.
bool Prices::is_kept(ValueId id) const {
  const Store& store = program_.store();
  std::vector<ValueId> stack{id};
  std::unordered_set<ValueId> seen{id};
  while (!stack.empty()) {
    const ValueId here = stack.back();
    stack.pop_back();
    if (program_.is_output(here)) return true;
    for (const ComputationId user : program_.users(here)) {
      if (!store[user].is_foldable) return true;
      for (const ValueId result : program_.results(user))
        if (result != no_value && is_made_of_parts(result) && seen.insert(result).second) stack.push_back(result);
    }
  }
  return false;
}

/// Joined parts count once, as their origin, even if that is still used separately: steps of a recurrent network share
/// their weights, and the first step that joins them does not make the others larger.
std::int64_t Prices::stored_bytes(ValueId id) const {
  if (!program_.store().is_foldable(id) || !program_.definition(id).exists) return 0;
  if (counts_as_stored_ ? !is_stored(id) : is_made_of_parts(id) || !is_kept(id)) return 0;
  return static_cast<std::int64_t>(cost::bytes_of(here_view_, plan_value(id)));
}

/// Adds the weights that these are made of, in the current program.
void Prices::add_what_parts_are_of(std::vector<ValueId>& weights) const {
  if (counts_as_stored_) return;
  std::unordered_set<ValueId> seen(weights.begin(), weights.end());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!program_.definition(weights[i]).exists || !is_made_of_parts(weights[i])) continue;
    for (const ValueId operand : program_.store()[program_.definition(weights[i]).computation].operands)
      if (operand != no_value && seen.insert(operand).second) weights.push_back(operand);
  }
}

std::int64_t Prices::stored_bytes(std::span<const ValueId> weights) const {
  std::int64_t sum = 0;
  for (const ValueId id : weights) sum += stored_bytes(id);
  return sum;
}

std::int64_t Prices::weights() const {
  std::int64_t sum = 0;
  for (const ComputationId id : program_.computations())
    for (const ValueId result : program_.results(id))
      if (result != no_value) sum += stored_bytes(result);
  return sum;
}

void Prices::add_affected(const Program::Log& log, const cost::Fusion& fusion) {
  for (const Change& change : log) {
    if (change.kind == Change::Kind::added || change.kind == Change::Kind::removed) {
      if (program_.has(change.computation)) fusion.affected(plan_node(change.computation), affected_);
    } else if (change.kind == Change::Kind::output) {
      for (const ValueId name : change.names)
        if (program_.definition(name).exists) fusion.affected(plan_value(name), affected_);
    }
  }
}

/// The weights whose computations or users these changes concern, each once.
static std::vector<ValueId> weights_among(const Program::Log& log, const Store& store) {
  std::vector<ValueId> weights;
  const auto add = [&](ValueId id) {
    if (id != no_value && store.is_foldable(id)) weights.push_back(id);
  };
  for (const Change& change : log) {
    for (const ValueId name : change.names) add(name);
    if (change.kind == Change::Kind::added || change.kind == Change::Kind::removed)
      for (const ValueId operand : store[change.computation].operands) add(operand);
  }
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  return weights;
}

GraphCost Prices::redo_and_weigh(Program& program, const Program::Log& log) const {
  check(&program == &program_ && counts_as_stored_, "weights are counted as the file stores them");
  std::vector<ValueId> weights;
  if (growth_.is_counted()) weights = weights_among(log, program_.store());
  GraphCost difference;
  difference.growth = -stored_bytes(weights);
  program.redo(log);
  difference.growth += stored_bytes(weights);
  difference.charge = difference.growth * growth_.price_of_byte;
  return difference;
}

/// The values of the current program that the log adds or removes, and whether they are images. A transpose decides by
/// what computes its operand, so its results belong to them.
std::vector<std::pair<ValueId, bool>> Prices::images_among(const Program::Log& log, const ProgramView& view) const {
  std::vector<std::pair<ValueId, bool>> images;
  if (view.layout() != cost::Layout::channels_last) return images;
  const auto add = [&](ValueId name) {
    if (name != no_value) images.emplace_back(name, cost::is_image(view, plan_value(name)));
  };
  for (const Change& change : log)
    if (change.kind == Change::Kind::added || change.kind == Change::Kind::removed)
      for (const ValueId name : change.names) {
        if (name == no_value || !program_.definition(name).exists) continue;
        add(name);
        for (const ComputationId user : program_.users(name))
          if (cost::role_of(view, plan_node(user)) == cost::Role::transpose)
            for (const ValueId result : program_.results(user)) add(result);
      }
  std::sort(images.begin(), images.end());
  images.erase(std::unique(images.begin(), images.end()), images.end());
  return images;
}

GraphCost Prices::difference(Program& program, const Program::Log& log) {
  check(&program == &program_, "prices are those of one program");
  affected_.clear(log.size());
  there_.forget();
  add_affected(log, there_);
  const auto images_after = images_among(log, there_view_);
  std::vector<ValueId> weights;
  if (growth_.is_counted()) weights = weights_among(log, program_.store());
  add_what_parts_are_of(weights);
  program.undo(log);
  add_what_parts_are_of(weights);
  GraphCost difference;
  difference.growth = -stored_bytes(weights);
  affected_.next_graph();
  add_affected(log, here_);
  std::vector<ValueId> moved;  // values whose layout changes
  for (const auto& [id, image] : images_among(log, here_view_))
    if (std::binary_search(images_after.begin(), images_after.end(), std::pair(id, !image))) moved.push_back(id);
  for (const ValueId id : moved) here_.affected_by_layout(plan_value(id), affected_);
  if (!moved.empty()) {
    program.redo(log);
    affected_.next_graph();
    for (const ValueId id : moved) there_.affected_by_layout(plan_value(id), affected_);
    program.undo(log);
  }
  for (const cost::PlanNode node : affected_.nodes())
    if (const auto id = static_cast<ComputationId>(node); program_.has(id)) {
      const cost::Cost its = price(id);
      difference.price -= its;
      difference.kernels -= its > 0 ? 1 : 0;
    }
  program.redo(log);
  changed_.clear();
  for (const cost::PlanNode node : affected_.nodes())
    if (program_.has(static_cast<ComputationId>(node))) {
      const cost::Cost its = there_.price(node, kernels_);
      changed_.emplace_back(static_cast<ComputationId>(node), its);
      difference.price += its;
      difference.kernels += its > 0 ? 1 : 0;
    }
  difference.growth += stored_bytes(weights);
  difference.charge = difference.growth * growth_.price_of_byte;
  difference.operators = program.operators_added(log);
  return difference;
}

}  // namespace taso::search
