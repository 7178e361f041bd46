#include "rules/instance/assignment.h"

#include <set>

#include "rules/instance/concrete.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace rules;

namespace {

std::vector<Instance> instances_of(const std::string& rule) {
  auto all = instances(parse_rule("candidate tried\n  " + rule));
  REQUIRE_FALSE(all.empty());
  return all;
}

const std::vector<std::string>& rules_with_hypotheses() {
  static const std::vector<std::string> rules{
      "conv[strides=s, dilations=d, pads=p, groups=g](x, w) => conv[strides=s, dilations=d, pads=p, groups=g](x, w)",
      "conv[groups=g](conv[groups=h, strides=s](x, w), v) => conv[groups=g](conv[groups=h, strides=s](x, w), v)",
      "max_pool[kernel=k, strides=s, dilations=d, pads=p](x) => max_pool[kernel=k, strides=s, dilations=d, pads=p](x)",
      "reshape[shape=t](x) => reshape[shape=t](x)",
      "split[axis=a, at=n](slice[axis=a, begin=b, end=e](x)) => split[axis=a, at=n](slice[axis=a, begin=b, end=e](x))",
      "conv(x, enlarge[kernel=k](w)) => conv(x, enlarge[kernel=k](w))\n  where parity(k) = odd, divides(dim(x, 0), 12)",
      "relu(x) => relu(x)\n  where rank(x) = 2, dim(x, 0) * dim(x, 1) = 12, dim(x, 0) != dim(x, 1)",
      "conv[pads=same(spatial(x), spatial(w), s), strides=s](x, w) => x\n  where rank(x) = 3",
  };
  return rules;
}

}  // namespace

TEST_CASE("sampled assignments satisfy all hypotheses, and differ") {
  for (const std::string& rule : rules_with_hypotheses()) {
    CAPTURE(rule);
    std::size_t number = 0;
    for (const Instance& instance : instances_of(rule)) {
      if (++number > 40) break;
      CAPTURE(instance.choice);
      const AssignmentSampler sampler(instance);
      const Places places = places_of(instance);
      const auto assignments = sampler.samples(20, 3);
      REQUIRE_FALSE(assignments.empty());
      CHECK(std::set(assignments.begin(), assignments.end()).size() == assignments.size());
      if (instance.unknowns.size() > 4) CHECK(assignments.size() >= 10);
      for (const Assignment& assignment : assignments) {
        const auto binding = [&](std::string_view name) { return assignment.unknowns[places.find(name)->second]; };
        for (const Requirement& hypothesis : instance.hypotheses) {
          CAPTURE(rules::text_of(hypothesis));
          CHECK(holds(hypothesis, binding));
        }
        for (std::size_t i = 0; i < instance.unknowns.size(); ++i)
          CHECK(assignment.unknowns[i] >= instance.unknowns[i].least);
        CHECK(sampler.admits(assignment.unknowns));
        CHECK(assignment.reals.size() == instance.real_variables.size());
      }
    }
  }
}

TEST_CASE("sampling depends on the seed only") {
  const auto all = instances_of(rules_with_hypotheses()[0]);
  const AssignmentSampler sampler(all[0]);
  CHECK(sampler.samples(10, 1) == sampler.samples(10, 1));
  CHECK(sampler.samples(10, 1) != sampler.samples(10, 2));
}

TEST_CASE("unsatisfiable hypotheses end the search") {
  // Two squares are never in the ratio 2 : 1.
  const auto all = instances_of("relu(x) => x\n  where rank(x) = 2, dim(x, 0) * dim(x, 0) = 2 * dim(x, 1) * dim(x, 1)");
  const AssignmentSampler sampler(all[0]);
  CHECK(sampler.samples(10, 1).empty());
  CHECK_FALSE(sampler.admits(std::vector<std::int64_t>(all[0].unknowns.size(), 3)));
}

TEST_CASE("a concrete instance has the symbolic shapes at its numbers") {
  std::size_t seen = 0;
  for (const std::string& rule : rules_with_hypotheses()) {
    CAPTURE(rule);
    std::size_t number = 0;
    for (const Instance& instance : instances_of(rule)) {
      if (++number > 40) break;
      CAPTURE(instance.choice);
      const AssignmentSampler sampler(instance);
      const Concretizer concretizer(instance);
      const Places places = places_of(instance);
      for (const Assignment& assignment : sampler.samples(5, 7)) {
        const auto built = concretizer.at(assignment);
        if (const auto* misfit = std::get_if<Misfit>(&built)) {
          INFO(misfit->reason);
          CHECK(misfit->in_target);  // the hypotheses say that the source is well-formed
          CHECK(rule.find("same(") != std::string::npos);
          continue;
        }
        const auto& concrete = std::get<ConcreteInstance>(built);
        REQUIRE(concrete.nodes.size() == instance.nodes.size());
        const auto binding = [&](std::string_view name) { return assignment.unknowns[places.find(name)->second]; };
        for (std::size_t i = 0; i < instance.nodes.size(); ++i) {
          REQUIRE(concrete.nodes[i].shapes.size() == instance.nodes[i].shapes.size());
          for (std::size_t k = 0; k < instance.nodes[i].shapes.size(); ++k) {
            Shape expected;
            for (const Dim& dim : instance.nodes[i].shapes[k]) expected.push_back(dim.evaluate(binding));
            CHECK(concrete.nodes[i].shapes[k] == expected);
            ++seen;
          }
        }
      }
    }
  }
  CHECK(seen > 500);
}

}  // namespace taso::test
