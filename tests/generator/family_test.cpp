// The families are complete and find what they are for, and the results are written as meaningful rules.
#include "generator/enumeration/family.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "generator/generate.h"
#include "generator/selection/rule_writer.h"
#include "rules/instance/instance.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace generator;

namespace {

/// Inputs and the results of one operator on them; in addition, a few of each layout.
std::vector<Item> some_items(const SampleInputs& world) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < world.inputs(); ++i) items.push_back(world.input(i));
  const std::size_t inputs = items.size();
  std::map<std::pair<Extents, std::pair<bool, Cuts>>, std::size_t> count;
  const auto add = [&](const std::optional<std::vector<Item>>& results) {
    if (!results) return;
    for (const Item& item : *results)
      if (++count[{item.tensor.extents, {item.is_kernel, item.cuts}}] <= 2) items.push_back(item);
  };
  for (const Schema& schema : world.family().schemas) {
    if (schema.operands == 0) add(world.apply(schema, {}));
    for (std::size_t a = 0; a < inputs; ++a) {
      if (schema.operands == 1) add(world.apply(schema, std::vector<const Item*>{&items[a]}));
      for (std::size_t b = 0; b < inputs && schema.operands == 2; ++b) {
        const Item left = items[a], right = items[b];  // copies, because the list grows
        add(world.apply(schema, std::vector<const Item*>{&left, &right}));
      }
    }
  }
  return items;
}

/// Operands among these that the schema takes.
std::optional<std::vector<const Item*>> operands_for(const SampleInputs& world, const Schema& schema,
                                                     const std::vector<Item>& items) {
  std::vector<const Item*> operands;
  const std::function<bool()> choose = [&] {
    if (operands.size() == schema.operands) return world.apply(schema, operands).has_value();
    for (const Item& item : items) {
      operands.push_back(&item);
      if (choose()) return true;
      operands.pop_back();
    }
    return false;
  };
  return choose() ? std::optional(operands) : std::nullopt;
}

std::vector<std::string> names_of(const Family& family) {
  std::vector<std::string> names;
  for (const Schema& schema : family.schemas) names.push_back(schema.name);
  return names;
}

/// All questions to the prover, by canonical text; nothing is proved, so nothing is derived.
std::map<std::string, rules::Rule> questions(const Family& family, std::size_t operators) {
  std::map<std::string, rules::Rule> asked;
  std::mutex mutex;
  GenerateOptions options;
  options.schemas = names_of(family);
  options.max_operators = operators;
  options.prove = [&](const rules::Rule& rule) {
    const std::lock_guard lock(mutex);
    asked.emplace(rules::canonical_text(rule), rule);
    return ProofOutcome{};
  };
  generate(options);
  return asked;
}

/// The rule with the operands of sums and products in any order.
std::vector<rules::Rule> in_any_order(const rules::Rule& rule) {
  std::vector<rules::Rule> result;
  for (std::size_t bits = 0; bits < 16; ++bits) {
    std::size_t at = 0;
    const std::function<rules::PatternPtr(const rules::PatternPtr&)> turned =
        [&](const rules::PatternPtr& pattern) -> rules::PatternPtr {
      auto copy = std::make_shared<rules::Pattern>(*pattern);
      for (rules::PatternPtr& operand : copy->operands) operand = turned(operand);
      if ((copy->op == "add" || copy->op == "mul") && (bits >> at++ & 1) != 0)
        std::reverse(copy->operands.begin(), copy->operands.end());
      return copy;
    };
    rules::Rule other = rule;
    for (rules::PatternPtr& pattern : other.source) pattern = turned(pattern);
    for (rules::PatternPtr& pattern : other.target) pattern = turned(pattern);
    result.push_back(other);
    std::swap(other.source, other.target);
    result.push_back(std::move(other));
  }
  return result;
}

std::string_view value_of(const std::vector<std::string>& comments, std::string_view key) {
  for (const std::string& comment : comments) {
    const std::size_t begin = comment.find(key);
    if (begin == std::string::npos) continue;
    const std::string_view rest = std::string_view(comment).substr(begin + key.size());
    return rest.substr(0, rest.find(';'));
  }
  return {};
}

}  // namespace

