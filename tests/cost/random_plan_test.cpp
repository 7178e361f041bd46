// Properties of plans on random graphs.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "cost/plan/plan.h"
#include "cost/pricing/call.h"
#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

using namespace cost;

namespace {

/// Prices that depend on everything that a measured price may depend on, including the strides of operands.
class DetailedPrices : public KernelPrices {
 public:
  Cost price(const GraphView& view, const Kernel& kernel) const override {
    if (!can_be_called(view, kernel)) return 1;
    return static_cast<Cost>(std::hash<std::string>{}(cost::text_of(call_of(view, kernel, Precision::tf32).call)) %
                             1'000'000);
  }
};

Cost sum_over_nodes(const GraphView& view, std::size_t nodes, const KernelPrices& prices = Roofline()) {
  const Fusion fusion(view);
  Cost sum = 0;
  for (std::uint32_t i = 0; i < nodes; ++i) sum += fusion.price(PlanNode{i}, prices);
  return sum;
}

Cost sum_over(const GraphView& view, const std::set<PlanNode>& nodes, const KernelPrices& prices) {
  const Fusion fusion(view);
  Cost sum = 0;
  for (const PlanNode node : nodes) sum += fusion.price(node, prices);
  return sum;
}

/// Checks that every value is written before it is read, and that no kernel overwrites a value that is still needed.
void check_plan(const WholeGraph& view, const Plan& laid) {
  std::vector<std::size_t> place_of(view.values(), laid.places.size());
  for (std::size_t i = 0; i < laid.places.size(); ++i) place_of[cost::place(laid.places[i].value)] = i;
  for (const Buffer& buffer : laid.buffers) CHECK(buffer.offset + buffer.size <= laid.arena_bytes);
  // Simulates a run in which every byte records the last write. A value is intact if its bytes have not changed since
  // it was complete. Views and parts are checked through the bytes that they show.
  std::vector<std::int32_t> memory(static_cast<std::size_t>(laid.arena_bytes), -1);
  const auto bytes_from = [&](std::size_t index, std::int64_t offset, std::int64_t size, const Extents& extents,
                              const Strides& strides) {
    const Buffer& buffer = laid.buffers[index];
    std::vector<std::int64_t> begins{offset};
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      std::vector<std::int64_t> more;
      for (const std::int64_t begin : begins)
        for (std::int64_t i = 0; i < extents[axis]; ++i) more.push_back(begin + i * strides[axis] * size);
      begins = std::move(more);
    }
    std::vector<std::size_t> result;
    for (const std::int64_t begin : begins) {
      REQUIRE(begin >= 0);
      REQUIRE(begin + size <= buffer.size);
      for (std::int64_t i = 0; i < size; ++i) result.push_back(static_cast<std::size_t>(buffer.offset + begin + i));
    }
    return result;
  };
  // The bytes of a value, with any strides.
  const auto bytes_at = [&](const Plan::Place& found) {
    if (view.extents(found.value) == nullptr) return std::vector<std::size_t>();
    return bytes_from(found.buffer, found.offset, static_cast<std::int64_t>(size_of(view.element(found.value))),
                      *view.extents(found.value), found.strides);
  };
  const auto bytes = [&](PlanValue value) { return bytes_at(laid.places[place_of[cost::place(value)]]); };
  const auto content_at = [&](const Plan::Place& found) {
    std::vector<std::int32_t> result;
    for (const std::size_t at : bytes_at(found)) result.push_back(memory[at]);
    return result;
  };
  const auto content = [&](PlanValue value) { return content_at(laid.places[place_of[cost::place(value)]]); };
  // Copies in the other layout, and their content.
  std::map<PlanValue, std::pair<const Plan::Place*, std::vector<std::int32_t>>> copies;
  for (const Plan::Place& copy : laid.converted) copies[copy.value] = {&copy, {}};
  const auto check_copy = [&](PlanValue value) {
    REQUIRE(copies.contains(value));
    REQUIRE(!copies[value].second.empty());
    CHECK(copies[value].second == content_at(*copies[value].first));
  };
  const auto is_held = [&](PlanValue value) { return place_of[cost::place(value)] < laid.places.size(); };
  // The bytes of complete values, when they were written.
  std::vector<std::vector<std::int32_t>> contents(view.values());
  std::vector<bool> computed(view.values(), false);
  for (std::uint32_t i = 0; i < view.values(); ++i)
    if (view.is_free(view.producer(PlanValue{i}))) computed[i] = true;
  // A value without a kernel is complete as soon as its operands are.
  std::vector<bool> taken(view.nodes(), false);
  for (const Plan::Step& step : laid.steps)
    for (const PlanNode node : step.kernel.nodes) taken[cost::place(node)] = true;
  const auto complete = [&] {
    for (std::uint32_t i = 0; i < view.nodes(); ++i) {
      const PlanNode node{i};
      if (view.is_free(node)) continue;
      bool ready = true;
      for (std::size_t j = 0; j < view.operands(node); ++j)
        ready = ready && (view.operand(node, j) == no_plan_value || computed[cost::place(view.operand(node, j))]);
      for (std::size_t j = 0; j < view.results(node) && ready; ++j) {
        const PlanValue value = view.result(node, j);
        // A split may copy some of its results, while others are views.
        if (computed[cost::place(value)] || (taken[i] && !seen(view, value))) continue;
        computed[cost::place(value)] = true;
        if (!is_held(value)) continue;
        contents[cost::place(value)] = content(value);
      }
    }
  };
  const auto check_whole = [&](PlanValue value) {
    REQUIRE(computed[cost::place(value)]);
    if (!is_held(value)) return;
    CHECK(contents[cost::place(value)] == content(value));
  };
  complete();
  std::int32_t writes = 0;
  const auto check_read = [&](const Kernel& kernel) {
    for (const PlanValue value : kernel.read)
      for (const PlanNode node : kernel.nodes)
        for (std::size_t i = 0; i < view.operands(node); ++i) {
          if (view.operand(node, i) != value) continue;
          if (view.is_weight(value) || view.extents(value) == nullptr ||
              reads(view, node, value, strides_in_memory(view, value)))
            check_whole(value);
          else
            check_copy(value);
        }
  };
  // Writes what a concat copies; no two pieces overlap.
  const auto write_pieces = [&](const Kernel& kernel, std::int32_t by) {
    const Plan::Place& whole = laid.places[place_of[cost::place(kernel.written[0])]];
    for (const Call::Piece& piece : call_of(view, kernel, Precision::fp32).call.pieces) {
      const auto size = static_cast<std::int64_t>(size_of(view.element(whole.value)));
      for (const std::size_t at :
           bytes_from(whole.buffer, whole.offset + piece.to_offset * size, size, piece.to_extents, piece.to_strides)) {
        REQUIRE(memory[at] != by);
        memory[at] = by;
      }
    }
  };
  for (const Plan::Step& step : laid.steps) {
    if (step.kernel.nodes.empty()) {  // a conversion
      const PlanValue value = step.kernel.read[0];
      check_whole(value);
      REQUIRE(copies.contains(value));
      ++writes;
      for (const std::size_t at : bytes_at(*copies[value].first)) memory[at] = writes;
      copies[value].second = content_at(*copies[value].first);
      check_whole(value);
      continue;
    }
    check_read(step.kernel);
    for (const PlanValue value : step.kernel.written) {
      REQUIRE(is_held(value));
      ++writes;
      // A concat does not write operands that already lie in place.
      const bool joins =
          std::holds_alternative<op::Concat>(view.op(step.kernel.main) ? *view.op(step.kernel.main) : Operator());
      if (joins) write_pieces(step.kernel, writes);
      if (!joins)
        for (const std::size_t at : bytes(value)) memory[at] = writes;
      computed[cost::place(value)] = true;
      contents[cost::place(value)] = content(value);
    }
    check_read(step.kernel);  // nor is it overwritten while it is read
    complete();
  }
  for (std::uint32_t i = 0; i < view.values(); ++i)
    if (view.is_output(PlanValue{i})) {
      const PlanValue value{i};
      const bool is_as_wanted = !view.extents(value) || is_dense(*view.extents(value), strides_in_memory(view, value));
      if (is_as_wanted)
        check_whole(value);
      else
        check_copy(value);
    }
}

