// How much of TASO's rules a rule file of ours covers, rule by rule:
//   generator_taso_coverage OURS.rules TASO.pb [--properties FILE] [--terms N] [--rounds N] [--matches N]
// A rule of TASO is true, true under a condition that it does not state, or false. A true rule is among ours (one of
// our rules states it, perhaps for more sizes and attributes), derived from ours by rewriting (with its condition, if
// any), or missing. Exits with 1 if a rule is missing.
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/rule_text.h"
#include "rules/taso/taso_file.h"
#include "tests/generator/derivation.h"
#include "verifier/verify.h"

namespace {

using namespace taso;
using namespace taso::test;

struct Arguments {
  std::string ours, theirs, properties = "rules/properties.rules";
  rules::SaturationLimits limits{.rounds = 12, .terms = 20000, .matches = 200000};
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (!text.starts_with("--")) {
      files.push_back(text);
      continue;
    }
    if (++i == argc) return std::nullopt;
    if (text == "--properties") {
      arguments.properties = argv[i];
    } else if (text == "--terms") {
      arguments.limits.terms = std::strtoul(argv[i], nullptr, 10);
    } else if (text == "--rounds") {
      arguments.limits.rounds = std::strtoul(argv[i], nullptr, 10);
    } else if (text == "--matches") {
      arguments.limits.matches = std::strtoul(argv[i], nullptr, 10);
    } else {
      return std::nullopt;
    }
  }
  if (files.size() != 2) return std::nullopt;
  arguments.ours = files[0];
  arguments.theirs = files[1];
  return arguments;
}

int report(const Arguments& arguments) {
  const std::vector<rules::Rule> ours = rules::parse_rules(Source::read(arguments.ours)).rules();
  const std::vector<rules::Rule> theirs = rules::parse_taso_rules(Source::read(arguments.theirs)).rules();
  const rules::Properties properties(rules::parse_rules(Source::read(arguments.properties)).rules());
  const rules::Properties rules = equations_in_a_search(ours);

  std::size_t among = 0, derived = 0, missing = 0, untrue = 0, open = 0;
  for (const rules::Rule& rule : theirs) {
    const verifier::RuleVerdict verdict = verifier::verify(rule, properties);
    rules::Rule stated = rule;
    std::string truth{verifier::text_of(verdict.kind)};
    for (const rules::Condition& condition : verdict.condition) {
      truth +=
          fmt::format("{}{}", &condition == verdict.condition.data() ? ", where " : ", ", rules::text_of(condition));
      stated.conditions.push_back(condition);
    }
    std::string covered;
    if (verdict.kind == verifier::RuleVerdict::Kind::refuted) {
      ++untrue;
      covered = "-";
    } else if (const std::string name = rule_that_says(stated, ours); !name.empty()) {
      ++among;
      covered = "among ours: " + name;
    } else if (const std::string reason = obstacle_to_deriving(stated, rules, arguments.limits); reason.empty()) {
      ++derived;
      covered = "derived";
    } else {
      ++(verdict.kind == verifier::RuleVerdict::Kind::unknown ? open : missing);
      covered = "MISSING: " + reason;
    }
    fmt::print("{}: {}; {}\n", rule.name, truth, covered);
    if (covered.starts_with("MISSING")) fmt::print("{}", rules::print(stated));
  }
  fmt::print("{} rules of TASO: {} among ours, {} derived, {} missing; {} false, {} neither proved nor covered\n",
             theirs.size(), among, derived, missing, untrue, open);
  return missing == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    fmt::print(
        stderr,
        "generator_taso_coverage OURS.rules TASO.pb [--properties FILE] [--terms N] [--rounds N] [--matches N]\n");
    return 2;
  }
  try {
    return report(*arguments);
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
