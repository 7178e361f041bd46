#include "tests/verifier/by_the_letter.h"

#include <filesystem>

#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {
using taso::test::ByTheLetter;

namespace {

std::string tried(const std::string& text, std::size_t starts = 20, std::size_t changes = 60) {
  const rules::Rule rule = rules::parse_rule("candidate tried\n  " + text);
  return ByTheLetter(rule, 1).counterexample(starts, changes);
}

}  // namespace

TEST_CASE("false rules fail as written") {
  CHECK(tried("matmul(x, y) => matmul(y, x)") != "");
  CHECK(tried("relu(add(x, y)) => add(relu(x), relu(y))") != "");
  CHECK(tried("concat[axis=1](conv[groups=g](x, w), conv[groups=g](x, v)) => conv[groups=g](x, concat[axis=0](w, v))\n"
              "  where spatial(w) = spatial(v)") != "");
  CHECK(tried("split[axis=a, at=n](x) => split[axis=a, at=1](x)") != "");
}

TEST_CASE("sound rules and properties hold as written") {
  std::vector<std::filesystem::path> files{source_folder() / "rules/properties.rules"};
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/verifier/sound"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::size_t rules = 0, compared = 0, often = 0;
  for (const auto& file : files)
    for (rules::Rule& rule : rules::parse_rules(Source::read(file.string())).rules()) {
      ByTheLetter letter(rule, 7);
      CAPTURE(rule.name);
      CHECK(letter.counterexample(4, 40) == "");
      ++rules;
      compared += letter.tried;
      if (letter.tried > 20) ++often;
    }
  CHECK(rules > 400);
  CHECK(compared > 30 * rules);
  CHECK(often > rules / 2);
}

}  // namespace taso::test
