// The operators' meaning as formulas: the same definition is used to compute and to prove.
#include <set>

#include "ops/graph/operator.h"
#include "tests/catch.h"
#include "tests/ops/examples.h"
#include "verifier/refutation/symbol.h"

namespace taso::test {

using namespace verifier;

namespace {

using T = ops::Tensor<Symbol>;

T unknowns(const std::string& name, Extents extents) {
  std::vector<Symbol> data;
  for (std::int64_t i = 0; i < count(extents); ++i) data.push_back(Symbol::variable(name + std::to_string(i)));
  return T(std::move(extents), std::move(data));
}

std::vector<T> all_of(const Operator& op, const std::vector<T>& operands) { return evaluate<Symbol>(op, operands); }
T apply(const Operator& op, const std::vector<T>& operands) { return all_of(op, operands)[0]; }

Verdict compare(const T& a, const T& b) {
  REQUIRE(a.extents == b.extents);
  std::vector<std::pair<Symbol, Symbol>> pairs;
  for (std::size_t i = 0; i < a.data.size(); ++i) pairs.emplace_back(a.data[i], b.data[i]);
  return prove_equal(pairs);
}

void proves(const T& a, const T& b) {
  const Verdict verdict = compare(a, b);
  INFO(verdict.reason);
  CHECK(verdict.kind == Verdict::proved);
}

void refutes(const T& a, const T& b) {
  const Verdict verdict = compare(a, b);
  INFO(verdict.reason);
  CHECK(verdict.kind == Verdict::refuted);
  CHECK_FALSE(verdict.reason.empty());
}

const Operator add = op::Add{}, mul = op::Mul{}, matmul = op::MatMul{}, relu = op::Relu{};
const Operator transpose = op::Transpose{.permutation = {1, 0}};
const op::Conv conv{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 0, 0, 1}};

}  // namespace

TEST_CASE("every operator has a meaning in Z3, and it agrees with numbers") {
  for (const Example& example : examples()) {
    CAPTURE(name_of(example.op));
    std::mt19937 left(3), right(3);
    const auto symbols =
        operands_of<Symbol>(example, left, [](std::int64_t v) { return Symbol::constant(static_cast<double>(v)); });
    const auto numbers = operands_of<double>(example, right, [](std::int64_t v) { return static_cast<double>(v); });
    const auto formulas = evaluate<Symbol>(example.op, symbols);
    const auto values = evaluate<double>(example.op, numbers);
    REQUIRE(formulas.size() == values.size());
    for (std::size_t o = 0; o < values.size(); ++o) {
      REQUIRE(formulas[o].extents == values[o].extents);
      if (example.exactness == Exactness::approximate) continue;
      std::vector<Symbol> expected;
      for (const double value : values[o].data) expected.push_back(Symbol::constant(value));
      proves(formulas[o], T(values[o].extents, std::move(expected)));
    }
  }
}

TEST_CASE("constants are exact rationals") {
  CHECK(Symbol::constant(0.5).text() == "(/ 1.0 2.0)");
  CHECK(Symbol::constant(-3).text() == "(- 3.0)");
  CHECK(Symbol::constant(0x1p70).text() == "1180591620717411303424.0");
  const T tenth({1}, Symbol::constant(0.1)), ten({1}, Symbol::constant(10)), one({1}, Symbol::constant(1));
  refutes(apply(mul, {tenth, ten}), one);  // the double 0.1 is not a tenth
  proves(apply(op::Div{}, {apply(mul, {tenth, ten}), ten}), tenth);
}

TEST_CASE("linear algebra") {
  const T a = unknowns("a", {2, 2}), b = unknowns("b", {2, 2}), c = unknowns("c", {2, 2});
  proves(apply(matmul, {a, apply(add, {b, c})}), apply(add, {apply(matmul, {a, b}), apply(matmul, {a, c})}));
  proves(apply(matmul, {apply(matmul, {a, b}), c}), apply(matmul, {a, apply(matmul, {b, c})}));
  proves(apply(transpose, {apply(matmul, {a, b})}), apply(matmul, {apply(transpose, {b}), apply(transpose, {a})}));
  proves(apply(transpose, {apply(transpose, {a})}), a);
  proves(apply(matmul, {a, apply(op::IdentityMatrix{.size = 2}, {})}), a);
  refutes(apply(matmul, {a, b}), apply(matmul, {b, a}));
  refutes(apply(transpose, {a}), a);
}

TEST_CASE("convolution is linear in the image and in the weights") {
  const T x = unknowns("x", {1, 2, 2, 2}), y = unknowns("y", {1, 2, 2, 2});
  const T v = unknowns("v", {2, 2, 2, 2}), w = unknowns("w", {2, 2, 2, 2});
  proves(apply(conv, {x, apply(add, {v, w})}), apply(add, {apply(conv, {x, v}), apply(conv, {x, w})}));
  proves(apply(conv, {apply(add, {x, y}), w}), apply(add, {apply(conv, {x, w}), apply(conv, {y, w})}));
  const op::Conv same{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}};
  proves(apply(same, {x, apply(op::IdentityKernel{.channels = 2, .kernel = {3, 3}}, {})}), x);
  // A 1x1 kernel in the middle of a 3x3 one, with pads to match.
  const op::Conv pointwise{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  const T u = unknowns("u", {2, 2, 1, 1});
  proves(apply(pointwise, {x, u}), apply(same, {x, apply(op::Enlarge{.kernel = {3, 3}}, {u})}));
  refutes(apply(conv, {x, v}), apply(conv, {x, w}));
}

