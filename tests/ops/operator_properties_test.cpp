// Properties of every operator, whatever it computes.
#include <cmath>
#include <set>

#include "ops/core/field.h"
#include "tests/catch.h"
#include "tests/ops/examples.h"

namespace taso::test {
namespace {

Shapes shapes_of_operands(const Example& example) {
  Shapes shapes;
  for (const Extents& extents : example.operands) shapes.push_back(shape_of(extents));
  return shapes;
}

template <class S, class Make>
std::vector<ops::Tensor<S>> run(const Example& example, Make&& make) {
  std::mt19937 random(7);
  const auto operands = operands_of<S>(example, random, make);
  return evaluate<S>(example.op, operands);
}

std::vector<ops::Tensor<double>> run_double(const Example& example) {
  return run<double>(example, [](std::int64_t value) { return static_cast<double>(value); });
}

}  // namespace

TEST_CASE("the examples cover every operator") {
  std::set<std::string_view> seen, all;
  for (const Example& example : examples()) seen.insert(name_of(example.op));
  for (const Operator& op : all_operators()) all.insert(name_of(op));
  CHECK(all.size() == 45);
  CHECK(seen == all);
}

TEST_CASE("an operator is found by its name and its fields can be set one by one") {
  for (const Example& example : examples()) {
    CAPTURE(name_of(example.op));
    auto copy = operator_named(name_of(example.op));
    REQUIRE(copy);
    for (const NamedField& field : fields_of(example.op)) CHECK(set_field(*copy, field.name, field.value));
    CHECK(*copy == example.op);
    CHECK(hash_of(*copy) == hash_of(example.op));
    CHECK_FALSE(set_field(*copy, "no such field", std::int64_t{1}));
  }
  CHECK_FALSE(operator_named("matmull"));
  Operator conv = op::Conv{};
  CHECK_FALSE(set_field(conv, "strides", 1.5));
  CHECK_FALSE(set_field(conv, "groups", std::vector<std::int64_t>{1}));
  Operator leaky = op::LeakyRelu{};
  CHECK(set_field(leaky, "alpha", std::int64_t{2}));
  CHECK(leaky == Operator(op::LeakyRelu{.alpha = 2}));
}

TEST_CASE("a changed field makes another operator") {
  for (const Example& example : examples())
    for (const NamedField& field : fields_of(example.op)) {
      CAPTURE(name_of(example.op), field.name);
      FieldValue other = field.value;
      std::visit(
          [](auto& value) {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, bool>)
              value = !value;
            else if constexpr (std::is_same_v<T, ElementType>)
              value = ElementType::int8;
            else if constexpr (std::is_same_v<T, double>)
              value = 17.5;
            else if constexpr (std::is_same_v<T, std::int64_t>)
              value += 1;
            else if constexpr (std::is_same_v<T, Dim>)
              value = value + 1;
            else
              value.push_back(1);
          },
          other);
      Operator changed = example.op;
      REQUIRE(set_field(changed, field.name, other));
      CHECK(changed != example.op);
      CHECK(hash_of(changed) != hash_of(example.op));
    }
}

TEST_CASE("results have the inferred shapes") {
  for (const Example& example : examples()) {
    CAPTURE(name_of(example.op));
    const Shapes shapes = infer(example.op, shapes_of_operands(example));
    const auto results = run_double(example);
    REQUIRE(results.size() == outputs_of(example.op));
    REQUIRE(shapes.size() == results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      CHECK(shape_of(results[i].extents) == shapes[i]);
      CHECK(count(results[i].extents) == static_cast<std::int64_t>(results[i].data.size()));
    }
  }
}

TEST_CASE("the bytes written are those of the results") {
  for (const Example& example : examples()) {
    CAPTURE(name_of(example.op));
    const Work work = work_of(example.op, shapes_of_operands(example));
    double written = 0;
    for (const Shape& shape : infer(example.op, shapes_of_operands(example))) written += size_estimate(shape);
    CHECK(work.written == written);
    CHECK(work.flops >= 0);
    CHECK(work.read >= 0);
  }
  const Shapes matrices{{2, 3}, {3, 4}};
  CHECK(work_of(op::MatMul{}, matrices).flops == 2 * 2 * 3 * 4);
  const Shapes image{{1, 4, 8, 8}, {6, 2, 3, 3}};
  const op::Conv conv{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}, .groups = 2};
  CHECK(work_of(conv, image).flops == 2.0 * 6 * 64 * 18);
}

