#include "search/program/program.h"

#include <algorithm>

#include "ops/core/error.h"
#include "ops/support/scramble.h"

namespace taso::search {
namespace {

ProgramHash hash_of_part(std::uint64_t kind, std::uint64_t what, std::uint64_t output, ValueId name) {
  const std::uint64_t a = scramble(what * 0x9e3779b97f4a7c15u + kind);
  const std::uint64_t b = scramble(a + output * 0xd6e8feb86659fd93u + place(name) + 1);
  return {b, scramble(b ^ 0x2545f4914f6cdd1du) + scramble(a ^ (place(name) * 0xda942042e4dd58b5u))};
}

ProgramHash hash_of_computation(ComputationId id, const std::vector<ValueId>& results) {
  ProgramHash hash;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i] != no_value) hash += hash_of_part(1, place(id), i, results[i]);
  return hash;
}

void insert_sorted(std::vector<ComputationId>& list, ComputationId id) {
  const auto place_for_it = std::lower_bound(list.begin(), list.end(), id);
  if (place_for_it == list.end() || *place_for_it != id) list.insert(place_for_it, id);
}

void erase_sorted(std::vector<ComputationId>& list, ComputationId id) {
  const auto found = std::lower_bound(list.begin(), list.end(), id);
  if (found != list.end() && *found == id) list.erase(found);
}

}  // namespace

Program::Program(Store& store, const Graph& graph) : store_(store) {
  original_.emplace(Value{}, no_value);
  for (const Node* node : graph.nodes()) {
    std::vector<ValueId> operands;
    for (const Value& operand : node->inputs()) operands.push_back(original_.at(operand));
    const Operator* op = node->as_operator();
    const ComputationId id =
        op != nullptr ? store_.apply(store_.known(*op), std::move(operands)) : store_.leaf(*node, std::move(operands));
    std::vector<ValueId> results;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      check(store_.result_type(id, i) == node->outputs()[i], "types are inferred the same way twice");
      results.push_back(store_.result(id, i, 0));
      original_.emplace(node->output(i), results.back());
      if (place(results.back()) >= is_original_.size()) is_original_.resize(place(results.back()) + 1, false);
      is_original_[place(results.back())] = true;
    }
    link(id, results);
  }
  outputs_.assign(graph.outputs.size(), no_value);
  for (std::size_t i = 0; i < outputs_.size(); ++i) set_output(i, original_.at(graph.outputs[i]));
}

std::vector<ComputationId> Program::computations() const {
  std::vector<ComputationId> order;
  std::vector<char> state(computations_.size(), 0);  // 1: on the stack, 2: listed
  std::vector<ComputationId> stack;
  for (auto output = outputs_.rbegin(); output != outputs_.rend(); ++output)
    stack.push_back(definition(*output).computation);
  while (!stack.empty()) {
    const ComputationId id = stack.back();
    char& here = state[place(id)];
    if (here == 2) {
      stack.pop_back();
      continue;
    }
    if (here == 1) {
      here = 2;
      order.push_back(id);
      stack.pop_back();
      continue;
    }
    here = 1;
    const auto& operands = store_[id].operands;
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) {
      if (*operand == no_value) continue;
      const Definition& from = definition(*operand);
      check(from.exists, "every used value is computed");
      check(state[place(from.computation)] != 1 || from.computation == id, "a graph has no cycles");
      check(from.computation != id, "no value is computed from itself");
      if (state[place(from.computation)] == 0) stack.push_back(from.computation);
    }
  }
  check(order.size() == size_, "every computation is needed");
  return order;
}

bool Program::depends_on(ValueId start, std::span<const ValueId> targets) const {
  if (++look_ == 0) {
    std::fill(seen_.begin(), seen_.end(), 0);
    look_ = 1;
  }
  seen_.resize(computations_.size(), 0);
  std::vector<ValueId> stack{start};
  while (!stack.empty()) {
    const ValueId id = stack.back();
    stack.pop_back();
    if (id == no_value) continue;
    if (std::find(targets.begin(), targets.end(), id) != targets.end()) return true;
    const Definition& from = definition(id);
    if (!from.exists || store_[from.computation].weight_only) continue;
    if (std::exchange(seen_[place(from.computation)], look_) == look_) continue;
    const auto& operands = store_[from.computation].operands;
    stack.insert(stack.end(), operands.begin(), operands.end());
  }
  return false;
}

Program::ValueEntry& Program::value(ValueId id) {
  if (place(id) >= values_.size()) values_.resize(std::max(place(id) + 1, store_.values()));
  return values_[place(id)];
}

void Program::link(ComputationId id, const std::vector<ValueId>& results) {
  if (place(id) >= computations_.size()) computations_.resize(std::max(place(id) + 1, store_.computations()));
  ComputationEntry& entry = computations_[place(id)];
  check(!entry.exists, "a computation exists once");
  entry.exists = true;
  entry.results = results;
  for (const ValueId operand : store_[id].operands)
    if (operand != no_value) insert_sorted(value(operand).users, id);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == no_value) continue;
    Definition& definition = value(results[i]).definition;
    check(!definition.exists, "a value is computed in one way");
    definition = {id, static_cast<std::uint32_t>(i), true};
  }
  hash_ += hash_of_computation(id, results);
  ++size_;
}

void Program::unlink(ComputationId id) {
  ComputationEntry& entry = computations_[place(id)];
  check(entry.exists, "only an existing computation is removed");
  hash_ -= hash_of_computation(id, entry.results);
  for (const ValueId result : entry.results)
    if (result != no_value) value(result).definition = {};
  for (const ValueId operand : store_[id].operands)
    if (operand != no_value) erase_sorted(value(operand).users, id);
  entry.exists = false;
  entry.results.clear();
  --size_;
}

