// Kernels for the calls in plans of random graphs.
#include <set>

#include "cost/plan/plan.h"
#include "cost/pricing/roofline.h"
#include "ops/core/error.h"
#include "runtime/gpu/kernels/source.h"
#include "tests/catch.h"
#include "tests/cost/corrected_graph.h"
#include "tests/cost/random_plan_graph.h"
#include "tests/ops/random_graph.h"
#include "tests/runtime/gpu/source_check.h"

namespace taso::test {

using namespace gpu;

namespace {

/// The calls with a kernel of our own, each once.
class Calls {
 public:
  void take(const Graph& graph, cost::Precision precision) {
    for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
      const cost::WholeGraph view(graph, {}, layout);
      const cost::Plan laid = cost::plan(view, cost::Roofline());
      for (const cost::Plan::Step& step : laid.steps) {
        if (!cost::can_be_called(view, step.kernel)) continue;
        take(cost::call_of(view, step.kernel, precision).call);
      }
    }
  }
  const std::vector<CheckedCall>& calls() const { return calls_; }

 private:
  void take(const cost::Call& call) {
    for (const cost::Call::Operand& operand : call.written)
      if (count(operand.extents) == 0) return;
    for (const Lowering& way : lowerings(call)) {
      const auto* launch = way.launches.size() == 1 ? std::get_if<SourceLaunch>(&way.launches[0]) : nullptr;
      if (launch == nullptr || !texts_.insert(cost::text_of(call)).second) continue;
      calls_.push_back({call, {}, *launch});
    }
  }
  std::set<std::string> texts_;
  std::vector<CheckedCall> calls_;
};

}  // namespace

TEST_CASE("kernels for the calls of random plans compute what they mean") {
  Calls calls;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    calls.take(random_plan_graph(random, 1 + static_cast<std::int64_t>(seed % 2), 4 + seed % 30),
               seed % 3 == 0 ? cost::Precision::fp16 : cost::Precision::fp32);
  }
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    RandomGraphOptions options;
    options.nodes = 4 + seed % 12;
    options.most_elements = 2000;
    calls.take(RandomGraph(seed, options).make(), seed % 4 == 0 ? cost::Precision::bf16 : cost::Precision::fp32);
  }
  for (const std::int64_t batch : {1, 2})
    calls.take(corrected_graph(batch, Corrected::both_axes), cost::Precision::fp32);
  CHECK(calls.calls().size() > 40);
  check_kernels(calls.calls());
}

}  // namespace taso::test