/// Checks that every operand of a concat lies in place, or is copied there.
void check_concats(const WholeGraph& view, const Plan& laid) {
  std::map<PlanValue, std::pair<std::size_t, std::int64_t>> places;
  for (const Plan::Place& value : laid.places) places[value.value] = {value.buffer, value.offset};
  std::map<PlanNode, const Kernel*> kernels;
  for (const Plan::Step& step : laid.steps)
    for (const PlanNode node : step.kernel.nodes) kernels[node] = &step.kernel;
  for (std::uint32_t i = 0; i < view.nodes(); ++i) {
    const PlanNode node{i};
    if (view.is_free(node) || !view.op(node) || !std::holds_alternative<op::Concat>(*view.op(node))) continue;
    const Kernel* kernel = kernels.contains(node) ? kernels[node] : nullptr;
    std::int64_t offset = 0;
    for (std::size_t j = 0; j < 2; ++j) {
      const PlanValue part = view.operand(node, j), whole = view.result(node, 0);
      const bool copied = kernel && std::count(kernel->read.begin(), kernel->read.end(), part) > 0;
      const bool joined = kernel && kernels.contains(view.producer(part)) && kernels[view.producer(part)] == kernel;
      // A correction of what others correct may be overwritten as a whole.
      const bool merged = kernel && root_of_concats(view, node) != kernel->main && !is_in_place(view, node, j);
      if (!copied && !joined && !merged) {
        REQUIRE(places.contains(part));
        CHECK(places[part] == std::pair(places[whole].first, places[whole].second + offset));
      }
      const auto axis = static_cast<std::size_t>(std::get<op::Concat>(*view.op(node)).axis);
      offset += (*view.extents(part))[axis] * strides_in_memory(view, whole)[axis] *
                static_cast<std::int64_t>(size_of(view.element(part)));
    }
  }
}

}  // namespace