TEST_CASE("every schema applies to something with two operators, here and where equalities are confirmed") {
  for (const Family& family : families(schema_names()))
    for (const bool larger : {false, true}) {
      const SampleInputs world(family, larger, 3);
      const std::vector<Item> items = some_items(world);
      for (const Schema& schema : family.schemas) {
        INFO(family.name << ": " << schema.name);
        CHECK(operands_for(world, schema, items).has_value());
      }
    }
}

TEST_CASE("a world applies operators by their meaning") {
  for (const Family& family : families(schema_names())) {
    const SampleInputs world(family, true, 11);
    const std::vector<Item> items = some_items(world);
    for (const Schema& schema : family.schemas) {
      INFO(family.name << ": " << schema.name);
      const auto operands = operands_for(world, schema, items);
      REQUIRE(operands);
      std::vector<Layout> layouts;
      for (const Item* item : *operands) layouts.push_back(item->layout());
      const auto op = world.concrete(schema, layouts);
      REQUIRE(op);
      std::vector<ops::Tensor<Field>> tensors;
      std::vector<Shape> shapes;
      for (const Item* item : *operands) {
        tensors.push_back(item->tensor);
        shapes.emplace_back(item->tensor.extents.begin(), item->tensor.extents.end());
      }
      const auto results = world.apply(schema, *operands);
      const auto expected = ops::evaluate<Field>(*op, tensors);
      const Shapes inferred = infer(*op, shapes);
      REQUIRE(results->size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK((*results)[i].tensor.extents == expected[i].extents);
        CHECK((*results)[i].tensor.data == expected[i].data);
        CHECK(Shape(expected[i].extents.begin(), expected[i].extents.end()) == inferred[i]);
      }
    }
  }
}

TEST_CASE("schemas that belong to several families are in each of them, and TASO's in its own only") {
  const auto all = families(taso_schemas());
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "matrices");
  CHECK(all[1].name == "images");
  std::size_t schemas = 0;
  for (const std::string& name : taso_schemas())
    for (const Family& family : all) {
      const auto names = names_of(family);
      schemas += static_cast<std::size_t>(std::count(names.begin(), names.end(), name));
    }
  // Sums, products, factors, relu, concat and split are in both.
  CHECK(schemas == taso_schemas().size() + 8);
  for (const Family& family : all)
    for (const InputKind& kind : family.inputs) CHECK(kind.cut == 0);
}

TEST_CASE("every family finds what it is for") {
  const auto expected =
      rules::parse_rules(Source::read((source_folder() / "tests/generator/families.rules").string())).rules();
  std::set<std::string> named;
  for (const Family& family : families(schema_names())) {
    std::map<std::size_t, std::map<std::string, rules::Rule>> asked;
    for (const rules::Rule& rule : expected) {
      if (value_of(rule.comments, "family: ") != family.name) continue;
      named.insert(rule.name);
      const std::size_t operators = std::stoul(std::string(value_of(rule.comments, "operators: ")));
      if (!asked.contains(operators)) asked[operators] = questions(family, operators);
      const std::vector<rules::Rule> forms = in_any_order(rule);
      const bool is_asked = std::any_of(forms.begin(), forms.end(), [&](const rules::Rule& form) {
        return asked[operators].contains(rules::canonical_text(form));
      });
      INFO(family.name << ": " << rules::canonical_text(rule));
      CHECK(is_asked);
    }
    INFO(family.name);
    CHECK_FALSE(asked.empty());
  }
  CHECK(named.size() == expected.size());
}

TEST_CASE("no side has an input of its own while the other has one too, and kernels' windows matter only where seen") {
  for (const Family& family : families({"sub", "add", "conv3x3"})) {
    for (const auto& [text, question] : questions(family, 2)) {
      INFO(text);
      const rules::Rule& rule = question;
      std::set<std::string> source, target;
      const std::function<void(const rules::Pattern&, std::set<std::string>&)> look = [&](const rules::Pattern& pattern,
                                                                                          auto& to) {
        if (pattern.is_input()) to.insert(pattern.input);
        for (const rules::PatternPtr& operand : pattern.operands) look(*operand, to);
      };
      for (const rules::PatternPtr& pattern : rule.source) look(*pattern, source);
      for (const rules::PatternPtr& pattern : rule.target) look(*pattern, target);
      CHECK(std::includes(source.begin(), source.end(), target.begin(), target.end()));
      if (text.find("conv") == std::string::npos) CHECK(rule.conditions.empty());
    }
  }
}

}  // namespace taso::test
