// Finds where a rule applies in an equality graph: like matcher.h, but a value may have several computations.
#pragma once

#include <functional>

#include "search/exact/equality_graph.h"

namespace taso::search {

/// The matches of a rule whose first result is computed by this node. Ends when `found` returns false.
void find_matches(Store& store, const EqualityGraph& graph, const RewriteRule& rule, std::size_t root,
                  const std::function<bool(Match)>& found);

}  // namespace taso::search
