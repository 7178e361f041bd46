// Back from the search's values to a graph of the model's pool.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "search/program/merged_values.h"
#include "search/program/program.h"
#include "search/search.h"

namespace taso::search {

struct Match;

/// Opaque nodes that were made anew, with other operands, by the one that they do the same as.
using OpaqueNodes = std::unordered_map<const Node*, std::vector<const Node*>>;

class Extractor {
 public:
  /// `graph` is the one that the program was made of. Extractors that share opaque nodes make the same graph of a program, in
  /// the same order.
  Extractor(const Program& program, const Graph& graph, OpaqueNodes* shared = nullptr);
  Extractor(const Extractor&) = delete;
  Extractor& operator=(const Extractor&) = delete;

  /// The program as it stands now. Opaque nodes whose operands have changed are new nodes that do the same.
  Graph graph();
  /// The value of that graph that one of the program stands for.
  const Value& value_of(ValueId id) const { return made_.at(id); }
  /// The step that a match is, before it is taken: what it will change, and what it will make, as rewrite() says. Every step since the graph was as it was given
  /// has to be told, for values are numbered on the way.
  rules::RewriteStep describe(const Match& match, const Program::Log& log,
                              const std::vector<std::vector<ValueId>>& made);
  /// Notes which values a change found to be others, once it is made.
  void note(const Program::Log& log);
  /// Of the values for which `is_named` holds; of all, if there is no such function.
  Replacements replacements(const std::function<bool(const Value&)>& is_named);

 private:
  using Unchanged = std::unordered_map<Value, std::pair<ValueId, bool>, HashValue>;
  bool is_as_it_was(const Value& value, ValueId id, const std::unordered_map<ValueId, Value>& named,
                    Unchanged& known) const;
  const Node& make(ComputationId id, const std::vector<Value>& operands);

  const Program& program_;
  const Graph& original_;
  std::unordered_map<ValueId, rules::ValueNumber>
      numbers_;  // of what is there; the search gives names again, numbers never
  rules::ValueNumber next_number_ = 0;
  std::unordered_map<ValueId, Value> made_;
  MergedValues merged_;
  OpaqueNodes own_;
  OpaqueNodes& opaque_;  // those made anew
};

}  // namespace taso::search
