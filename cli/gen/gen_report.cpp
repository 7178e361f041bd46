#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/console/version.h"
#include "cli/gen/findings.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Counts are integers as long as they fit.
Json count_of(double number) { return number < 0x1p53 ? Json(static_cast<std::uint64_t>(number)) : Json(number); }

Json json_of(const generator::FamilyReport& family) {
  return {{"name", family.name},      {"graphs", count_of(family.graphs)}, {"evaluations", family.evaluations},
          {"classes", family.values}, {"equalities", family.equalities},   {"memory", family.memory},
          {"spilled", family.spilled}};
}

Json json_of(const std::vector<generator::Rejected>& rejected) {
  Json list = Json::array();
  for (const generator::Rejected& one : rejected) {
    std::vector<std::string> conditions;
    for (const rules::Condition& condition : one.rule.conditions) conditions.push_back(rules::text_of(condition));
    list.push_back({{"name", rules::generated_name(one.rule)},
                    {"source", rules::text_of(one.rule.source)},
                    {"target", rules::text_of(one.rule.target)},
                    {"where", fmt::format("{}", fmt::join(conditions, ", "))},
                    {"reason", one.reason}});
  }
  return list;
}

Json json_of(const generator::Worth& worth) {
  return {
      {"proved", worth.proved},         {"matching", worth.matching},           {"no_arithmetic", worth.no_arithmetic},
      {"not_stated", worth.not_stated}, {"not_following", worth.not_following}, {"leading_on", worth.leading_on}};
}

}  // namespace

std::string report_of(const Findings& findings) {
  const GenSettings& settings = findings.settings;
  const generator::GenerateReport& found = findings.report;
  Json families = Json::array();
  for (const generator::FamilyReport& family : found.families) families.push_back(json_of(family));
  Json ranks = Json::array();
  for (const RankUse& rank : findings.ranks)
    ranks.push_back(
        {{"processor_seconds", rank.processor_seconds}, {"peak_memory", rank.peak_memory}, {"sent", rank.sent}});
  const Json report = {
      {"schema_version", 1},
      {"program", {{"name", "taso-gen"}, {"version", program_version()}}},
      {"versions",
       {{"taso", program_version()},
        {"generator", generator::generator_revision},
        {"verifier", verifier::verifier_revision},
        {"z3", verifier::z3_version()}}},
      {"operators", findings.operators},
      {"never_used", findings.combinations.unusable},
      {"never_combined", findings.combinations.apart},
      {"max_operators", settings.max_operators},
      {"max_operators_in_order", std::min(settings.max_operators, generator::most_operators_in_order)},
      {"seed", settings.seed},
      {"properties",
       {{"file", findings.properties_name}, {"hash", findings.properties_hash}, {"count", findings.properties}}},
      {"verdict", findings.word()},
      {"complete", found.complete},
      {"enumerated", findings.enumerated},
      {"output", findings.written ? Json(findings.written->string()) : Json(nullptr)},
      {"families", families},
      {"totals",
       {{"graphs", count_of(findings.graphs())},
        {"evaluations", findings.evaluations()},
        {"classes", findings.values()},
        {"rules", found.rules.size()}}},
      {"steps",
       {{"equalities", found.equalities},
        {"renamed", found.renamed},
        {"confirmed", found.confirmed},
        {"not_following", found.not_following},
        {"without_common_subgraph", found.without_common_subgraph},
        {"distinct", found.distinct},
        {"general", settings.selects ? found.general : found.distinct},
        {"undecided", findings.undecided()},
        {"not_derived", found.not_derived - findings.undecided()},
        {"proved", found.proved + found.special},
        {"not_special", found.proved},
        {"refuted", found.refuted.size()},
        {"unknown", found.unknown.size()}}},
      {"selection", found.worth ? json_of(*found.worth) : Json(nullptr)},
      {"chance_of_a_coincidence", chance_of_a_coincidence(findings)},
      {"refuted", json_of(found.refuted)},
      {"unknown", json_of(found.unknown)},
      {"run",
       {{"jobs", findings.jobs},
        {"ranks", ranks},
        {"phases", findings.phases},
        {"recalled_stages", findings.recalled_stages},
        {"time_limit", settings.proving.time_limit},
        {"spilled", findings.spilled()},
        {"recalled", findings.recalled},
        {"asked", findings.asked},
        {"timed_out", findings.timed_out},
        {"seconds", findings.seconds},
        {"processor_seconds", findings.processor_seconds},
        {"memory_limit", settings.memory_limit},
        {"peak_memory", findings.peak_memory}}},
  };
  // File names may hold any bytes.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace taso::cli
