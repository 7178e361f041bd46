// The e-graph: congruence, explanations, and what properties make of it.
#include "rules/egraph.h"

#include "rules/assignment.h"
#include "rules/rule_text.h"
#include "rules/saturation.h"
#include "tests/catch.h"

using namespace taso;

namespace {

class Small {
 public:
  EGraph graph;
  NumberId two = graph.numbers.intern({2, 2, 2, 2, 2, 2}, 2);

  TermId input(std::uint32_t place) { return graph.add_input(place, {two, two}); }
  TermId apply(std::string_view op, std::vector<TermId> operands) {
    EGraphTerm term{static_cast<std::uint32_t>(*kind_named(op)), 0, graph.intern_fields({}), std::move(operands)};
    return graph.add(std::move(term), {two, two});
  }
};

}  // namespace

TEST_CASE("equal operands make equal terms, and the explanation names what made them equal") {
  Small small;
  const TermId x = small.input(0), y = small.input(1), z = small.input(2);
  const TermId fx = small.apply("relu", {x}), fy = small.apply("relu", {y}), fz = small.apply("relu", {z});
  const TermId deep_x = small.apply("add", {fx, z}), deep_z = small.apply("add", {fz, z});
  CHECK_FALSE(small.graph.equal(fx, fy));
  small.graph.merge(x, y, 7);
  small.graph.rebuild();
  CHECK(small.graph.equal(fx, fy));
  CHECK_FALSE(small.graph.equal(deep_x, deep_z));
  small.graph.merge(y, z, 9);
  small.graph.rebuild();
  CHECK(small.graph.equal(deep_x, deep_z));
  CHECK(small.graph.explain(fx, fy) == std::vector<EGraph::Reason>{7});
  CHECK(small.graph.explain(deep_x, deep_z) == std::vector<EGraph::Reason>{7, 9});
  CHECK(small.graph.explain(fx, fx).empty());
}

TEST_CASE("a term added later joins the class of its equals") {
  Small small;
  const TermId x = small.input(0), y = small.input(1);
  const TermId fx = small.apply("relu", {x});
  small.graph.merge(x, y, 0);
  small.graph.rebuild();
  const TermId fy = small.apply("relu", {y});
  CHECK(small.graph.equal(fx, fy));
  CHECK(small.graph.explain(fx, fy) == std::vector<EGraph::Reason>{0});
}

TEST_CASE("numbers are one if they agree in all models") {
  Numbers numbers;
  const Dim n = Dim::symbol("n");
  const NumberId a = numbers.intern({1, 2, 3, 4, 5, 6}, n);
  CHECK(numbers.intern({1, 2, 3, 4, 5, 6}, n + 0) == a);
  CHECK(numbers.intern({2, 2, 3, 4, 5, 6}, n + 1) != a);
  CHECK(numbers.meaning(a) == n);
}

TEST_CASE("properties make terms equal only where their conditions hold") {
  const Source source("<test>", R"(taso rules 1

axiom concat-filters
  conv(x, concat[axis=0](w, v)) = concat[axis=1](conv(x, w), conv(x, v))
)");
  const Properties properties(parse_rules(source).rules());
  const auto reached = [&](std::string_view text) {
    const Rule rule = parse_rule(text);
    for (const Instance& instance : instances(rule)) {
      const auto assignments = AssignmentSampler(instance).samples(sample_count, 1, 19);
      REQUIRE(assignments.size() == sample_count);
      ModelValues models;
      for (std::size_t k = 0; k < sample_count; ++k) models[k] = assignments[k].unknowns;
      EGraph graph;
      const auto terms = seed(graph, instance, models);
      REQUIRE(terms);
      const std::pair<TermId, TermId> goal{(*terms)[instance.source[0].first][instance.source[0].second],
                                           (*terms)[instance.target[0].first][instance.target[0].second]};
      const Saturation saturation = saturate(graph, properties, std::span(&goal, 1));
      if (saturation.end != Saturation::End::goal) return false;
      CHECK(saturation.steps.size() >= 1);
    }
    return true;
  };
  CHECK(reached("candidate a\n  conv(x, concat[axis=0](w, v)) => concat[axis=1](conv(x, w), conv(x, v))\n"));
  // Two groups: the property speaks of one.
  CHECK_FALSE(
      reached("candidate b\n  conv[groups=2](x, concat[axis=0](w, v)) => "
              "concat[axis=1](conv[groups=2](x, w), conv[groups=2](x, v))\n"));
  CHECK_FALSE(reached("candidate c\n  conv(x, concat[axis=0](w, v)) => concat[axis=1](conv(x, v), conv(x, w))\n"));
}
