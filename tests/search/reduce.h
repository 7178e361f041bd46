// Makes a graph that shows a fault as small as it gets: what is left of it is what the fault is about.
#pragma once

#include <functional>
#include <vector>

#include "ops/graph/graph.h"
#include "rules/language/rule.h"

namespace taso::test {

/// A graph, in a pool of its own, for which `fails` holds as it does for the one given, and no longer holds if an output is
/// dropped or replaced by what it is computed from, a node is replaced by an input or by one of its operands, or a dimension
/// or attribute is made smaller. It tries at most `most_tries` graphs.
Graph reduce(const Graph& graph, const std::function<bool(const Graph&)>& fails, std::size_t most_tries = 3000);

/// The rules without those for which `fails` holds without them too.
std::vector<rules::Rule> reduce(std::vector<rules::Rule> rules,
                                const std::function<bool(const std::vector<rules::Rule>&)>& fails);

}  // namespace taso::test
