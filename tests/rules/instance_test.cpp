// Rules become instances: ranks and axes chosen, equations solved, obligations separate.
#include "rules/instance/instance.h"

#include <algorithm>

#include "rules/instance/equations.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace rules;

namespace {

std::vector<Instance> of(std::string_view text) { return instances(parse_rule(text)); }

}  // namespace

TEST_CASE("a rule is tried at every rank and axis that fits") {
  CHECK(of("candidate a\n  relu(relu(x)) => relu(x)\n").size() == 4);
  CHECK(of("candidate a\n  relu(concat[axis=a](x, y)) => concat[axis=a](relu(x), relu(y))\n").size() == 1 + 2 + 3 + 4);
  CHECK(of("candidate a\n  transpose[permutation=p](x) => transpose[permutation=p](x)\n").size() == 1 + 2 + 6 + 24);
  CHECK(of("candidate a\n  conv(x, w) => conv(x, w)\n").size() == 2);
  CHECK(of("candidate a\n  conv[strides=[1, 2]](x, w) => conv[strides=[1, 2]](x, w)\n").size() == 1);
}

TEST_CASE("a list of a three-dimensional window raises the greatest rank") {
  for (const char* const attribute : {"strides=[1, 2, 2]", "dilations=[d, 1, 1]", "pads=[p, 1, 1, p, 1, 1]"}) {
    const std::string conv = "conv[" + std::string(attribute) + "](x, w)";
    const auto all = of("candidate a\n  " + conv + " => " + conv + "\n");
    INFO(attribute);
    REQUIRE(all.size() == 1);
    CHECK(all[0].choice.find("rank(x) = 5") != std::string::npos);
  }
  CHECK(of("candidate a\n  max_pool[kernel=[1, 2, 2]](x) => max_pool[kernel=[1, 2, 2]](x)\n").size() == 1);
  // Where nothing says so, ranks end at 4, as the record of proved rules assumes.
  for (const char* const text :
       {"conv[pads=p](x, w) => conv[pads=p](x, w)", "conv[pads=[1, 1]](x, w) => conv[pads=1](x, w)",
        "transpose[permutation=[0, 2, 1, 3, 4]](x) => transpose[permutation=[0, 2, 1, 3, 4]](x)"})
    CHECK(greatest_rank(parse_rule("candidate a\n  " + std::string(text) + "\n")) == 4);
}

TEST_CASE("a rule does not cover ranks at which its target never fits") {
  const auto all =
      of("candidate a\n  matmul(x, y), matmul(x, z) => "
         "split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].nodes[0].shapes[0].size() == 2);
  CHECK(all[0].obligations.empty());
}

TEST_CASE("equations are solved, so that equal dimensions are equal polynomials") {
  const auto all = of("candidate a\n  matmul(matmul(x, y), z) => matmul(x, matmul(y, z))\n");
  REQUIRE(all.size() == 3);
  const Instance& matrices = all[0];
  CHECK(matrices.unknowns.size() == 4);  // of six dimensions
  CHECK(matrices.hypotheses.empty());
  CHECK(matrices.obligations.empty());
  CHECK(matrices.shape(matrices.source[0]) == matrices.shape(matrices.target[0]));
}

TEST_CASE("a grouped convolution's channels and filters become multiples of its groups") {
  const auto all = of("candidate a\n  conv[groups=g](x, w) => conv[groups=g](x, w)\n");
  REQUIRE_FALSE(all.empty());
  const Instance& instance = all[0];
  const Shape &x = instance.nodes[0].shapes[0], &w = instance.nodes[1].shapes[0];
  const Dim g = Dim::symbol("g");
  CHECK(x[1] == g * w[1]);
  CHECK(exact_div(w[0], g).has_value());
  CHECK(std::none_of(instance.hypotheses.begin(), instance.hypotheses.end(),
                     [](const Requirement& r) { return r.kind == Requirement::Kind::divides; }));
}

TEST_CASE("requirements of the target are obligations, those of the source hypotheses") {
  const auto all =
      of("candidate a\n  slice[axis=0, begin=b, end=e](x) => "
         "slice[axis=0, begin=0, end=e - b](slice[axis=0, begin=b, end=dim(x, 0)](x))\n");
  REQUIRE_FALSE(all.empty());
  CHECK_FALSE(all[0].hypotheses.empty());
  const auto wrong = of("candidate a\n  matmul(x, y) => matmul(y, x)\n");
  REQUIRE_FALSE(wrong.empty());
  CHECK_FALSE(wrong[0].obligations.empty());
}

TEST_CASE("element-wise operands have equal shapes unless the rule says otherwise") {
  const auto equal = of("candidate a\n  add(x, y) => add(y, x)\n");
  REQUIRE(equal.size() == 4);
  for (const Instance& instance : equal) CHECK(instance.nodes[0].shapes[0] == instance.nodes[1].shapes[0]);

  const auto bias = of("candidate a\n  add(x, b) => add(b, x)\n  where shape(b) = [1, dim(x, 1), 1, 1]\n");
  REQUIRE(bias.size() == 1);
  CHECK(bias[0].nodes[1].shapes[0][0] == Dim(1));
  CHECK(bias[0].nodes[1].shapes[0][1] == bias[0].nodes[0].shapes[0][1]);

  // Broadcasting: at rank 1 equal, left 1, right 1.
  const auto broadcast =
      of("candidate a\n  add(x, y) => add(y, x)\n  where broadcast(x, y), rank(x) = 1, rank(y) = 1\n");
  CHECK(broadcast.size() == 3);
}

TEST_CASE("same padding distinguishes cases") {
  const auto all =
      of("candidate a\n  conv[strides=s, pads=same(spatial(x), spatial(w), s)](x, w) => "
         "conv[strides=s, pads=same(spatial(x), spatial(w), s)](x, w)\n  where rank(x) = 3\n");
  CHECK(all.size() == 2);  // padded or, for strides beyond the kernel, not
  const auto one =
      of("candidate a\n  conv[pads=same(spatial(x), spatial(w), 1)](x, w) => "
         "conv[pads=same(spatial(x), spatial(w), 1)](x, w)\n  where rank(x) = 3\n");
  REQUIRE(one.size() == 1);
  CHECK(one[0].shape(one[0].source[0])[2] == one[0].nodes[0].shapes[0][2]);
}

TEST_CASE("meaningless rules are refused") {
  CHECK_THROWS_AS(of("candidate a\n  conv[strides=s, groups=s](x, w) => conv[strides=s, groups=s](x, w)\n"),
                  InputError);
  CHECK_THROWS_AS(of("candidate a\n  transpose(x) => transpose(x)\n"), InputError);
}

TEST_CASE("a dimension that equals a number is that number, on either side") {
  for (const bool turned : {false, true}) {
    Equations equations(false);
    const Dim x = equations.add_unknown("x", 1), one = 1;
    REQUIRE(equations.assume({Requirement::Kind::equal, turned ? one : x, turned ? x : one}));
    CHECK(equations.reduce(x) == one);
    CHECK_FALSE(equations.assume({Requirement::Kind::equal, turned ? Dim(2) : x, turned ? x : Dim(2)}));
  }
}

}  // namespace taso::test
