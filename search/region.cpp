#include "search/region.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/operator_text.h"
#include "search/program/merged_values.h"
#include "search/rewriting/rewrite.h"

namespace taso::search {
namespace {

/// The computations of a region and its surroundings.
class Members {
 public:
  Members(const Program& program, const std::vector<ComputationId>& computations)
      : program_(program), inside_(computations.begin(), computations.end()) {
    for (const ComputationId id : computations) add_weights(id);
    for (const ComputationId id : computations) {
      for (const ValueId operand : program_.store()[id].operands)
        if (operand != no_value) surround(program_.definition(operand).computation);
      for (const ValueId result : program_.results(id))
        if (result != no_value)
          for (const ComputationId user : program_.users(result)) surround(user);
    }
  }
  bool is_inside(ComputationId id) const { return inside_.contains(id); }
  bool is_around(ComputationId id) const { return around_.contains(id); }
  /// All computations, operands first.
  std::vector<ComputationId> in_order(const Ranks& ranks) const {
    std::vector<ComputationId> order(inside_.begin(), inside_.end());
    order.insert(order.end(), around_.begin(), around_.end());
    std::sort(order.begin(), order.end(),
              [&](ComputationId a, ComputationId b) { return ranks[place(a)] < ranks[place(b)]; });
    return order;
  }

 private:
  void add_weights(ComputationId id) {
    for (const ValueId operand : program_.store()[id].operands) {
      if (operand == no_value || !program_.store().weight_only(operand)) continue;
      const ComputationId producer = program_.definition(operand).computation;
      if (program_.store()[producer].op != nullptr && inside_.insert(producer).second) add_weights(producer);
    }
  }
  void surround(ComputationId id) {
    if (!inside_.contains(id) && !program_.store()[id].is_leaf() && !program_.store()[id].weight_only)
      around_.insert(id);
  }

  const Program& program_;
  std::unordered_set<ComputationId> inside_, around_;
};

class RegionBuilder {
 public:
  RegionBuilder(const Program& program, const Prices& prices, const std::vector<ComputationId>& computations)
      : program_(program), store_(program.store()), prices_(prices), members_(program, computations) {
    region_.graph.pool = std::make_shared<Pool>();
  }

  Region build(const Ranks& ranks) {
    const std::vector<ComputationId> order = members_.in_order(ranks);
    for (const ComputationId id : order) add(id);
    for (const ComputationId id : order) add_outputs(id);
    return std::move(region_);
  }

 private:
  struct Known {
    Value value;
    std::size_t number = 0;
  };

  const Known& known(ValueId id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    // The value comes from outside.
    const std::string name = fmt::format("v{}", known_.size());
    const Type& type = store_.type(id);
    const bool weight = store_.weight_only(id);
    const Value value = weight ? region_.graph.pool->constant(name, type) : region_.graph.pool->input(name, type);
    if (!weight) region_.graph.inputs.push_back(value);
    const bool image = !weight && prices_.is_image(id);
    if (image) region_.surroundings.images.push_back(value);
    region_.key += fmt::format("{} {}\n", weight ? "constant" : image ? "image" : "input", ops::text_of(type));
    return name_value(id, value);
  }

  const Known& name_value(ValueId id, const Value& value) {
    region_.values.emplace(value, id);
    return known_.emplace(id, Known{value, known_.size()}).first->second;
  }

  void add(ComputationId id) {
    const Computation& computation = store_[id];
    std::vector<Value> operands;
    std::string numbers;
    for (const ValueId operand : computation.operands) {
      if (operand == no_value) {
        operands.emplace_back();
        numbers += " _";
        continue;
      }
      const Known& from = known(operand);
      operands.push_back(from.value);
      numbers += fmt::format(" {}", from.number);
    }
    const bool frozen = !members_.is_inside(id);
    const Node* node = nullptr;
    if (computation.op != nullptr) {
      node = &region_.graph.pool->add(computation.op->op, operands);
      region_.key += ops::text_of(computation.op->op);
    } else {
      const Opaque& opaque = *computation.origin->as_opaque();
      node = &region_.graph.pool->add_opaque(opaque, operands);
      region_.key += fmt::format("opaque {} {}", opaque.kind, opaque.serial);
    }
    if (frozen) region_.surroundings.frozen.insert(node);
    region_.key += fmt::format("{}{}", frozen ? " frozen" : "", numbers);
    const auto& results = program_.results(id);
    for (std::size_t i = 0; i < results.size(); ++i) {
      region_.key += results[i] == no_value ? " ." : " =";
      if (results[i] != no_value) name_value(results[i], node->output(i));
    }
    region_.key += '\n';
  }

