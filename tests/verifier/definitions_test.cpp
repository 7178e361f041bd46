// The definitions of tests/verifier/xla compute what their names say, on numbers.
#include <filesystem>
#include <map>

#include "ops/core/random.h"
#include "rules/instance/concrete.h"
#include "rules/instance/instance.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {
namespace {

using Numbers = std::vector<double>;

struct Case {
  std::string file, use, condition;
  std::map<std::string, Numbers> inputs;
  Numbers expected;
};

/// The elements of the only result of a use, whose sizes are numbers.
Numbers value_of(const Case& one) {
  const auto path = source_folder() / "tests/verifier/xla" / (one.file + ".rules");
  std::string text(Source::read(path.string()).text());
  text += "\ncandidate a-use\n  " + one.use + " => " + one.use + "\n";
  if (!one.condition.empty()) text += "  where " + one.condition + "\n";
  const rules::Rule rule = rules::parse_rules(Source("use", text)).rules().back();
  const auto instances = rules::instances(rule);
  REQUIRE(instances.size() == 1);
  Random random(1);
  const auto assignment = rules::AssignmentSampler(instances[0]).sample(random, 3);
  REQUIRE(assignment);
  const auto concrete = rules::Concretizer(instances[0]).at(*assignment);
  REQUIRE(std::holds_alternative<rules::ConcreteInstance>(concrete));
  const auto& instance = std::get<rules::ConcreteInstance>(concrete);
  std::vector<ops::Tensor<double>> inputs;
  for (std::size_t i = 0; i < instances[0].inputs.size(); ++i)
    inputs.emplace_back(instance.inputs[i], one.inputs.at(instances[0].inputs[i]));
  return rules::evaluate_sides<double>(instance, inputs).source[0].data;
}

const std::vector<Case> cases{
    {"elementwise", "abs(x)", "shape(x) = [3]", {{"x", {-2, 0, 3}}}, {2, 0, 3}},
    {"elementwise", "rsqrt(x)", "shape(x) = [2]", {{"x", {4, 1}}}, {0.5, 1}},
    {"elementwise",
     "clamp(l, x, h)",
     "shape(x) = [3], shape(l) = [3], shape(h) = [3]",
     {{"x", {-5, 1, 5}}, {"l", {0, 0, 0}}, {"h", {2, 2, 2}}},
     {0, 1, 2}},
    {"logical",
     "and(p, q)",
     "shape(p) = [4], shape(q) = [4]",
     {{"p", {0, 0, 1, 1}}, {"q", {0, 1, 0, 1}}},
     {0, 0, 0, 1}},
    {"logical", "or(p, q)", "shape(p) = [4], shape(q) = [4]", {{"p", {0, 0, 1, 1}}, {"q", {0, 1, 0, 1}}}, {0, 1, 1, 1}},
    {"logical",
     "xor(p, q)",
     "shape(p) = [4], shape(q) = [4]",
     {{"p", {0, 0, 1, 1}}, {"q", {0, 1, 0, 1}}},
     {0, 1, 1, 0}},
    {"logical", "not(p)", "shape(p) = [2]", {{"p", {0, 1}}}, {1, 0}},
    {"logical",
     "select(p, x, y)",
     "shape(p) = [2], shape(x) = [2], shape(y) = [2]",
     {{"p", {0, 1}}, {"x", {3, 4}}, {"y", {5, 6}}},
     {5, 4}},
    {"logical", "truth(z)", "shape(z) = [4]", {{"z", {-1, 0, 0.25, 7}}}, {0, 0, 1, 1}},
    {"logical", "greater(x, y)", "shape(x) = [3], shape(y) = [3]", {{"x", {1, 2, 3}}, {"y", {2, 2, 2}}}, {0, 0, 1}},
    {"logical",
     "greater_or_equal(x, y)",
     "shape(x) = [3], shape(y) = [3]",
     {{"x", {1, 2, 3}}, {"y", {2, 2, 2}}},
     {0, 1, 1}},
    {"logical", "equal(x, y)", "shape(x) = [3], shape(y) = [3]", {{"x", {1, 2, 3}}, {"y", {2, 2, 2}}}, {0, 1, 0}},
    {"logical", "unequal(x, y)", "shape(x) = [3], shape(y) = [3]", {{"x", {1, 2, 3}}, {"y", {2, 2, 2}}}, {1, 0, 1}},
    {"broadcast", "expand[shape=[2, 3]](x)", "shape(x) = [1, 3]", {{"x", {1, 2, 3}}}, {1, 2, 3, 1, 2, 3}},
    {"broadcast", "constant[shape=[2, 2], value=1.5]", "", {}, {1.5, 1.5, 1.5, 1.5}},
    {"broadcast", "iota[rows=2, size=3]", "", {}, {0, 1, 2, 0, 1, 2}},
    {"broadcast",
     "reverse_rows[rows=2, size=3](x)",
     "shape(x) = [2, 3]",
     {{"x", {1, 2, 3, 4, 5, 6}}},
     {3, 2, 1, 6, 5, 4}},
    {"broadcast", "every[strides=[2]](x)", "shape(x) = [1, 1, 5]", {{"x", {1, 2, 3, 4, 5}}}, {1, 3, 5}},
    {"slices", "apart[strides=3](x)", "shape(x) = [1, 1, 2]", {{"x", {1, 2}}}, {1, 0, 0, 2}},
    {"slices",
     "padded[low=1, high=2, strides=2, value=9](x)",
     "shape(x) = [1, 1, 2]",
     {{"x", {1, 2}}},
     {9, 1, 9, 2, 9, 9}},
    {"slices",
     "reverse_both[rows=2, columns=3](x)",
     "shape(x) = [2, 3]",
     {{"x", {1, 2, 3, 4, 5, 6}}},
     {6, 5, 4, 3, 2, 1}},
    {"slices",
     "updated[before=[1], after=[1]](x, u)",
     "shape(x) = [4], shape(u) = [2]",
     {{"x", {1, 2, 3, 4}}, {"u", {8, 9}}},
     {1, 8, 9, 4}},
};

}  // namespace

TEST_CASE("definitions compute what their names say") {
  for (const Case& one : cases) {
    INFO(one.use);
    CHECK(value_of(one) == one.expected);
  }
}

TEST_CASE("every definition is tried, and means the same in every file") {
  std::map<std::string, rules::Definition> known;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/verifier/xla")) {
    if (entry.path().extension() != ".rules") continue;
    for (const auto& item : rules::parse_rules(Source::read(entry.path().string())).items) {
      const auto* definition = std::get_if<rules::Definition>(&item);
      if (definition == nullptr) continue;
      INFO(definition->name);
      CHECK(known.emplace(definition->name, *definition).first->second == *definition);
      CHECK(std::any_of(cases.begin(), cases.end(), [&](const Case& one) {
        return one.use.starts_with(definition->name + "(") || one.use.starts_with(definition->name + "[");
      }));
    }
  }
  CHECK(known.size() >= 15);
}

}  // namespace taso::test