TEST_CASE("float, double, wrapped integers and the field agree where all are exact") {
  for (const Example& example : examples()) {
    if (example.exactness == Exactness::approximate) continue;
    CAPTURE(name_of(example.op));
    const auto reals = run_double(example);
    const auto floats = run<float>(example, [](std::int64_t value) { return static_cast<float>(value); });
    const auto fields = run<Field>(example, [](std::int64_t value) { return Field(value); });
    const auto integers = run<Wrapped<std::int64_t>>(example, [](std::int64_t value) { return Wrapped(value); });
    for (std::size_t o = 0; o < reals.size(); ++o)
      for (std::size_t i = 0; i < reals[o].data.size(); ++i) {
        const double value = reals[o].data[i];
        CHECK(static_cast<double>(floats[o].data[i]) == value);
        CHECK(fields[o].data[i] == Math<Field>::constant(value));
        if (example.exactness == Exactness::integral) CHECK(static_cast<double>(integers[o].data[i].value) == value);
      }
  }
}

TEST_CASE("float and double agree on the other functions") {
  const auto make = [](std::int64_t value) { return static_cast<double>(std::abs(value)) / 4 + 0.125; };
  for (const Example& example : examples()) {
    CAPTURE(name_of(example.op));
    const auto reals = run<double>(example, make);
    const auto floats = run<float>(example, [&](std::int64_t value) { return static_cast<float>(make(value)); });
    for (std::size_t o = 0; o < reals.size(); ++o)
      for (std::size_t i = 0; i < reals[o].data.size(); ++i) {
        CHECK(std::isfinite(reals[o].data[i]));
        CHECK(floats[o].data[i] == Approx(reals[o].data[i]).epsilon(1e-5).margin(1e-6));
      }
  }
}

// Replaces dimensions by unknowns, equal ones by the same: if inference accepts that, it must agree with the inference
// on numbers.
TEST_CASE("symbolic inference, evaluated, is concrete inference") {
  std::set<std::string_view> symbolic;
  for (const Example& example : examples()) {
    const Shapes concrete = shapes_of_operands(example);
    std::set<std::int64_t> sizes;
    for (const Extents& extents : example.operands) sizes.insert(extents.begin(), extents.end());
    sizes.erase(0);
    sizes.erase(1);
    std::vector<std::set<std::int64_t>> choices{sizes};
    for (const std::int64_t size : sizes) choices.push_back({size});
    for (const auto& chosen : choices) {
      Shapes shapes = concrete;
      for (Shape& shape : shapes)
        for (Dim& dim : shape)
          if (chosen.count(dim.value())) dim = Dim::symbol("n" + std::to_string(dim.value()));
      if (shapes == concrete) continue;
      Shapes result;
      try {
        result = infer(example.op, shapes);
      } catch (const ShapeError&) {
        continue;
      }
      CAPTURE(name_of(example.op));
      symbolic.insert(name_of(example.op));
      const Shapes expected = infer(example.op, concrete);
      REQUIRE(result.size() == expected.size());
      for (std::size_t o = 0; o < result.size(); ++o) {
        REQUIRE(result[o].size() == expected[o].size());
        for (std::size_t i = 0; i < result[o].size(); ++i)
          CHECK(result[o][i].evaluate([](std::string_view name) {
            return static_cast<std::int64_t>(std::stoll(std::string(name.substr(1))));
          }) == expected[o][i].value());
      }
    }
  }
  // Constants have no operands, and the target of a reshape is in its attribute.
  for (const Operator& op : all_operators())
    if (max_inputs(op) > 0 && name_of(op) != "reshape") {
      CAPTURE(name_of(op));
      CHECK(symbolic.count(name_of(op)) == 1);
    }
}

}  // namespace taso::test
