#include "tests/generator/proved_rules.h"

#include <map>

#include "rules/language/rule_text.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace generator;

const rules::Properties& shipped_properties() {
  static const rules::Properties properties(
      rules::parse_rules(Source::read((source_folder() / "rules/properties.rules").string())).rules());
  return properties;
}

verifier::RuleVerdict verdict_on(const rules::Rule& rule, verifier::VerifyOptions options) {
  options.time_limit = 0;
  return verifier::verify(rule, shipped_properties(), options);
}

const GenerateReport& proved_with(const std::vector<std::string>& schemas, std::size_t operators) {
  static std::map<std::pair<std::vector<std::string>, std::size_t>, GenerateReport> known;
  const auto found = known.find({schemas, operators});
  if (found != known.end()) return found->second;
  GenerateOptions options;
  options.schemas = schemas;
  options.max_operators = operators;
  options.jobs = 2;
  options.prove = [](const rules::Rule& rule) {
    const verifier::RuleVerdict verdict = verdict_on(rule, {.second_opinion = false});
    return ProofOutcome{static_cast<ProofOutcome::Kind>(verdict.kind), verdict.properties, verdict.condition, {}};
  };
  return known.emplace(std::pair(schemas, operators), generate(options)).first->second;
}

}  // namespace taso::test
