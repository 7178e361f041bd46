#include "search/exact/bound.h"

namespace taso::search {

Bound bound_of(const Graph& graph, const Graph& result, const std::vector<const RewriteRule*>& rules,
               const cost::KernelPrices& prices, const BoundOptions& options) {
  Store store;
  const Program given(store, graph), found(store, result);
  EqualityGraph equal(store, given);
  equal.add_equal(found);
  Bound bound;
  bound.saturation = equal.saturate(rules, options.saturation);
  static_cast<Cheapest&>(bound) = cheapest_of(equal, {&graph, &result}, prices, options.choosing);
  return bound;
}

}  // namespace taso::search
