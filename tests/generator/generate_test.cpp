// What the generator finds without being given it.
#include "generator/generate.h"

#include <map>

#include <fmt/format.h>

#include "generator/selection/prune.h"
#include "generator/selection/rule_writer.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace generator;

namespace {

/// Accepts every candidate as true: this tests what is found, not what is proved.
GenerateReport find(const std::vector<std::string>& schemas, std::size_t operators, unsigned jobs = 1) {
  GenerateOptions options;
  options.schemas = schemas;
  options.max_operators = operators;
  options.jobs = jobs;
  options.prove = [](const rules::Rule&) { return ProofOutcome{ProofOutcome::Kind::proved, {"assumed"}, {}, {}}; };
  return generate(options);
}

/// Whether the rules entail the candidate.
bool entails(const std::vector<rules::Rule>& rules, std::string_view candidate) {
  std::vector<rules::Rule> equations = rules;
  for (rules::Rule& rule : equations) rule.kind = rules::Rule::Kind::axiom;
  return is_derivable(rules::parse_rule("candidate c\n  " + std::string(candidate) + "\n"),
                      rules::Properties(equations));
}

std::string all_text(const GenerateReport& report) {
  std::string text;
  for (const rules::Rule& rule : report.rules) text += rules::print(rule);
  return text;
}

std::string conditions_of(const rules::Rule& rule) {
  std::string text;
  for (const rules::Condition& condition : rule.conditions) text += rules::text_of(condition) + "\n";
  return text;
}

}  // namespace

TEST_CASE("laws of matrices are found") {
  const auto report = find({"matmul", "add", "relu", "transpose", "concat1", "split1"}, 3);
  CHECK(report.proved > 10);
  CHECK(entails(report.rules, "matmul(matmul(x, y), z) => matmul(x, matmul(y, z))"));
  CHECK(entails(report.rules, "add(matmul(x, y), matmul(x, z)) => matmul(x, add(y, z))"));
  CHECK(entails(report.rules,
                "matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))"));
  CHECK(entails(report.rules, "relu(relu(x)) => relu(x)"));
  CHECK(entails(report.rules, "relu(concat[axis=1](x, y)) => concat[axis=1](relu(x), relu(y))"));
  CHECK(entails(report.rules,
                "transpose[permutation=[1, 0]](matmul(x, y)) => matmul(transpose[permutation=[1, 0]](y), "
                "transpose[permutation=[1, 0]](x))"));
  CHECK_FALSE(entails(report.rules, "matmul(x, y) => matmul(y, x)"));
  CHECK_FALSE(entails(report.rules, "relu(add(x, y)) => add(relu(x), relu(y))"));
}

TEST_CASE("laws of convolutions are found") {
  const auto report = find({"conv3x3", "add", "concat0", "concat1", "split1"}, 3);
  CHECK(entails(report.rules, "add(conv[pads=1](x, w), conv[pads=1](x, v)) => conv[pads=1](x, add(w, v))"));
  CHECK(entails(report.rules,
                "add(conv[pads=1](x, w), conv[pads=1](z, v)) => "
                "conv[pads=1](concat[axis=1](x, z), concat[axis=1](w, v))\n"
                "  where spatial(w) = spatial(v), spatial(x) = spatial(z)"));
  CHECK(entails(report.rules,
                "conv[pads=1](x, w), conv[pads=1](x, v) => "
                "split[axis=1, at=dim(w, 0)](conv[pads=1](x, concat[axis=0](w, v)))\n"
                "  where spatial(w) = spatial(v)"));
}

TEST_CASE("what follows only if a bare input is expanded is a separate law") {
  // x + y - z is x + y - (y - (y - z)), and this is x + (y - z); but no rule rewrites a bare z.
  CHECK(entails(find({"add", "sub"}, 2).rules, "sub(add(x, y), z) => add(x, sub(y, z))"));
}

