// The sweep over operators: its table, what rules make of an operator, and what is measured.
#include <unistd.h>

#include <filesystem>
#include <set>

#include "cost/pricing/roofline.h"
#include "rules/language/rule_text.h"
#include "runtime/gpu/launch.h"
#include "tests/catch.h"
#include "tests/cli/opt/no_gpu.h"
#include "tools/sweep/trials.h"

namespace taso::test {

using namespace sweep;

namespace {

// Dilation 2 as a batch of two, and the same with the halves exchanged, which is wrong.
constexpr const char* dilation_to_batch = R"(
  conv[pads=[2, 2], dilations=[2], groups=g](x, w)
    => reshape[shape=[dim(x, 0), dim(w, 0), dim(x, 2)]](transpose[permutation=[0, 2, 3, 1]](
      reshape[shape=[dim(x, 0), 2, dim(w, 0), dim(x, 2) / 2]](
        conv[pads=[1, 1], groups=g](
          reshape[shape=[dim(x, 0) * 2, dim(x, 1), dim(x, 2) / 2]](
            transpose[permutation=[0, 3, 1, 2]](
              reshape[shape=[dim(x, 0), dim(x, 1), dim(x, 2) / 2, 2]](x))), w))))
  where dim(w, 2) = 3, divides(2, dim(x, 2))
)";

std::vector<RuleGroup> one_rule(const std::string& text) {
  std::vector<RuleGroup> groups;
  groups.emplace_back(std::vector{rules::parse_rule("candidate a" + text)});
  return groups;
}

SweepOperator named(const std::string& name) {
  for (const SweepOperator& one : sweep_operators())
    if (one.name() == name) return one;
  throw InputError("there is no operator " + name);
}

/// Dilated convolutions take long, everything else takes `others`.
class SlowWithDilation : public NoGpu {
 public:
  SlowWithDilation(std::vector<std::string>& measured, double others) : NoGpu(measured, others) {}
  gpu::Measurement measure(const cost::Call& call) override {
    gpu::Measurement found = NoGpu::measure(call);
    if (cost::text_of(call).find("dilations=[2]") == std::string::npos) return found;
    for (double* const figure :
         {&found.nanoseconds, &found.warm_nanoseconds, &found.again_nanoseconds, &found.stranger_nanoseconds})
      *figure = 100'000;
    return found;
  }
};

/// Prices without any record, in a file that is never written unless something is measured.
struct Prices {
  explicit Prices(double others)
      : file(std::filesystem::temp_directory_path() / ("sweep." + std::to_string(getpid()) + ".prices")),
        pricing({true, file, cost::Precision::tf32, false}, std::make_unique<SlowWithDilation>(measured, others),
                std::make_unique<pricing::Watcher>()) {}
  ~Prices() { std::filesystem::remove(file); }
  std::vector<std::string> measured;
  std::filesystem::path file;
  pricing::Pricing pricing;
};

constexpr double any_slack = 1000;

}  // namespace

