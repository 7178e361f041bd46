// The text of a call has everything that the roofline needs to know about a kernel.
#include "tests/cost/recorded_kernel.h"

#include <algorithm>
#include <map>

#include "cost/plan/plan.h"
#include "cost/plan/repeated_heads.h"
#include "cost/pricing/call.h"
#include "cost/pricing/roofline.h"
#include "ops/core/error.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"

namespace taso::test {

using namespace cost;

TEST_CASE("a kernel can be reconstructed from the text of its call") {
  Random random(11);
  std::map<Kernel::Kind, int> met;
  for (int i = 0; i < 300; ++i) {
    const Graph graph = random_plan_graph(random, random.between(1, 2), 12);
    const Layout layout = random.chance(0.5) ? Layout::channels_first : Layout::channels_last;
    const WholeGraph view(graph, {}, layout);
    for (const Plan::Step& step : plan(view, Roofline()).steps) {
      const Kernel& kernel = step.kernel;
      if (!can_be_called(view, kernel)) continue;
      const std::string text = cost::text_of(call_of(view, kernel, Precision::tf32).call);
      // Where several steps became a gelu, the call has fewer operations than the kernel.
      if (text.find("gelu") != std::string::npos) continue;
      INFO(text);
      const Kernel found = kernel_of_call(text);
      const bool is_plain = kernel.kind == Kernel::Kind::opaque;
      const Kernel::Kind plain = text.starts_with("copy") ? Kernel::Kind::copy : Kernel::Kind::element_wise;  // Expand
      CHECK(found.kind == (is_plain ? plain : kernel.kind));
      CHECK(found.element == kernel.element);
      CHECK(found.batches == kernel.batches);
      CHECK(found.rows == kernel.rows);
      CHECK(found.columns == kernel.columns);
      CHECK(found.depth == kernel.depth);
      CHECK(found.first_depth == kernel.first_depth);
      CHECK(found.has_few_channels == kernel.has_few_channels);
      // The kernel counts a scale of keys for all heads; in the call, they are not repeated.
      const bool repeats = std::any_of(kernel.nodes.begin(), kernel.nodes.end(),
                                       [&](PlanNode node) { return !is_plain && is_expansion(view, node); });
      CHECK((repeats ? found.operations <= kernel.operations : found.operations == kernel.operations));
      CHECK(found.chain == kernel.chain);
      CHECK(found.weight_bytes == kernel.weight_bytes);
      CHECK(found.bytes == kernel.bytes);
      ++met[kernel.kind];
    }
  }
  CHECK(met.size() >= 7);
  CHECK(met[Kernel::Kind::attention] > 20);
  CHECK(met[Kernel::Kind::opaque] > 20);
}

TEST_CASE("a function can be reconstructed from the text of its call") {
  struct Node {
    PlainFunction function;
    std::vector<Extents> operands;
    Extents result;
  };
  const auto list = [](std::vector<std::int64_t> numbers) {
    return Array::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers);
  };
  PlainFunction cropped = plain("Pad"), summed = plain("ReduceSum"), normal = plain("InstanceNormalization");
  cropped.constants = {std::nullopt, list({-1, 0, 0, 2})};
  summed.constants = {std::nullopt, list({0})};
  const std::vector<Node> nodes{{plain("Elu"), {{4, 6}}, {4, 6}},
                                {plain("Max"), {{4, 6}, {6}, {4, 1}}, {4, 6}},
                                {cropped, {{4, 6}}, {3, 8}},
                                {summed, {{4, 6}}, {1, 6}},
                                {plain("LogSoftmax", -1), {{4, 6}}, {4, 6}},
                                {normal, {{2, 3, 8}, {3}, {3}}, {2, 3, 8}}};
  for (const Node& node : nodes) {
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    for (const Extents& extents : node.operands)
      graph.inputs.push_back(
          graph.pool->input(std::to_string(graph.inputs.size()), {ElementType::float32, shape_of(extents)}));
    std::vector<Value> operands = graph.inputs;
    if (node.function.constants.size() > 1)
      operands.push_back(graph.pool->constant("numbers", {ElementType::int64, shape_of({4})}));
    graph.outputs = {apply_plain(*graph.pool, node.function, {ElementType::float32, shape_of(node.result)}, operands)};
    const WholeGraph view(graph);
    const Plan laid = plan(view, Roofline());
    REQUIRE(laid.steps.size() == 1);
    const Kernel& kernel = laid.steps[0].kernel;
    INFO(node.function.name);
    REQUIRE(can_be_called(view, kernel));
    const Call call = call_of(view, kernel, Precision::tf32).call;
    INFO(cost::text_of(call));
    const Kernel found = kernel_of_call(cost::text_of(call));
    CHECK(found.kind == call.kind);
    CHECK(found.operations == kernel.operations);
    CHECK(found.chain == kernel.chain);
    CHECK(found.bytes == kernel.bytes);
  }
}

TEST_CASE("text that is not a call is refused") {
  CHECK_THROWS_AS(kernel_of_call(""), InputError);
  CHECK_THROWS_AS(kernel_of_call("convolution tf32: float32[1]"), InputError);
  CHECK_THROWS_AS(kernel_of_call("element-wise fp32: float32[4] -> float32[4]: relu(7)"), InputError);
  CHECK_THROWS_AS(kernel_of_call("element-wise fp32: float32[4] -> float32[4]:"), InputError);
}

}  // namespace taso::test
