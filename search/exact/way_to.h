// The steps from a graph to another one of its equality graph. The equality graph knows which applications of rules
// made the computations of the other graph; these are done in the graph itself, as far as rewriting allows.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "search/exact/equality_graph.h"
#include "search/prices.h"
#include "search/region.h"

namespace taso::search {

class WayTo {
 public:
  /// `program` is the first graph of the equality graph, which has kept its steps; `nodes` are those of the other
  /// graph.
  WayTo(Program& program, const EqualityGraph& graph, const std::vector<std::size_t>& nodes);

  /// Changes the program, which costs `before`. Each step has its costs.
  std::vector<Applied> follow(Prices& prices, const GraphCost& before);
  /// Whether the program is the other graph now.
  bool is_reached() const;

 private:
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);
  void find_helpful();
  /// The nodes and classes of the program's computations and values.
  void classify();
  ValueId class_of(ValueId value) const;
  std::size_t node_of(ValueId value) const;
  std::shared_ptr<const Match> find_place(const EqualityGraph::Step& step);
  bool fits(const Match& match, const EqualityGraph::Step& step) const;
  bool touches_frozen(const Match& match) const;

  Program& program_;
  const EqualityGraph& graph_;
  std::set<std::size_t> chosen_;      // nodes
  std::vector<std::size_t> helpful_;  // steps, rising
  std::map<ComputationId, std::size_t> nodes_;
  std::map<ValueId, ValueId> classes_;
  /// Steps, and where they were taken, or were not possible in this pass.
  using Places = std::set<std::pair<const EqualityGraph::Step*, ValueId>>;
  Places taken_, refused_;
};

}  // namespace taso::search