TEST_CASE("the result is the same for any number of jobs", "[threads]") {
  const auto one = find({"matmul", "add", "relu", "concat0", "split0"}, 2, 1),
             three = find({"matmul", "add", "relu", "concat0", "split0"}, 2, 3);
  CHECK(all_text(one) == all_text(three));
  CHECK(one.not_derived == three.not_derived);
}

TEST_CASE("no step of pruning adds candidates") {
  const auto report = find({"matmul", "add", "transpose"}, 3);
  CHECK(report.equalities >= report.renamed);
  CHECK(report.renamed >= report.confirmed);
  CHECK(report.confirmed >= report.without_common_subgraph);
  CHECK(report.without_common_subgraph >= report.distinct);
  CHECK(report.distinct >= report.not_derived);
  CHECK(report.not_derived >= report.proved);
}

TEST_CASE("candidates that the prover refuses are listed, never written") {
  GenerateOptions options;
  options.schemas = {"add", "mul"};
  options.max_operators = 2;
  options.prove = [](const rules::Rule&) { return ProofOutcome{ProofOutcome::Kind::refuted, {}, {}, "on principle"}; };
  const auto report = generate(options);
  CHECK(report.rules.empty());
  CHECK_FALSE(report.refuted.empty());
}

TEST_CASE("a refuted candidate stays refuted, whatever holds with stated ranks") {
  GenerateOptions options;
  options.schemas = {"matmul", "concat0", "concat1"};
  options.max_operators = 3;
  std::size_t with_ranks = 0;
  options.prove = [&](const rules::Rule& rule) {
    if (conditions_of(rule).find("rank(") == std::string::npos)
      return ProofOutcome{ProofOutcome::Kind::refuted, {}, {}, "at some rank"};
    ++with_ranks;
    return ProofOutcome{ProofOutcome::Kind::unknown, {}, {}, "at these ranks"};
  };
  const auto report = generate(options);
  CHECK(with_ranks > 0);
  CHECK(report.unknown.empty());
  REQUIRE_FALSE(report.refuted.empty());
  for (const Rejected& rejected : report.refuted) CHECK(rejected.reason == "at some rank");
}

TEST_CASE("a rule without a target at some axes is not derivable") {
  const rules::Properties some({rules::parse_rule("axiom a\n  relu(relu(x)) = relu(x)\n")});
  CHECK(is_derivable(rules::parse_rule("candidate c\n  concat[axis=a](x, y) => concat[axis=a * 1](x, y)\n"), some));
  // True at the first axis; at others, the axis is out of range.
  CHECK_FALSE(
      is_derivable(rules::parse_rule("candidate c\n  concat[axis=a](x, y) => concat[axis=a * 2](x, y)\n"), some));
}

TEST_CASE("whether a condition is needed is asked once") {
  GenerateOptions options;
  options.schemas = {"matmul", "concat0", "concat1"};
  options.max_operators = 3;
  std::map<std::string, std::size_t> weaker;
  // With stated ranks it is true under two more conditions, and needs both.
  options.prove = [&](const rules::Rule& rule) {
    const std::string conditions = conditions_of(rule);
    if (conditions.find("!= 7") != std::string::npos || conditions.find("!= 8") != std::string::npos) {
      ++weaker[rules::canonical_text(rule)];
      return ProofOutcome{};
    }
    if (conditions.find("rank(") == std::string::npos) return ProofOutcome{};
    const rules::Rule more = rules::parse_rule(
        fmt::format("candidate c\n  relu({0}) => {0}\n  where dim({0}, 0) != 7, dim({0}, 0) != 8\n", rule.inputs()[0]));
    return ProofOutcome{ProofOutcome::Kind::conditional, {"assumed"}, more.conditions, {}};
  };
  generate(options);
  CHECK(weaker.size() > 2);
  for (const auto& [text, times] : weaker) {
    INFO(text);
    CHECK(times == 1);
  }
}

TEST_CASE("an unknown operator is an error") { CHECK_THROWS_AS(families({"matmull"}), InputError); }

}  // namespace taso::test
