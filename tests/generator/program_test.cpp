// A recorded meaning computes the same as the meaning itself.
#include "generator/enumeration/program.h"

#include <fmt/format.h>

#include "tests/catch.h"

namespace taso::test {

using namespace generator;

namespace {

/// Compares the results of both on these operands, and returns them.
std::vector<Item> compare(const SampleInputs& world, const Schema& schema, const std::vector<Item>& operands) {
  std::vector<const Item*> items;
  std::vector<Layout> layouts;
  for (const Item& operand : operands) {
    items.push_back(&operand);
    layouts.push_back(operand.layout());
  }
  std::vector<const Layout*> shapes;
  std::vector<const Field*> contents;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    shapes.push_back(&layouts[i]);
    contents.push_back(operands[i].tensor.data.data());
  }
  auto expected = world.apply(schema, items);
  const auto program = Program::compile(world, schema, shapes);
  REQUIRE(expected.has_value() == (program != nullptr));
  if (!expected) return {};
  REQUIRE(program->results().size() == expected->size());
  std::vector<Field> cells, all;
  const auto results = program->run(contents, cells);
  for (std::size_t i = 0; i < expected->size(); ++i) {
    CHECK(program->results()[i] == (*expected)[i].layout());
    all.insert(all.end(), (*expected)[i].tensor.data.begin(), (*expected)[i].tensor.data.end());
  }
  CHECK(std::equal(all.begin(), all.end(), results.begin(), results.end()));
  return *expected;
}

}  // namespace

TEST_CASE("a recorded meaning equals the meaning, for every schema") {
  for (const Family& family : families(schema_names())) {
    const SampleInputs world(family, false, 5);
    // A few of each shape, inputs and results of one operator.
    std::vector<Item> known;
    for (std::size_t i = 0; i < world.inputs(); ++i) known.push_back(world.input(i));
    const auto apply_all = [&](const std::vector<Item>& operands) {
      std::vector<Item> found;
      for (const Schema& schema : family.schemas) {
        INFO(family.name << ": " << schema.name);
        const auto add = [&](const std::vector<Item>& some) {
          for (Item& result : compare(world, schema, some)) found.push_back(std::move(result));
        };
        if (schema.operands == 0) add({});
        for (const Item& a : operands) {
          if (schema.operands == 1) add({a});
          for (const Item& b : operands) {
            if (schema.operands == 2) add({a, b});
            for (std::size_t c = 0; schema.operands == 3 && c < world.inputs(); ++c) add({a, b, world.input(c)});
          }
        }
      }
      return found;
    };
    std::vector<Item> once = apply_all(known);
    CHECK(once.size() > family.schemas.size());
    // An evenly spaced sample, so that all schemas get results of others.
    std::vector<Item> some;
    for (std::size_t i = 0; i < once.size(); i += std::max<std::size_t>(once.size() / 40, 1)) some.push_back(once[i]);
    apply_all(some);
  }
}

TEST_CASE("fingerprints tell shapes, roles and contents apart, not where a tensor was joined") {
  const std::vector<Field> contents{Field(1), Field(2), Field(3), Field(4)};
  std::vector<Field> others = contents;
  others[3] = Field(5);
  const auto of = [](Layout layout, const std::vector<Field>& data) { return fingerprint(seed_of(layout), data); };
  const Fingerprint one = of({{2, 2}, false, {}}, contents);
  CHECK(one == of({{2, 2}, false, {1, 0, 0, 0}}, contents));
  CHECK_FALSE(one == of({{2, 2}, true, {}}, contents));
  CHECK_FALSE(one == of({{1, 4}, false, {}}, contents));
  CHECK_FALSE(one == of({{2, 2}, false, {}}, others));
}

}  // namespace taso::test
