// The e-graph: congruence, explanations, and saturation with properties.
#include "rules/egraph/egraph.h"

#include "rules/egraph/saturation.h"
#include "rules/instance/assignment.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace rules;

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

Properties properties_of(const char* axioms) {
  return Properties(parse_rules(Source("<test>", std::string("taso rules 1\n\n") + axioms)).rules());
}

/// Whether saturation makes both sides of a rule equal, at all of its ranks.
bool reached(const Properties& properties, std::string_view text) {
  const Rule rule = parse_rule(text);
  for (const Instance& instance : instances(rule)) {
    const auto assignments = AssignmentSampler(instance).samples(sample_count, 1, 19);
    REQUIRE_FALSE(assignments.empty());
    ModelValues models;
    for (std::size_t k = 0; k < sample_count; ++k) models[k] = assignments[k % assignments.size()].unknowns;
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
}

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
  rules::Numbers numbers;
  const Dim n = Dim::symbol("n");
  const NumberId a = numbers.intern({1, 2, 3, 4, 5, 6}, n);
  CHECK(numbers.intern({1, 2, 3, 4, 5, 6}, n + 0) == a);
  CHECK(numbers.intern({2, 2, 3, 4, 5, 6}, n + 1) != a);
  CHECK(numbers.meaning(a) == n);
}

TEST_CASE("properties make terms equal only where their conditions hold") {
  const Properties properties = properties_of(R"(axiom concat-filters
  conv(x, concat[axis=0](w, v)) = concat[axis=1](conv(x, w), conv(x, v))
)");
  CHECK(
      reached(properties, "candidate a\n  conv(x, concat[axis=0](w, v)) => concat[axis=1](conv(x, w), conv(x, v))\n"));
  // Two groups: the property covers one.
  CHECK_FALSE(reached(properties,
                      "candidate b\n  conv[groups=2](x, concat[axis=0](w, v)) => "
                      "concat[axis=1](conv[groups=2](x, w), conv[groups=2](x, v))\n"));
  CHECK_FALSE(
      reached(properties, "candidate c\n  conv(x, concat[axis=0](w, v)) => concat[axis=1](conv(x, v), conv(x, w))\n"));
}

TEST_CASE("if neither side of a property binds all names, both must exist") {
  const Properties properties = properties_of(R"(axiom sub-of-equals
  sub(x, x) = sub(y, y)
  where shape(x) = shape(y)

axiom stride-of-one-cell
  conv[strides=s](x, w) = conv[strides=t](x, w)
  where spatial(x) = spatial(w)
)");
  CHECK(reached(properties, "candidate a\n  sub(relu(x), relu(x)) => sub(x, x)\n"));
  CHECK(reached(properties,
                "candidate b\n  add(sub(y, y), sub(x, x)) => add(sub(x, x), sub(x, x))\n  where shape(x) = "
                "shape(y)\n"));
  CHECK(reached(properties,
                "candidate c\n  conv[strides=2](x, w) => conv[strides=3](x, w)\n  where spatial(x) = "
                "spatial(w)\n"));
  // Other shapes; not a difference of equals; another kernel; more than one cell.
  CHECK_FALSE(
      reached(properties, "candidate d\n  sub(reduce_sum[axes=[0]](x), reduce_sum[axes=[0]](x)) => sub(x, x)\n"));
  CHECK_FALSE(reached(properties, "candidate e\n  sub(relu(x), x) => sub(x, x)\n"));
  CHECK_FALSE(reached(properties,
                      "candidate f\n  conv[strides=2](x, add(w, v)) => conv[strides=3](x, add(v, w))\n"
                      "  where spatial(x) = spatial(w), shape(v) = shape(w)\n"));
  CHECK_FALSE(reached(properties,
                      "candidate g\n  conv[strides=2](x, w) => conv[strides=3](x, w)\n  where spatial(w) = "
                      "[1, 1]\n"));
}

TEST_CASE("a dimension that is 1 in all operands is stretched in none") {
  const Properties properties = properties_of(R"(axiom add-commutes
  add(x, y) = add(y, x)
  where broadcast(x, y)

axiom add-associates
  add(x, add(y, z)) = add(add(x, y), z)
  where broadcast(x, y, z)
)");
  CHECK(reached(properties,
                "candidate a\n  add(x, y) => add(y, x)\n  where shape(x) = [1, dim(x, 1)], shape(y) = shape(x)\n"));
  CHECK(reached(properties,
                "candidate b\n  add(x, add(y, z)) => add(z, add(x, y))\n"
                "  where spatial(x) = [1, 3], shape(y) = shape(x), shape(z) = shape(x)\n"));
  CHECK(reached(properties,
                "candidate c\n  add(x, add(y, z)) => add(z, add(y, x))\n  where shape(y) = [1, dim(x, 1), 1], "
                "shape(z) = [1, dim(x, 1), 1], rank(x) = 3\n"));
  CHECK_FALSE(reached(properties,
                      "candidate d\n  add(x, add(y, y)) => add(y, add(x, x))\n"
                      "  where shape(x) = [1, dim(x, 1)], shape(y) = shape(x)\n"));
}

}  // namespace taso::test
