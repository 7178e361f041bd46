// Reduces a graph that shows a fault to a minimal one.
#pragma once

#include <functional>
#include <vector>

#include "ops/graph/graph.h"
#include "rules/language/rule.h"

namespace taso::test {

/// A graph in a separate pool for which `fails` still holds, and no longer holds if an output is dropped or replaced by
/// its operands, a node is replaced by an input or by one of its operands, or a dimension or attribute is made smaller.
/// Tries at most `most_tries` graphs.
Graph reduce(const Graph& graph, const std::function<bool(const Graph&)>& fails, std::size_t most_tries = 3000);

/// The rules without those that the failure does not need.
std::vector<rules::Rule> reduce(std::vector<rules::Rule> rules,
                                const std::function<bool(const std::vector<rules::Rule>&)>& fails);

}  // namespace taso::test
