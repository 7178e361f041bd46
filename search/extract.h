// Back from the search's values to a graph of the model's pool.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "search/program.h"
#include "search/search.h"

namespace taso {

struct Match;

class Extractor {
 public:
  /// `graph` is the one that the program was made of.
  Extractor(const Program& program, const Graph& graph);

  /// The program as it stands now. Opaque nodes whose operands have changed are new nodes that do the same.
  Graph graph();
  /// What values of the program stood for in the graph made last.
  std::vector<Value> values(const std::vector<ValueId>& ids) const;
  /// A step at the graph made last, before it is taken.
  RewriteStep describe(const Match& match) const;
  /// Notes which values a change found to be others.
  void note(const Program::Log& log);
  /// Of the values for which `is_named` holds; of all, if there is no such function.
  Replacements replacements(const std::function<bool(const Value&)>& is_named);

 private:
  ValueId current(ValueId id) const;
  const Node& make(ComputationId id, const std::vector<Value>& operands);

  const Program& program_;
  const Graph& original_;
  std::unordered_map<ValueId, Value> made_;
  std::unordered_map<ValueId, ValueId> merged_;
  std::vector<std::pair<std::pair<const Node*, std::vector<Value>>, const Node*>> opaque_;  // those made anew
};

}  // namespace taso
