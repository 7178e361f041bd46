// Names in words.
#include "generator/selection/law_name.h"

#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

std::vector<std::string> names_of(const std::vector<std::string>& texts) {
  std::vector<rules::Rule> rules;
  for (const std::string& text : texts) rules.push_back(rules::parse_rule("rule r\n  " + text + "\n"));
  generator::name_laws(rules);
  std::vector<std::string> names;
  for (const rules::Rule& rule : rules) names.push_back(rule.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a name states the law") {
  CHECK(names_of({"relu(concat[axis=a](x, y)) => concat[axis=a](relu(x), relu(y))"}) == Names{"relu-of-concat"});
  CHECK(names_of({"concat[axis=a](relu(x), relu(y)) => relu(concat[axis=a](x, y))"}) == Names{"concat-of-relus"});
  CHECK(names_of({"matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))"}) ==
        Names{"merge-matmuls-shared-left"});
  CHECK(names_of({"conv(x, w, b) => conv[pads=1](x, enlarge[kernel=[3, 3]](w), b)\n  where spatial(w) = [1, 1]"}) ==
        Names{"enlarge-biased-conv-1x1-to-3x3"});
  CHECK(names_of({"concat[axis=a](first(split[axis=a, at=b](x)), second(split[axis=a, at=b](x))) => x"}) ==
        Names{"concat-of-parts-cancels"});
  CHECK(names_of({"concat[axis=a](x, concat[axis=a](y, z)) => concat[axis=a](concat[axis=a](x, y), z)"}) ==
        Names{"concat-associates-left"});
}

TEST_CASE("rules with the same name add words, except the most general") {
  CHECK(names_of({"scalar_mul(matmul(x, y), z) => matmul(x, scalar_mul(y, z))",
                  "scalar_mul(matmul(x, y), z) => matmul(scalar_mul(x, z), y)"}) ==
        Names{"scale-of-matmul-right", "scale-of-matmul-left"});
  CHECK(names_of({"matmul(x, matmul(y, z)) => matmul(matmul(x, y), z)\n  where rank(x) = 3, rank(y) = 2, rank(z) = 2",
                  "matmul(x, matmul(y, z)) => matmul(matmul(x, y), z)"}) ==
        Names{"matmul-associates-left-rank-3", "matmul-associates-left"});
  // Finally, part of the hash; the names of smaller rules stay.
  const Names names = names_of({"relu(tanh(x)) => sigmoid(tanh(x))", "relu(tanh(x)) => sigmoid(relu(tanh(x)))",
                                "relu(tanh(x)) => tanh(sigmoid(x))"});
  CHECK(names[0].starts_with("relu-of-tanh-to-sigmoid-of-tanh"));
  for (const std::string& name : names) CHECK(name.size() <= 40);
  CHECK(names[1] != names[2]);
}

}  // namespace taso::test
