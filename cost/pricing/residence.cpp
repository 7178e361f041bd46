#include "cost/pricing/residence.h"

#include "cost/plan/plan.h"
#include "cost/pricing/h200.h"

namespace taso::cost {

double weight_bytes_of(const Graph& graph, const DimensionSizes& sizes, Precision precision) {
  const WholeGraph view(graph, sizes, Layout::channels_first);
  std::vector<bool> seen(view.values(), false);
  double bytes = 0;
  for (const Kernel& kernel : kernels_of(view)) {
    for (const PlanValue value : kernel.read) {
      if (value == no_plan_value || !view.is_weight(value) || seen[place(value)]) continue;
      seen[place(value)] = true;
      const ElementType element = view.element(value);
      const double share = stored(element, precision) == element ? 1.0 : 0.5;
      bytes += bytes_of(view, value) * share;
    }
  }
  return bytes;
}

bool stay_in_cache(double weight_bytes) { return weight_bytes <= h200::resident_share * h200::cache_bytes; }

}  // namespace taso::cost