TEST_CASE("relu is idempotent, and not linear") {
  const T x = unknowns("x", {2, 2}), y = unknowns("y", {2, 2});
  proves(apply(relu, {apply(relu, {x})}), apply(relu, {x}));
  proves(apply(op::Max{}, {x, y}), apply(op::Max{}, {y, x}));
  refutes(apply(relu, {apply(add, {x, y})}), apply(add, {apply(relu, {x}), apply(relu, {y})}));
}

TEST_CASE("a split undoes a concatenation") {
  const T a = unknowns("a", {2, 2}), b = unknowns("b", {2, 2});
  const auto parts = all_of(op::Split{.axis = 1, .at = 2}, {apply(op::Concat{.axis = 1}, {a, b})});
  proves(parts[0], a);
  proves(parts[1], b);
  refutes(all_of(op::Split{.axis = 0, .at = 2}, {apply(op::Concat{.axis = 0}, {b, a})})[0], a);
}

TEST_CASE("functions that are not polynomials are uninterpreted") {
  const T x = unknowns("x", {2}), y = unknowns("y", {2});
  proves(apply(op::Exp{}, {apply(add, {x, y})}), apply(op::Exp{}, {apply(add, {y, x})}));
  refutes(apply(op::Exp{}, {x}), apply(op::Tanh{}, {x}));
  proves(apply(op::Softmax{.axis = 0}, {x}), apply(op::Softmax{.axis = 0}, {x}));
}

TEST_CASE("quotients, where division by zero gives zero") {
  const T x = unknowns("x", {2}), y = unknowns("y", {2}), z = unknowns("z", {2});
  const Operator div = op::Div{};
  proves(apply(div, {apply(add, {x, y}), z}), apply(add, {apply(div, {x, z}), apply(div, {y, z})}));
  proves(apply(div, {apply(div, {x, y}), z}), apply(div, {x, apply(mul, {z, y})}));
  proves(apply(div, {x, apply(div, {y, z})}), apply(div, {apply(mul, {x, z}), y}));
  refutes(apply(mul, {apply(div, {x, y}), y}), x);
  const T square = apply(mul, {y, y});
  proves(apply(div, {apply(mul, {apply(div, {x, y}), y}), y}), apply(div, {x, y}));
  proves(apply(div, {y, square}), apply(div, {apply(op::Ones{.shape = {2}}, {}), y}));
  refutes(apply(div, {x, y}), apply(div, {y, x}));
  refutes(apply(div, {x, apply(add, {y, z})}), apply(add, {apply(div, {x, y}), apply(div, {x, z})}));
}

TEST_CASE("maxima and minima") {
  const T x = unknowns("x", {2}), y = unknowns("y", {2}), z = unknowns("z", {2});
  const Operator max = op::Max{}, min = op::Min{};
  proves(apply(max, {apply(max, {x, y}), z}), apply(max, {y, apply(max, {z, x})}));
  proves(apply(max, {apply(add, {x, z}), apply(add, {y, z})}), apply(add, {z, apply(max, {y, x})}));
  proves(apply(add, {apply(max, {x, y}), apply(min, {x, y})}), apply(add, {x, y}));
  proves(apply(max, {x, apply(min, {x, y})}), x);
  proves(apply(min, {x, apply(max, {y, z})}), apply(max, {apply(min, {x, y}), apply(min, {x, z})}));
  refutes(apply(max, {x, y}), apply(min, {x, y}));
  refutes(apply(max, {apply(mul, {x, z}), apply(mul, {y, z})}), apply(mul, {z, apply(max, {y, x})}));
  // Adding what is constant along the axis has no effect.
  const T matrix = unknowns("m", {2, 2}), shift = unknowns("s", {2, 1});
  proves(apply(op::Softmax{.axis = 1}, {apply(add, {matrix, shift})}), apply(op::Softmax{.axis = 1}, {matrix}));
  refutes(apply(op::Softmax{.axis = 0}, {apply(add, {matrix, shift})}), apply(op::Softmax{.axis = 0}, {matrix}));
}

TEST_CASE("a limit is not a refutation") {
  const T a = unknowns("a", {2, 2}), b = unknowns("b", {2, 2});
  const T left = apply(add, {apply(op::Max{}, {a, b}), apply(op::Min{}, {a, b})}), right = apply(add, {a, b});
  std::vector<std::pair<Symbol, Symbol>> pairs;
  for (std::size_t i = 0; i < left.data.size(); ++i) pairs.emplace_back(left.data[i], right.data[i]);
  CHECK(prove_equal(pairs, 1).kind == Verdict::unknown);
}

}  // namespace taso::test