void Program::set_output(std::size_t index, ValueId id) {
  if (outputs_[index] != no_value) {
    --value(outputs_[index]).outputs;
    hash_ -= hash_of_part(2, index, 0, outputs_[index]);
  }
  outputs_[index] = id;
  ++value(id).outputs;
  hash_ += hash_of_part(2, index, 0, id);
}

void Program::add(ComputationId id, std::vector<ValueId> results, Log& log) {
  link(id, results);
  log.push_back({Change::Kind::added, id, 0, std::move(results)});
}

void Program::remove(ComputationId id, Log& log) {
  log.push_back({Change::Kind::removed, id, 0, results(id)});
  unlink(id);
}

void Program::rename_results(ComputationId id, std::vector<ValueId> results, Log& log) {
  if (this->results(id) == results) return;
  remove(id, log);
  add(id, std::move(results), log);
}

ValueId Program::free_name(ComputationId id, std::size_t output) {
  for (std::size_t attempt = 0;; ++attempt) {
    const ValueId name = store_.result(id, output, attempt);
    if (!definition(name).exists && !is_used(name)) return name;
  }
}

/// Merges the results of a computation with those of one that has become equal to it: each keeps the older name.
void Program::merge_into(ComputationId id, const std::vector<ValueId>& names,
                         std::vector<std::pair<ValueId, ValueId>>& replacements, Log& log) {
  std::vector<ValueId> kept = results(id);
  std::vector<std::pair<ValueId, ValueId>> pairs;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (names[i] == no_value || names[i] == kept[i]) continue;
    if (kept[i] == no_value) {
      kept[i] = names[i];
      continue;
    }
    const ValueId older = std::min(kept[i], names[i]), newer = std::max(kept[i], names[i]);
    pairs.emplace_back(newer, older);
    kept[i] = older;
  }
  rename_results(id, std::move(kept), log);
  replacements.insert(replacements.end(), pairs.begin(), pairs.end());
}

void Program::replace(ValueId old, ValueId by, Log& log) {
  std::vector<std::pair<ValueId, ValueId>> replacements{{old, by}};
  for (std::size_t next = 0; next < replacements.size(); ++next) {
    const ValueId from = replacements[next].first;
    ValueId to = replacements[next].second;
    // The replacement may itself have been replaced meanwhile.
    for (std::size_t i = 0; i < next; ++i)
      if (replacements[i].first == to) to = replacements[i].second;
    if (from == to) continue;
    log.push_back({Change::Kind::merged, {}, 0, {from, to}});
    for (std::size_t i = 0; i < outputs_.size() && is_output(from); ++i) {
      if (outputs_[i] != from) continue;
      log.push_back({Change::Kind::output, {}, static_cast<std::uint32_t>(i), {from, to}});
      set_output(i, to);
    }
    while (!users(from).empty()) {
      const ComputationId user = users(from).front();
      std::vector<ValueId> operands = store_[user].operands;
      std::replace(operands.begin(), operands.end(), from, to);
      const ComputationId changed = store_.with_operands(user, std::move(operands));
      const std::vector<ValueId> names = results(user);
      remove(user, log);
      if (has(changed))
        merge_into(changed, names, replacements, log);
      else
        add(changed, names, log);
    }
  }
}

void Program::collect(std::vector<ComputationId> suspects, Log& log) {
  while (!suspects.empty()) {
    const ComputationId id = suspects.back();
    suspects.pop_back();
    if (!has(id)) continue;
    const auto& names = results(id);
    if (std::any_of(names.begin(), names.end(), [&](ValueId name) { return name != no_value && is_used(name); }))
      continue;
    const std::vector<ValueId>& operands = store_[id].operands;
    remove(id, log);
    for (const ValueId operand : operands)
      if (operand != no_value && definition(operand).exists) suspects.push_back(definition(operand).computation);
  }
}

bool Program::doubles_original(const Log& log) const {
  for (const Change& change : log) {
    if (change.kind != Change::Kind::added || !has(change.computation)) continue;
    for (std::size_t i = 0; i < change.names.size(); ++i) {
      if (results(change.computation)[i] == no_value) continue;
      const ValueId own = store_.result(change.computation, i, 0);
      if (results(change.computation)[i] == own || place(own) >= is_original_.size() || !is_original_[place(own)])
        continue;
      if (definition(own).exists) return true;
    }
  }
  return false;
}

namespace {

/// The change in the number of computations of a kind.
template <class Is>
std::int64_t added(const Store& store, const Program::Log& log, Is is) {
  std::int64_t sum = 0;
  for (const Change& change : log) {
    if (change.kind != Change::Kind::added && change.kind != Change::Kind::removed) continue;
    if (is(store[change.computation])) sum += change.kind == Change::Kind::added ? 1 : -1;
  }
  return sum;
}

}  // namespace

std::int64_t Program::operators_added(const Log& log) const {
  return added(store_, log, [](const Computation& one) { return one.is_work(); });
}

std::int64_t Program::lasting_work_on_weights_added(const Log& log) const {
  return added(store_, log, [](const Computation& one) { return one.is_lasting_work_on_weights(); });
}

void Program::undo(const Log& log) {
  for (auto change = log.rbegin(); change != log.rend(); ++change) {
    if (change->kind == Change::Kind::added) unlink(change->computation);
    if (change->kind == Change::Kind::removed) link(change->computation, change->names);
    if (change->kind == Change::Kind::output) set_output(change->output, change->names[0]);
  }
}

void Program::redo(const Log& log) {
  for (const Change& change : log) {
    if (change.kind == Change::Kind::added) link(change.computation, change.names);
    if (change.kind == Change::Kind::removed) unlink(change.computation);
    if (change.kind == Change::Kind::output) set_output(change.output, change.names[1]);
  }
}

}  // namespace taso::search
