#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/console/version.h"
#include "cli/verify/results.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

using Json = nlohmann::ordered_json;
using Outcome = RuleResult::Outcome;

constexpr Outcome all_outcomes[] = {Outcome::proved,  Outcome::valid,    Outcome::conditional, Outcome::refuted,
                                    Outcome::unknown, Outcome::unstated, Outcome::undecided};

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_of(const verifier::PropertyVerdict& verdict) {
  return {{"instances", verdict.instances},
          {"proved_for_all_shapes", verdict.proved},
          {"obstacle", text_or_null(verdict.obstacle)},
          {"small_sizes", verdict.small_sizes},
          {"small_sizes_open", verdict.small_sizes_open},
          {"random_shapes", verdict.random_shapes},
          {"members", verdict.members},
          {"proved_once", verdict.is_proved_once}};
}

Json json_of(const verifier::RuleVerdict& verdict) {
  std::vector<std::string> conditions;
  for (const rules::Condition& condition : verdict.condition) conditions.push_back(rules::text_of(condition));
  return {{"reason", text_or_null(verdict.reason)},
          {"properties", verdict.properties},
          {"condition", conditions.empty() ? Json(nullptr) : Json(fmt::format("{}", fmt::join(conditions, ", ")))},
          {"instances", verdict.instances},
          {"by_properties", verdict.by_properties},
          {"by_normal_form", verdict.by_normal_form},
          {"witness", text_or_null(verdict.witness)}};
}

Json json_of(const SecondOpinion& opinion) {
  return {{"confirmed", opinion.agreed}, {"open", opinion.open}, {"trouble", text_or_null(opinion.trouble)}};
}

Json json_of_rule(const VerifyResults& results, std::size_t index) {
  const GivenRule& given = results.rules[index];
  const RuleResult& result = results.results[index];
  Json json = {{"name", given.rule.name},
               {"kind", rules::text_of(given.rule.kind)},
               {"file", results.files[given.file].source.name()},
               {"line", given.line == 0 ? Json(nullptr) : Json(given.line)},
               {"hash", text_or_null(results.hashes[index])},
               {"verdict", text_of(result.outcome())},
               {"passed", result.passed()}};
  if (!result.decided) return json;
  json.update(result.property ? json_of(*result.property) : json_of(result.verdict));
  json["counterexample"] = text_or_null(result.counterexample());
  if (result.property && results.asked_for_redundant) json["redundant"] = result.property->follows_from_others;
  if (!result.property) {
    json["unknown_properties"] = result.unknown_names;
    json["from_cache"] = result.from_cache;
  }
  if (result.second) json["second_prover"] = json_of(*result.second);
  if (!result.disagreement().empty()) json["disagreement"] = result.disagreement();
  return json;
}

}  // namespace

std::string report_of(const VerifyResults& results) {
  Json files = Json::array(), rules = Json::array(), totals = Json::object(), seconds = Json::object();
  for (const GivenFile& file : results.files) files.push_back(file.source.name());
  for (std::size_t i = 0; i < results.results.size(); ++i) rules.push_back(json_of_rule(results, i));
  totals["rules"] = results.results.size();
  for (const Outcome outcome : all_outcomes) totals[std::string(text_of(outcome))] = results.count(outcome);
  seconds["total"] = results.seconds;
  Json each = Json::array();
  for (const RuleResult& result : results.results) each.push_back(result.seconds);
  seconds["rules"] = each;
  Json versions = {
      {"taso", program_version()}, {"verifier", verifier::verifier_revision}, {"z3", verifier::z3_version()}};
  if (!results.second_prover.empty()) versions["second_prover"] = results.second_prover;
  const Json report = {
      {"schema_version", 1},
      {"program", {{"name", "taso-verify"}, {"version", program_version()}}},
      {"versions", versions},
      {"files", files},
      {"properties",
       {{"file", results.properties_name}, {"hash", results.properties_hash}, {"count", results.properties}}},
      {"seed", results.seed},
      {"verdict", results.word()},
      {"totals", totals},
      {results.validates_properties ? "validated" : "rules", rules},
      {"seconds", seconds},
  };
  // File names may hold any bytes.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace taso::cli
