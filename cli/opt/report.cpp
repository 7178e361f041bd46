#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/console/version.h"
#include "cli/opt/summary.h"

namespace taso::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of_scope(onnx::CheckResult::Scope scope) {
  switch (scope) {
    case onnx::CheckResult::Scope::unchanged: return "unchanged";
    case onnx::CheckResult::Scope::whole: return "whole";
    case onnx::CheckResult::Scope::regions: return "regions";
  }
  return "";
}

Json json_of(const ModelCounts& counts) {
  Json figures = nullptr;
  if (counts.figures)
    figures = {{"seconds", counts.figures->seconds},
               {"measured_seconds", counts.figures->measured},
               {"seconds_in_lanes", counts.figures->concurrent_seconds},
               {"lanes", counts.figures->lanes},
               {"no_lanes", counts.figures->no_lanes},
               {"kernels", counts.figures->launches},
               {"bytes_moved", counts.figures->bytes_moved},
               {"peak_activation_bytes", counts.figures->peak_bytes},
               {"channels", counts.figures->layout == cost::Layout::channels_last ? "last" : "first"}};
  return {{"nodes", counts.total()}, {"bytes", counts.bytes}, {"operators", counts.operators}, {"predicted", figures}};
}

Json json_of(const Ratio& ratio) { return {{"ratio", ratio.value}, {"low", ratio.low}, {"high", ratio.high}}; }

Json json_of(const RuntimeTimes& times) {
  const auto known = [](const auto& one) { return one ? Json(json_of(*one)) : Json(nullptr); };
  const auto number = [](const std::optional<double>& one) { return one ? Json(*one) : Json(nullptr); };
  Json own_operators = Json::array();
  for (const RuntimeTimes::OwnOperator& own : times.own_operators)
    own_operators.push_back({{"operator", own.op},
                             {"form", own.form},
                             {"places", own.places},
                             {"ratio", known(own.ratio)},
                             {"used", own.is_used()}});
  return {{"machine", times.machine},
          {"written", name_of(times.written)},
          {"original_seconds", times.original_seconds},
          {"clean_ups", known(times.cleaned)},
          {"search", known(times.found)},
          {"search_against_clean_ups", known(times.found_to_cleaned)},
          {"clean_ups_seconds", times.cleaned_seconds},
          {"search_seconds", times.found_seconds},
          {"predicted_clean_ups_seconds", times.predicted_seconds},
          {"error_of_predicted_seconds", number(times.error_of_time())},
          {"predicted", number(times.predicted)},
          {"error_of_prediction", number(times.error())},
          {"own_operators", std::move(own_operators)},
          {"uncertain", times.uncertain}};
}

Json json_of(const onnx::Kinds& kinds) {
  return {{"finite_before", kinds.finite}, {"finite_no_longer", kinds.lost}, {"otherwise_special", kinds.other}};
}

Json json_of(const Coverage& coverage) {
  constexpr std::size_t most_named = 20;
  Json opaque = Json::array();
  for (const OpaqueGroup& group : groups_of(coverage)) {
    Json at = Json::array();
    for (std::size_t i = 0; i < std::min(group.at.size(), most_named); ++i) at.push_back(group.at[i]);
    opaque.push_back({{"operator", group.op},
                      {"count", group.count},
                      {"reason", group.reason},
                      {"seconds", group.seconds},
                      {"on_host_because", group.no_kernel.empty() ? Json(nullptr) : Json(group.no_kernel)},
                      {"at", at}});
  }
  return {{"operators", coverage.operators},
          {"understood", coverage.understood},
          {"seconds", coverage.seconds},
          {"opaque", opaque}};
}

Json json_of_check(const Summary& summary) {
  if (!summary.check) return nullptr;
  const onnx::CheckResult& check = *summary.check;
  return {{"passed", check.passed},
          {"scope", name_of_scope(check.scope)},
          {"samples", summary.samples},
          {"seed", summary.seed},
          {"tensors", check.compared},
          {"worst_share_of_tolerance", check.worst},
          {"least_finite_share", check.finite},
          {"with_large_inputs", json_of(check.large)},
          {"with_special_inputs", json_of(check.special)},
          {"reason", check.reason}};
}

Json json_of(const pricing::AssumedSizes& assumed) {
  Json inputs = Json::object();
  for (const auto& [name, extents] : assumed.inputs) inputs[name] = extents;
  return {{"inputs", inputs}, {"sizes_inside", assumed.inside}, {"values_without_rank", assumed.unranked}};
}

