// Chains and trees of thousands of operators become many small kernels; ordinary graphs do not change.
#include "cost/plan/cuts.h"

#include <algorithm>
#include <string>

#include "cost/plan/movement.h"
#include "cost/plan/plan.h"
#include "cost/pricing/roofline.h"
#include "ops/core/random.h"
#include "ops/text/graph_text.h"
#include "runtime/gpu/hazards.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cost;

namespace {

std::string header() { return "graph\n  input x0: float32[2, 4]\n"; }

Graph row(std::size_t length) {
  std::string text = header();
  for (std::size_t i = 0; i < length; ++i)
    text += "  x" + std::to_string(i + 1) + " = tanh(x" + std::to_string(i) + ")\n";
  return parse_graph(text + "  output x" + std::to_string(length) + "\n");
}

/// Sums of sums: a tree with this many leaves; each leaf is computed.
Graph tree(std::size_t leaves) {
  std::string text = header();
  std::vector<std::string> level;
  for (std::size_t i = 0; i < leaves; ++i) {
    text += "  input i" + std::to_string(i) + ": float32[2, 4]\n";
    level.push_back("r" + std::to_string(i));
  }
  for (std::size_t i = 0; i < leaves; ++i) text += "  r" + std::to_string(i) + " = tanh(i" + std::to_string(i) + ")\n";
  for (std::size_t next = 0; level.size() > 1;) {
    std::vector<std::string> above;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      above.push_back("s" + std::to_string(next++));
      text += "  " + above.back() + " = add(" + level[i] + ", " + level[i + 1] + ")\n";
    }
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = above;
  }
  return parse_graph(text + "  output " + level[0] + "\n");
}

Graph wide_concat(std::size_t operands) {
  std::string text = header();
  for (std::size_t i = 1; i < operands; ++i) text += "  input i" + std::to_string(i) + ": float32[2, 4]\n";
  for (std::size_t i = 1; i < operands; ++i)
    text +=
        "  x" + std::to_string(i) + " = concat[axis=0](x" + std::to_string(i - 1) + ", i" + std::to_string(i) + ")\n";
  return parse_graph(text + "  output x" + std::to_string(operands - 1) + "\n");
}

Graph wide_split(std::size_t results) {
  std::string text = "graph\n  input x0: float32[" + std::to_string(2 * results) + ", 4]\n";
  std::string outputs;
  for (std::size_t i = 0; i + 1 < results; ++i) {
    const std::string n = std::to_string(i);
    text += "  p" + n + ", x" + std::to_string(i + 1) + " = split[axis=0, at=2](x" + n + ")\n";
    text += "  y" + n + " = tanh(p" + n + ")\n";
    outputs += (i == 0 ? "" : ", ") + ("y" + n);
  }
  return parse_graph(text + "  output " + outputs + ", x" + std::to_string(results - 1) + "\n");
}

Graph transposes(std::size_t length) {
  std::string text = header();
  for (std::size_t i = 0; i < length; ++i)
    text += "  x" + std::to_string(i + 1) + " = transpose[permutation=[1, 0]](x" + std::to_string(i) + ")\n";
  return parse_graph(text + "  y = tanh(x" + std::to_string(length) + ")\n  output y\n");
}

/// The length of the longest chain of views of views.
std::size_t longest_row_of_views(const Graph& graph) {
  const WholeGraph view(graph);
  std::size_t longest = 0, row = 0;
  for (std::uint32_t i = 0; i < view.values(); ++i) {
    row = seen(view, PlanValue{i}) ? row + 1 : 0;
    longest = std::max(longest, row);
  }
  return longest;
}

std::size_t largest_kernel(const Graph& graph) {
  std::size_t most = 0;
  for (const Plan::Step& step : plan(WholeGraph(graph), Roofline()).steps)
    most = std::max(most, step.kernel.nodes.size());
  return most;
}

std::size_t kernels(const Graph& graph) { return plan(WholeGraph(graph), Roofline()).steps.size(); }

}  // namespace

TEST_CASE("kernels are uncut up to a length that no network has") {
  CHECK(WholeGraph(row(longest_uncut_kernel)).cuts().empty());
  CHECK(kernels(row(longest_uncut_kernel)) == 1);
  CHECK(kernels(tree(64)) == 1);
}

TEST_CASE("longer chains, trees, concats and splits are cut into parts") {
  for (const std::size_t size : {1000U, 4000U}) {
    CHECK(largest_kernel(row(size)) <= 2 * operators_of_part);
    CHECK(largest_kernel(tree(size)) <= 3 * operators_of_part);
    CHECK(largest_kernel(wide_concat(size)) <= 3 * operators_of_part);
    CHECK(largest_kernel(wide_split(size)) <= 3 * operators_of_part);
    CHECK(kernels(row(size)) <= size / operators_of_part + 1);
    CHECK(kernels(wide_concat(size)) <= size / operators_of_part + 1);
  }
}

TEST_CASE("a long chain of views is copied at intervals") {
  CHECK(longest_row_of_views(transposes(longest_uncut_kernel)) == longest_uncut_kernel);
  for (const std::size_t size : {1000U, 4000U}) {
    CHECK(longest_row_of_views(transposes(size)) <= 2 * operators_of_part);
    CHECK(kernels(transposes(size)) <= size / operators_of_part + 2);
  }
}

TEST_CASE("dependencies equal those from comparing all pairs of steps") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<gpu::DeviceSteps::Step> steps(1 + random.below(30));
    for (gpu::DeviceSteps::Step& step : steps) {
      const auto touch = [&](std::vector<gpu::Binding>& bindings, std::vector<Call::Operand>& operands) {
        for (std::size_t i = random.below(3); i-- > 0;) {
          const bool in_arena = random.chance(0.7);
          bindings.push_back({in_arena ? gpu::Binding::Place::arena : gpu::Binding::Place::output,
                              static_cast<std::uint32_t>(random.below(2)), 4 * random.between(0, 60)});
          const std::int64_t rows = random.between(0, 4), columns = random.between(1, 8);
          operands.push_back({ElementType::float32, {rows, columns}, {columns + random.between(0, 8), 1}, false});
        }
      };
      touch(step.read, step.call.read);
      touch(step.written, step.call.written);
    }
    const auto needs = gpu::needs_of(steps);
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      std::vector<std::uint32_t> expected;
      for (std::uint32_t k = 0; k < i; ++k) {
        bool waits = false;
        for (const gpu::MemoryAccess& a : gpu::accesses_of(steps[i]))
          for (const gpu::MemoryAccess& b : gpu::accesses_of(steps[k]))
            waits = waits || (a.place == b.place && a.index == b.index && (a.is_write || b.is_write) &&
                              gpu::may_overlap(a.what, b.what));
        if (waits) expected.push_back(k);
      }
      REQUIRE(needs[i] == expected);
    }
  }
}

}  // namespace taso::test
