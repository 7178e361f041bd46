// Converts the search's values back to a graph of the model's pool.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "search/program/merged_values.h"
#include "search/program/program.h"
#include "search/search.h"

namespace taso::search {

struct Match;

/// Copies of opaque nodes with other operands, by the original node.
using OpaqueNodes = std::unordered_map<const Node*, std::vector<const Node*>>;

class Extractor {
 public:
  /// `graph` is the one that the program was made from. Extractors that share opaque nodes make the same graph of a
  /// program, in the same order.
  Extractor(const Program& program, const Graph& graph, OpaqueNodes* shared = nullptr);
  Extractor(const Extractor&) = delete;
  Extractor& operator=(const Extractor&) = delete;

  /// The current program as a graph. Opaque nodes whose operands changed become new nodes that do the same.
  Graph graph();
  /// The value in that graph of a value of the program.
  const Value& value_of(ValueId id) const { return made_.at(id); }
  /// Describes the step of a match before it is applied: what it will change and what it will make, as rewrite() says.
  /// Every step since the input graph must be described, because values are numbered along the way.
  rules::RewriteStep describe(const Match& match, const Program::Log& log,
                              const std::vector<std::vector<ValueId>>& made);
  /// Records which values a change merged, once it is made.
  void note(const Program::Log& log);
  /// For the values for which `is_named` holds; for all, if there is no such function.
  Replacements replacements(const std::function<bool(const Value&)>& is_named);

 private:
  using Unchanged = std::unordered_map<Value, std::pair<ValueId, bool>, HashValue>;
  bool is_as_it_was(const Value& value, ValueId id, const std::unordered_map<ValueId, Value>& named,
                    Unchanged& known) const;
  const Node& make(ComputationId id, const std::vector<Value>& operands);

  const Program& program_;
  const Graph& original_;
  std::unordered_map<ValueId, rules::ValueNumber>
      numbers_;  // of the existing values; the search reuses names, but never numbers
  rules::ValueNumber next_number_ = 0;
  std::unordered_map<ValueId, Value> made_;
  MergedValues merged_;
  OpaqueNodes own_;
  OpaqueNodes& opaque_;  // copies with other operands
};

}  // namespace taso::search