Json json_of(const SearchSummary::Gap& gap, cost::Objective objective) {
  Json regions = Json::array();
  for (const search::RegionGap& region : gap.regions)
    regions.push_back({{"places", region.places},
                       {"operators", region.operators},
                       {"cost", cost::in_units(objective, region.cost)},
                       {"least", cost::in_units(objective, region.least)},
                       {"percent", region.percent()},
                       {"computations", region.computations},
                       {"rounds", region.rounds},
                       {"saturated", region.is_saturated},
                       {"solved", region.is_exact},
                       {"steps", region.steps},
                       {"reached", region.is_reached}});
  return {{"percent", gap.percent()},
          {"cost", gap.cost},
          {"least", gap.least},
          {"computations", gap.computations},
          {"rounds", gap.rounds},
          {"saturated", gap.is_saturated},
          {"solved", gap.is_exact},
          {"regions_solved", gap.solved},
          {"regions_improved", gap.improved},
          {"regions_unsolved", gap.unsolved},
          {"regions", regions}};
}

Json json_of_search(const Summary& summary) {
  if (!summary.search) return nullptr;
  const SearchSummary& search = *summary.search;
  Json applied = Json::array();
  for (const auto& one : search.applied)
    applied.push_back({{"rule", one.rule}, {"count", one.count}, {"saved", one.saved}});
  Json given_up = Json::array();
  for (const auto& one : search.given_up)
    given_up.push_back({{"rule", one.rule}, {"count", one.count}, {"saved", one.saved}});
  Json course = Json::array();
  for (const auto& moment : search.course) course.push_back({moment.seconds, moment.expanded, moment.best});
  Json trials = Json::array();
  for (const auto& one : search.trials)
    trials.push_back({{"rule", one.rule}, {"matched", one.matched}, {"saved", one.saved}});
  return {
      {"objective", name_of(search.objective)},
      {"method", search.method},
      {"gap", search.gap ? json_of(*search.gap, search.objective) : Json(nullptr)},
      {"end", search.end},
      {"rules_hash", search.rules_hash},
      {"network", {{"kind", search::name_of(search.architecture.kind)}, {"reason", search.architecture.reason}}},
      {"rules", search.rules},
      {"float", {{"mode", rules::name_of(search.float_mode)}, {"rules_left_out", search.not_admitted}}},
      {"chosen_rules", search.chosen},
      {"all_rules_because", search.all_rules.empty() ? Json(nullptr) : Json(search.all_rules)},
      {"usable_rules", search.usable},
      {"expanded", search.expanded},
      {"matched", search.matched},
      {"kept", search.kept},
      {"cost", {{"before", search.before}, {"after", search.after}}},
      {"tried_in_lanes", search.tried},
      {"cost_in_lanes",
       search.in_lanes ? Json{{"before", search.in_lanes->before}, {"after", search.in_lanes->after}} : Json(nullptr)},
      {"applied", applied},
      {"given_up", given_up},
      {"trials", trials},
      {"course", course},
      {"left_out", search.left_out},
      {"objection", search.objection},
      {"unconfirmed", search.unconfirmed},
      {"min_gain_percent", search.min_gain},
      {"max_growth_percent", search.max_growth},
      {"note", search.note}};
}

}  // namespace

std::string report_of(const Summary& summary) {
  Json passes = Json::object();
  for (const onnx::CleanupCount& pass : summary.passes) passes[std::string(pass.pass)] = pass.count;
  Json seconds = Json::object();
  for (const auto& [phase, time] : summary.seconds) seconds[phase] = time;
  const Json report = {
      {"schema_version", 1},
      {"program", {{"name", "taso-opt"}, {"version", program_version()}}},
      {"input", summary.input.string()},
      {"output", summary.written ? Json(summary.output.string()) : Json(nullptr)},
      {"certificate", summary.certificate ? Json(summary.certificate->string()) : Json(nullptr)},
      {"verdict", summary.verdict()},
      {"before", json_of(summary.before)},
      {"after", json_of(summary.after)},
      {"coverage", summary.coverage ? json_of(*summary.coverage) : Json(nullptr)},
      {"passes", passes},
      {"cleaned_up", summary.cleaned_nodes ? Json{{"nodes", *summary.cleaned_nodes}} : Json(nullptr)},
      {"prices", summary.prices},
      {"assumed_sizes", json_of(summary.assumed)},
      {"measuring", {{"kernels", summary.measured}, {"seconds", summary.measuring}}},
      {"confirmed", summary.confirmed ? Json{{"ratio", summary.confirmed->value},
                                             {"low", summary.confirmed->low},
                                             {"high", summary.confirmed->high}}
                                      : Json(nullptr)},
      {"in_runtime", summary.in_runtime ? json_of(*summary.in_runtime) : Json(nullptr)},
      {"search", json_of_search(summary)},
      {"check", json_of_check(summary)},
      {"check_text", describe_check(summary)},
      {"seconds", seconds},
  };
  // File and operator names may hold any bytes.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace taso::cli