TEST_CASE("a plan costs the sum of its node prices, and keeps every value while it is needed") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Graph graph = random_plan_graph(random, 1 + static_cast<std::int64_t>(seed % 2), 4 + seed % 40);
    INFO("seed " << seed);
    for (const Layout layout : {Layout::channels_first, Layout::channels_last, Layout::onnxruntime}) {
      const WholeGraph view(graph, {}, layout);
      const Plan laid = plan(view, Roofline());
      CHECK(laid.cost == sum_over_nodes(view, view.nodes()));
      CHECK(plan(graph, Roofline(), {{}, layout}).cost == laid.cost);
      if (layout != Layout::channels_last) CHECK(laid.converted.empty());
      if (layout == Layout::onnxruntime) {  // whose calls have no pieces, and which has its own memory
        for (const Plan::Step& step : laid.steps)
          for (const auto* values : {&step.kernel.read, &step.kernel.written})
            for (const PlanValue value : *values) CHECK(is_dense(*view.extents(value), strides_in_memory(view, value)));
        continue;
      }
      INFO(ops::text_of(graph) << "\n" << cost::text_of(laid, view));
      check_plan(view, laid);
      check_concats(view, laid);
    }
  }
}

TEST_CASE("plans of graphs over all operators") {
  RandomGraphOptions options;
  options.opaque = 0.05;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    options.nodes = 3 + seed % 20;
    const Graph graph = RandomGraph(seed, options).make();
    INFO("seed " << seed);
    const WholeGraph view(graph, {}, seed % 2 == 0 ? Layout::channels_first : Layout::channels_last);
    const Plan laid = plan(view, Roofline());
    CHECK(laid.cost == sum_over_nodes(view, view.nodes()));
    const bool is_known = std::all_of(graph.inputs.begin(), graph.inputs.end(), [](const Value& value) {
      return value.type().shape && is_static(value.shape());
    });
    if (is_known) check_plan(view, laid);
  }
}

TEST_CASE("after a change only nearby nodes have to be priced again") {
  std::size_t changes = 0, looked_at = 0, nodes = 0, layouts_changed = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const WholeGraph whole(random_plan_graph(random, 1 + static_cast<std::int64_t>(seed % 2), 30), {},
                           seed % 6 < 2   ? Layout::channels_first
                           : seed % 6 < 4 ? Layout::channels_last
                                          : Layout::onnxruntime);
    ChangingGraph view(whole);
    const DetailedPrices prices;
    Cost cost = sum_over_nodes(view, whole.nodes(), prices);
    for (int i = 0; i < 20; ++i) {
      Affected near;
      const PlanNode node{static_cast<std::uint32_t>(random.below(whole.nodes()))};
      const PlanValue value{static_cast<std::uint32_t>(random.below(whole.values()))};
      std::function<void()> change;
      std::function<void()> look;
      Fusion fusion(view);
      if (random.chance(0.2)) {
        if (view.is_weight(value) || whole.node(whole.producer(value)).as_input()) continue;
        look = [&] { fusion.affected(value, near); };
        change = [&] { view.set_output(value, !view.is_output(value)); };
      } else {
        // Exchanges an operand for an earlier value of the same type.
        if (view.is_free(node)) continue;
        const std::size_t operand = random.below(view.operands(node));
        if (whole.producer(value) >= node || view.is_weight(value) != view.is_weight(view.operand(node, operand)) ||
            view.element(value) != view.element(view.operand(node, operand)) ||
            *view.extents(value) != *view.extents(view.operand(node, operand)))
          continue;
        look = [&] { fusion.affected(node, near); };
        change = [&, operand] { view.set_operand(node, operand, value); };
      }
      look();
      std::vector<bool> was_image;
      for (std::size_t j = 0; j < whole.results(node); ++j) was_image.push_back(is_image(view, whole.result(node, j)));
      ChangingGraph before = view;
      change();
      fusion.forget();
      near.next_graph();
      look();
      for (std::size_t j = 0; j < whole.results(node); ++j) {
        const PlanValue result = whole.result(node, j);
        if (was_image[j] == is_image(view, result)) continue;
        near.next_graph();
        fusion.affected_by_layout(result, near);
        near.next_graph();
        Fusion(before).affected_by_layout(result, near);
        ++layouts_changed;
      }
      const std::set<PlanNode> both(near.nodes().begin(), near.nodes().end());
      cost += sum_over(view, both, prices) - sum_over(before, both, prices);
      INFO("seed " << seed << ", change " << i);
      REQUIRE(cost == sum_over_nodes(view, whole.nodes(), prices));
      ++changes;
      looked_at += both.size();
      nodes += whole.nodes();
    }
  }
  CHECK(changes > 1000);
  CHECK(layouts_changed > 20);
  CHECK(looked_at < nodes);
}

}  // namespace taso::test