TEST_CASE("the sweep has hundreds of different operators of all kinds") {
  const std::vector<SweepOperator> all = sweep_operators();
  CHECK(all.size() >= 330);
  std::set<std::string> names;
  std::set<std::pair<SweepOperator::Kind, std::size_t>> kinds;
  for (const SweepOperator& one : all) {
    INFO(one.name());
    CHECK(names.insert(one.name()).second);
    kinds.emplace(one.kind, one.kernel.size());
    CHECK(one.graph().outputs.size() == 1);
    // The small form differs in sizes only, and leaves the same remainders.
    const SweepOperator small = one.small();
    CHECK(small.open_graph().outputs.size() == 1);
    CHECK(small.kernel == one.kernel);
    CHECK(small.strides == one.strides);
    CHECK(small.dilations == one.dilations);
    CHECK(small.pads == one.pads);
    CHECK((small.groups == 1) == (one.groups == 1));
    CHECK(count(small.x) <= 100'000);
    for (std::size_t axis = 2; axis < one.x.size() && one.has_images(); ++axis) {
      CHECK(small.x[axis] % 8 == one.x[axis] % 8);
      CHECK(small.x[axis] % one.dilations[axis - 2] == one.x[axis] % one.dilations[axis - 2]);
    }
  }
  CHECK(kinds.size() == 16);  // three ranks of windows of five kinds, and products
}

TEST_CASE("names of the sweep say what the operator is") {
  CHECK(named("conv2d 1x64x56x56 64 3x3 g2").groups == 2);
  CHECK(named("conv3d 16x3x16x112x112 64 3x7x7 s1x2x2").strides == Extents{1, 2, 2});
  CHECK(named("conv1d 1x32x4000 32 2 d16 causal").pads == Extents{16, 0});
  CHECK(named("max_pool2d 1x64x112x112 2x2 s2 valid").kind == SweepOperator::Kind::max_pool);
  CHECK(named("conv_transpose2d 16x512x8x8 256 4x4 s2").pads == Extents{1, 1, 1, 1});
  CHECK(named("conv_relu_conv2d 1x64x56x56 64 3x3").kind == SweepOperator::Kind::pair);
}

TEST_CASE("results of the sweep are compared with their sources") {
  const SweepOperator one = named("conv1d 1x64x128 64 3 d2");
  std::string wrong = dilation_to_batch;
  wrong.replace(wrong.find("[0, 2, 3, 1]"), 12, "[0, 2, 1, 3]");
  const auto free = [](const Graph&) { return cost::Cost{0}; };
  for (const auto& [text, verdict] : {std::pair{std::string(dilation_to_batch), Checker::Verdict::equal},
                                      std::pair{wrong, Checker::Verdict::different}}) {
    const std::vector<RuleGroup> groups = one_rule(text);
    const std::vector<SweepResult> results = results_of(one.graph(), groups, {}, free);
    REQUIRE(results.size() == 1);
    CHECK(results[0].rule_names() == "a");
    CHECK(Checker().check(one, results[0]) == verdict);
  }
  CHECK(results_of(named("conv1d 1x64x128 64 3").graph(), one_rule(dilation_to_batch), {}, free).empty());
}

TEST_CASE("the sweep applies rules twice, up to a limit") {
  const auto price = [](const Graph&) { return cost::Cost{0}; };
  const Graph graph = named("matmul 127x127 127x127").graph();
  const std::vector<RuleGroup> padded = one_rule(
      "\n  matmul(x, y) => slice[axis=1, begin=0, end=dim(y, 1)](matmul(x, pad[before=[0, 0], after=[0, 1]](y)))\n"
      "  where rank(x) = 2, rank(y) = 2\n");
  CHECK(results_of(graph, padded, {.most = 40, .longest = 1}, price).size() == 1);
  const auto twice = results_of(graph, padded, {}, price);
  REQUIRE(twice.size() == 2);
  CHECK(twice[1].rule_names() == "a + a");
  CHECK(results_of(graph, padded, {.most = 1, .longest = 2}, price).size() == 1);
}

TEST_CASE("the sweep measures a faster result completely") {
  const std::vector<RuleGroup> groups = one_rule(dilation_to_batch);
  Prices prices(1'000);
  std::vector<Contest> contests;
  contests.push_back(contest_of(named("conv1d 1x64x128 64 3 d2"), groups, {}, prices.pricing));
  CHECK(contests[0].best_result(true) == nullptr);
  CHECK(measure(contests, prices.pricing, any_slack));
  const Trial* const best = contests[0].best_result(true);
  REQUIRE(best != nullptr);
  CHECK(best->figures.total == best->figures.measured);
  CHECK(best->figures.total * 10 < contests[0].best_source().figures.total);
  const std::set<std::string> different(prices.measured.begin(), prices.measured.end());
  CHECK(different.size() == prices.measured.size());
}

TEST_CASE("the sweep leaves a result whose measured part is slower") {
  const std::vector<RuleGroup> groups = one_rule(dilation_to_batch);
  std::size_t all = 0;
  for (const double others : {1'000.0, 200'000.0}) {
    Prices prices(others);
    std::vector<Contest> contests;
    contests.push_back(contest_of(named("conv1d 1x64x128 64 3 d2"), groups, {}, prices.pricing));
    CHECK(measure(contests, prices.pricing, any_slack));
    if (others == 1'000) {
      all = prices.measured.size();
    } else {
      CHECK(prices.measured.size() < all);
      CHECK(contests[0].best_result(true) == nullptr);
    }
  }
}

TEST_CASE("small kernels beside a large one are corrections") {
  // A convolution in two parts: the last ten places are computed apart.
  const std::vector<RuleGroup> groups = one_rule(R"(
  conv[pads=[0, 0], strides=[1], dilations=[1]](x, w)
    => concat[axis=2](conv(slice[axis=2, begin=0, end=dim(x, 2) - 10](x), w),
                      conv(slice[axis=2, begin=dim(x, 2) - 12, end=dim(x, 2)](x), w))
  where dim(w, 2) = 3, dim(x, 2) >= 20
)");
  SweepOperator one = named("conv1d 1x64x128 64 3");
  one.pads = {0, 0};
  Prices prices(1'000);
  const Contest contest = contest_of(one, groups, {.most = 40, .longest = 1}, prices.pricing);
  REQUIRE(contest.results.size() == 1);
  const PlanFigures& figures = contest.best_of(0, false)->figures;
  using Part = KernelFigures::Part;
  CHECK(figures.share(Part::main) > 0);
  CHECK(figures.share(Part::correction) > 0);
  CHECK(figures.share(Part::main) + figures.share(Part::correction) + figures.share(Part::moving) == Approx(1));
  CHECK(contest.best_source().figures.share(Part::main) == Approx(1));
}

TEST_CASE("what cannot be faster is not measured") {
  Prices prices(1'000);
  std::vector<Contest> contests;
  const std::vector<RuleGroup> groups = one_rule(dilation_to_batch);
  contests.push_back(contest_of(named("conv1d 1x64x128 64 3"), groups, {}, prices.pricing));  // has no result
  CHECK(measure(contests, prices.pricing, any_slack));
  CHECK(prices.measured.empty());
  // Its result is predicted to be slower than the slack allows: one kernel in one or two layouts.
  contests.push_back(contest_of(named("conv1d 1x64x128 64 3 d2"), groups, {}, prices.pricing));
  CHECK(measure(contests, prices.pricing, 0.01));
  CHECK(prices.measured.size() == 1);
}

TEST_CASE("kernels of all operators can be lowered for a GPU") {
  for (const SweepOperator& one : sweep_operators()) {
    const Graph graph = one.graph();
    INFO(one.name());
    for (const cost::Layout layout : cost::layouts) {
      const InNetwork view(graph, layout, one.has_images());
      for (const cost::Plan::Step& step : cost::plan(view, cost::Roofline(cost::Precision::tf32)).steps)
        CHECK_FALSE(gpu::lowerings(cost::call_of(view, step.kernel, cost::Precision::tf32).call).empty());
    }
  }
}

TEST_CASE("the sweep says when its time is over") {
  const std::vector<RuleGroup> groups = one_rule(dilation_to_batch);
  Prices prices(1'000);
  prices.pricing.set_deadline(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  std::vector<Contest> contests;
  contests.push_back(contest_of(named("conv1d 1x64x128 64 3 d2"), groups, {}, prices.pricing));
  CHECK_FALSE(measure(contests, prices.pricing, any_slack));
  CHECK(prices.measured.empty());
}

}  // namespace taso::test
