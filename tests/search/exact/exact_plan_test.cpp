// Kernels that are chosen exactly, compared with all choices.
#include "search/exact/exact_plan.h"

#include "cost/pricing/call.h"
#include "cost/pricing/roofline.h"
#include "search/exact/integer_program.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"

namespace taso::test {
namespace {

/// Prices without any order, which depend on everything that a measured price may depend on.
class AnyPrices : public cost::KernelPrices {
 public:
  cost::Cost price(const cost::GraphView& view, const cost::Kernel& kernel) const override {
    if (!cost::can_be_called(view, kernel)) return 1000;
    const std::string text = cost::text_of(cost::call_of(view, kernel, cost::Precision::tf32).call);
    return static_cast<cost::Cost>(1000 * (1 + std::hash<std::string>{}(text) % 20));
  }
};

cost::Cost total(cost::WholeGraph& view, const cost::KernelPrices& prices, const std::vector<bool>& cuts) {
  view.set_cuts(cuts);
  return cost::plan(view, prices).cost;
}

/// The values between operators at run time, where cutting changes which operators share a kernel and nothing else.
std::vector<std::size_t> values_to_cut(const cost::WholeGraph& view) {
  std::vector<std::size_t> values;
  for (std::uint32_t i = 0; i < view.values(); ++i) {
    const cost::PlanValue value{i};
    const cost::PlanNode producer = view.producer(value);
    if (view.is_free(producer) || view.op(producer) == nullptr || view.is_output(value)) continue;
    const auto role = cost::role_of(view, producer);
    if (role != cost::Role::element_wise && role != cost::Role::convolution && role != cost::Role::matmul &&
        role != cost::Role::rows)
      continue;
    bool joins = view.users(value) > 0;
    for (std::size_t j = 0; j < view.users(value); ++j) {
      const auto other = cost::role_of(view, view.user(value, j));
      joins = joins && (other == cost::Role::element_wise || other == cost::Role::rows || other == cost::Role::matmul ||
                        other == cost::Role::transpose);
    }
    if (joins) values.push_back(i);
  }
  return values;
}

void check_against_all_cuts(const Graph& graph, const cost::KernelPrices& prices, std::size_t& improved) {
  for (const cost::Layout layout : cost::layouts) {
    cost::WholeGraph view(graph, {}, layout);
    const std::vector<std::size_t> values = values_to_cut(view);
    if (values.size() > 9) continue;
    const search::ExactPlan exact = search::exact_plan(view, prices);
    REQUIRE(exact.too_large == 0);
    cost::Cost least = cost::plan(view, prices).cost;
    CHECK(exact.given == least);
    for (std::size_t set = 1; set < std::size_t{1} << values.size(); ++set) {
      std::vector<bool> cuts(view.values(), false);
      for (std::size_t i = 0; i < values.size(); ++i) cuts[values[i]] = (set >> i & 1) != 0;
      least = std::min(least, total(view, prices, cuts));
    }
    CHECK(exact.best == least);
    CHECK(exact.bound <= least);
    CHECK(exact.bound >= least - 1 - least / 1'000'000);
    CHECK(total(view, prices, exact.cuts) == exact.best);
    improved += exact.best < exact.given ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("no choice of kernels is cheaper than the exact one") {
  if (!search::has_cbc()) return;
  std::size_t improved = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Graph graph = random_plan_graph(random, static_cast<std::int64_t>(1 + seed % 2), 4 + seed % 9);
    check_against_all_cuts(graph, AnyPrices(), improved);
    check_against_all_cuts(graph, cost::Roofline(), improved);
  }
  CHECK(improved > 20);
}

TEST_CASE("an integer program tells its best solution, or that there is none") {
  search::IntegerProgram program;
  const auto a = program.add(3), b = program.add(2), c = program.add(4);
  program.add_row({{a, 1}, {b, 1}}, 1);
  program.add_row({{b, 1}, {c, 1}}, 1);
  program.add_row({{a, 1}, {c, 1}}, 1);
  if (!search::has_cbc()) {
    CHECK_THROWS_WITH(program.solve(100), std::string(search::no_cbc));
    return;
  }
  const auto solution = program.solve(100);
  CHECK(solution.end == search::IntegerProgram::Solution::End::solved);
  CHECK(solution.values == std::vector<double>{1, 1, 0});
  CHECK(solution.bound <= 5);
  CHECK(solution.bound > 4.99);
  program.add_row({{a, 1}, {b, 1}, {c, 1}}, 0, 1);
  CHECK(program.solve(100).end == search::IntegerProgram::Solution::End::impossible);
}

}  // namespace taso::test
