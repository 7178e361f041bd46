// An equality graph: classes of values that rules show to be equal, and all computations of each. It stands for all
// graphs that take one computation of each class that they need.
//
// Rules are applied wherever they match, also across computations of different graphs, and nothing is removed. Rules
// with several results are included. Two differences from rewriting a single graph: a rule with several results is not
// applied to results of one class, which are one value in a graph; and what rewriting refuses, because a value inside
// the source is used elsewhere, is done here. So the graphs here include those that rewriting reaches, and more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "search/program/program.h"
#include "search/rewriting/matcher.h"

namespace taso::search {

struct SaturationOptions {
  std::size_t most_computations = 20'000;
  std::size_t most_rounds = 1;         ///< more take the integer program minutes, except for small graphs
  std::size_t most_matches = 200'000;  ///< in one round
  bool keeps_steps = false;            ///< see EqualityGraph::steps()
  std::function<bool()> should_end;    ///< asked now and then; what was seen until then counts
};

class EqualityGraph {
 public:
  EqualityGraph(Store& store, const Program& program);

  /// Adds another graph whose outputs equal those of the first, such as the result of a search. Its leaves are found
  /// again by their nodes.
  void add_equal(const Program& program);

  struct End {
    bool is_saturated = false;  ///< nothing more follows from the rules
    std::size_t rounds = 0;     ///< in which every rule was applied everywhere
    std::size_t matches = 0;
  };
  /// Applies the rules everywhere, in rounds.
  End saturate(const std::vector<const RewriteRule*>& rules, const SaturationOptions& options);

  /// No rule may match these computations of the first graph: they are the surroundings of the rest.
  void freeze(const std::unordered_set<ComputationId>& computations);

  /// An application of a rule, as it was done. Values are those of that time: find() gives their classes.
  struct Step {
    Match match;
    std::vector<std::size_t> made;  ///< nodes, by node of the target; node() gives what they are now
  };
  const std::vector<Step>& steps() const { return steps_; }

  /// The class of a value.
  ValueId find(ValueId value) const;
  struct Node {
    ComputationId computation{};
    std::vector<ValueId> results;  ///< classes
    bool is_there = true;          ///< false if it became equal to another
    bool is_frozen = false;
    std::size_t same = 0;  ///< the node that it became equal to
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  /// The node that a node is now.
  std::size_t node(std::size_t index) const;
  /// The node of a computation, if there is one.
  std::optional<std::size_t> node_of(ComputationId id) const;
  /// The node that does the same as a computation of any graph, on operands of these classes; nothing if there is none.
  std::optional<std::size_t> node_like(ComputationId id, std::vector<ValueId> classes) const;
  /// The indices of the nodes that compute a class, and of those that use it.
  const std::vector<std::size_t>& computed_by(ValueId value) const { return of(computed_by_, value); }
  const std::vector<std::size_t>& used_by(ValueId value) const { return of(used_by_, value); }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const Store& store() const { return store_; }
  std::size_t size() const { return size_; }

 private:
  static const std::vector<std::size_t>& of(const std::vector<std::vector<std::size_t>>& lists, ValueId value) {
    static const std::vector<std::size_t> none;
    return place(value) < lists.size() ? lists[place(value)] : none;
  }
  std::size_t add(ComputationId id);
  void add_program(const Program& program);
  bool unite(ValueId a, ValueId b);
  /// Makes computations on equal operands equal, and lists them by class again.
  void rebuild();
  bool touches_frozen(const Match& match) const;
  std::vector<std::size_t> apply(const Match& match);

  Store& store_;
  mutable std::vector<ValueId> parents_;
  std::vector<Node> nodes_;
  std::unordered_map<ComputationId, std::size_t> places_;
  std::vector<std::vector<std::size_t>> computed_by_, used_by_;
  std::vector<ValueId> outputs_;
  std::size_t size_ = 0;
  std::vector<Step> steps_;
};

}  // namespace taso::search