  void add_outputs(ComputationId id) {
    for (const ValueId result : program_.results(id)) {
      if (result == no_value) continue;
      const auto& users = program_.users(result);
      const bool leaves =
          program_.is_output(result) || std::any_of(users.begin(), users.end(), [&](ComputationId user) {
            return !members_.is_inside(user) && !members_.is_around(user);
          });
      if (!leaves) continue;
      const Known& from = known(result);
      region_.graph.outputs.push_back(from.value);
      const bool ends = program_.is_output(result);
      if (!ends) region_.surroundings.outputs.push_back(from.value);
      region_.key += fmt::format("{} {}\n", ends ? "output" : "used outside", from.number);
    }
  }

  const Program& program_;
  const Store& store_;
  const Prices& prices_;
  Members members_;
  Region region_;
  std::unordered_map<ValueId, Known> known_;
};

}  // namespace

Ranks ranks_of(const Program& program) {
  Ranks ranks(program.store().computations(), 0);
  std::uint32_t next = 0;
  for (const ComputationId id : program.computations()) ranks[place(id)] = next++;
  return ranks;
}

Region region_of(const Program& program, const Prices& prices, const Ranks& ranks,
                 const std::vector<ComputationId>& computations) {
  return RegionBuilder(program, prices, computations).build(ranks);
}

void transfer(SolvedRegion& solved, const Graph& solved_graph, const Region& region, StepPrices step_prices,
              Program& program, Prices& prices, GraphCost& cost, std::vector<Applied>& applied) {
  // Graphs with the same key have their nodes in the same order.
  std::unordered_map<ValueId, ValueId> places;
  const auto from = solved_graph.nodes(), to = region.graph.nodes();
  check(from.size() == to.size(), "regions with the same key have graphs of the same form");
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t output = 0; output < from[i]->outputs().size(); ++output) {
      const auto there = region.values.find(to[i]->output(output));
      if (there != region.values.end()) places[solved.program().value_of(from[i]->output(output))] = there->second;
    }

  MergedValues merged;
  std::vector<Applied> made;
  bool possible = true;
  solved.retrace([&](const SolvedRegion::Step& step) {
    if (!possible) return;
    const auto place_of = [&](ValueId id) { return merged.current(places.at(id)); };
    const Program::Definition& root = program.definition(place_of(step.match.roots[0]));
    std::shared_ptr<const Match> found;
    if (root.exists)
      find_matches(program, *step.match.rule, root.computation, [&](Match match) {
        const auto agrees = [&](const std::vector<ValueId>& ours, const std::vector<ValueId>& theirs) {
          return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                            [&](ValueId a, ValueId b) { return place_of(a) == b; });
        };
        if (!found && agrees(step.match.roots, match.roots) && agrees(step.match.inputs, match.inputs))
          found = std::make_shared<const Match>(std::move(match));
      });
    Applied change;
    if (!found || !rewrite(program, *found, change.log, &change.made)) {
      possible = false;
      return;
    }
    change.match = std::move(found);
    change.before = made.empty() ? cost : made.back().after;
    if (step_prices == StepPrices::each) {
      change.after = change.before + prices.difference(program, change.log);
      prices.accept();
    } else {
      change.after = change.before + step.difference;
    }
    for (std::size_t i = 0; i < change.made.size(); ++i)
      for (std::size_t k = 0; k < change.made[i].size(); ++k) places[step.made[i][k]] = change.made[i][k];
    merged.note(change.log, program);
    made.push_back(std::move(change));
  });

  if (step_prices == StepPrices::together && !made.empty()) {
    Program::Log all;
    for (const Applied& change : made) all.insert(all.end(), change.log.begin(), change.log.end());
    made.back().after = cost + prices.difference(program, all);
    prices.accept();
  }
  std::size_t best = 0;  // how many of them to keep
  GraphCost lowest = cost;
  for (std::size_t i = step_prices == StepPrices::each || made.empty() ? 0 : made.size() - 1; i < made.size(); ++i)
    if (made[i].after < lowest && prices.allows(made[i].after) && is_worth(cost, made[i].after, prices.noise())) {
      best = i + 1;
      lowest = made[i].after;
    }
  for (std::size_t i = made.size(); i-- > best;) program.undo(made[i].log);
  if (best < made.size()) prices.moved();
  cost = lowest;
  std::move(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(best), std::back_inserter(applied));
}

}  // namespace taso::search
