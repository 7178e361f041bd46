#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console/version.h"
#include "cli/verify/regions.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

using Json = nlohmann::ordered_json;
using verifier::Agreement;
using verifier::OpenBox;

/// `-v` shows the rest.
constexpr std::size_t most_ranks = 4;

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// One digit, rounded up.
std::string bound_text(double bound) {
  if (bound <= 0) return "0";
  const double exponent = std::floor(std::log10(bound));
  return fmt::format("{:.0e}", std::ceil(bound / std::pow(10, exponent)) * std::pow(10, exponent));
}

Extents position_of(const verifier::Counterexample& difference) {
  Extents position;
  auto rest = static_cast<std::int64_t>(difference.place);
  for (const std::int64_t stride : strides_of(difference.source[0].extents)) {
    position.push_back(rest / stride);
    rest %= stride;
  }
  return position;
}

std::string further_in(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += fmt::format("    {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string open_text(const RegionResult::AtRanks& one, bool everything) {
  const auto names = verifier::names_in(one.instance);
  const Agreement& agreement = one.agreement;
  std::string text;
  const OpenBox* example = nullptr;
  std::size_t differing = 0;
  for (const OpenBox& open : agreement.open) {
    if (!open.difference) continue;
    ++differing;
    if (example == nullptr || open.difference->place < example->difference->place) example = &open;
  }
  if (example != nullptr) {
    const verifier::Counterexample& difference = *example->difference;
    text += fmt::format("  differs in {}, for example at {} of {}: {:g} and {:g}\n", counted(differing, "box", "boxes"),
                        ops::text_of(position_of(difference)), ops::text_of(difference.source[0].extents),
                        difference.source[0].data[difference.place], difference.target[0].data[difference.place]);
    if (everything) {
      for (const OpenBox& open : agreement.open)
        if (open.difference) text += fmt::format("    {}\n", verifier::text_of(open.box, agreement.shape, names));
      text += further_in(verifier::text_of(difference, one.instance));
    }
  }
  for (const OpenBox& open : agreement.open)
    if (!open.difference)
      text += fmt::format("  unknown where {}\n", verifier::text_of(open.box, agreement.shape, names));
  return text;
}

std::string field_text(const Agreement& agreement) {
  const verifier::FieldSummary& field = agreement.field;
  std::string text = fmt::format("  {}, {} over the prime field", counted(field.sizes, "size", "sizes"),
                                 counted(field.inputs, "random input", "random inputs"));
  if (field.error)
    text += fmt::format("; a position where they differ passes with probability below {}", bound_text(*field.error));
  else
    text += "; not multilinear, so no bound of the error is known";
  if (field.covered < field.agreeing)
    text += fmt::format("\n  {} of {} positions that agree there are in no proved box", field.agreeing - field.covered,
                        field.agreeing);
  if (field.unfit > 0)
    text += fmt::format(
        "\n  {} of {} groups with one summation interval do not meet PET's condition: all their positions were "
        "compared",
        field.unfit, field.groups);
  return text + "\n";
}

std::string text_of(const RegionResult::AtRanks& one, bool several, bool everything) {
  const auto names = verifier::names_in(one.instance);
  const Agreement& agreement = one.agreement;
  std::string text;
  if (several) text += fmt::format("  at {}\n", agreement.choice);
  if (!agreement.obstacle.empty()) return text + fmt::format("  nothing is proved: {}\n", agreement.obstacle);
  for (const verifier::Box& box : agreement.proved) {
    const std::string where = verifier::text_of(box, agreement.shape, names);
    text += fmt::format("  equal {}{} (proved for all shapes)\n", where == "everywhere" ? "" : "where ", where);
  }
  if (agreement.proved.empty()) text += "  no box is proved to be equal\n";
  text += open_text(one, everything);
  if (agreement.typical && !agreement.open.empty() && !agreement.proved.empty())
    text += fmt::format("  {:.1f} % of the output is proved to be equal at {}\n", 100 * agreement.typical->share,
                        agreement.typical->sizes);
  text += field_text(agreement);
  if (!agreement.disagreement.empty()) text += fmt::format("  TWO WAYS DISAGREE: {}\n", agreement.disagreement);
  return text;
}

Json json_of(const verifier::Box& box, const RegionResult::AtRanks& one) {
  const auto names = verifier::names_in(one.instance);
  Json axes = Json::array();
  for (const verifier::Interval& axis : box.axes)
    axes.push_back({{"low", verifier::text_of(axis.low, names)}, {"high", verifier::text_of(axis.high, names)}});
  return axes;
}

Json json_of(const RegionResult::AtRanks& one) {
  const Agreement& agreement = one.agreement;
  const auto names = verifier::names_in(one.instance);
  Json shape = Json::array(), proved = Json::array(), open = Json::array();
  for (const Dim& dim : agreement.shape) shape.push_back(verifier::text_of(dim, names));
  for (const verifier::Box& box : agreement.proved) proved.push_back(json_of(box, one));
  for (const OpenBox& box : agreement.open) {
    Json difference;
    if (box.difference)
      difference = {{"position", position_of(*box.difference)},
                    {"of", box.difference->source[0].extents},
                    {"source", box.difference->source[0].data[box.difference->place]},
                    {"target", box.difference->target[0].data[box.difference->place]},
                    {"example", verifier::text_of(*box.difference, one.instance)}};
    open.push_back({{"box", json_of(box.box, one)}, {"difference", difference}});
  }
  const verifier::FieldSummary& field = agreement.field;
  Json typical;
  if (agreement.typical) typical = {{"sizes", agreement.typical->sizes}, {"share", agreement.typical->share}};
  return {{"choice", agreement.choice},
          {"shape", shape},
          {"obstacle", agreement.obstacle.empty() ? Json(nullptr) : Json(agreement.obstacle)},
          {"equal_everywhere", agreement.is_everywhere()},
          {"proved", proved},
          {"open", open},
          {"typical", typical},
          {"field",
           {{"sizes", field.sizes},
            {"inputs", field.inputs},
            {"error_bound", field.error ? Json(*field.error) : Json(nullptr)},
            {"positions", field.positions},
            {"agreeing", field.agreeing},
            {"covered", field.covered},
            {"summation_groups", field.groups},
            {"groups_without_condition", field.unfit}}},
          {"disagreement", agreement.disagreement.empty() ? Json(nullptr) : Json(agreement.disagreement)}};
}

}  // namespace

std::string text_of(const RegionResults& results, bool everything) {
  std::string text;
  std::size_t everywhere = 0, partly = 0, nowhere = 0, left_out = 0;
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const RegionResult& result = results.results[i];
    if (!result.decided) continue;
    text += fmt::format("{}: {}\n", place_of(results.rules[i], results.files), results.rules[i].rule.name);
    if (!result.skipped.empty()) {
      text += fmt::format("  left out: {}\n\n", result.skipped);
      ++left_out;
      continue;
    }
    const bool several = result.instances.size() > 1;
    for (std::size_t k = 0; k < result.instances.size() && (everything || k < most_ranks); ++k)
      text += text_of(result.instances[k], several, everything);
    if (!everything && result.instances.size() > most_ranks)
      text +=
          fmt::format("  {} more choices of ranks and axes are shown with -v\n", result.instances.size() - most_ranks);
    const auto all = [&](auto&& holds) {
      return std::all_of(result.instances.begin(), result.instances.end(),
                         [&](const auto& one) { return holds(one.agreement); });
    };
    if (all([](const Agreement& agreement) { return agreement.is_everywhere(); }))
      ++everywhere;
    else if (all([](const Agreement& agreement) { return agreement.proved.empty(); }))
      ++nowhere;
    else
      ++partly;
    text += "\n";
  }
  text += fmt::format("{}: {} equal everywhere, {} on a part of the output, {} without a proved part",
                      counted(everywhere + partly + nowhere + left_out, "rule", "rules"), everywhere, partly, nowhere);
  if (left_out > 0) text += fmt::format(", {} left out", left_out);
  return text;
}

std::string report_of(const RegionResults& results) {
  Json files = Json::array(), rules = Json::array();
  for (const GivenFile& file : results.files) files.push_back(file.source.name());
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const RegionResult& result = results.results[i];
    const GivenRule& given = results.rules[i];
    Json instances = Json::array();
    for (const auto& one : result.instances) instances.push_back(json_of(one));
    rules.push_back({{"name", given.rule.name},
                     {"file", results.files[given.file].source.name()},
                     {"line", given.line == 0 ? Json(nullptr) : Json(given.line)},
                     {"decided", result.decided},
                     {"left_out", result.skipped.empty() ? Json(nullptr) : Json(result.skipped)},
                     {"instances", instances},
                     {"seconds", result.seconds}});
  }
  const Json report = {
      {"schema_version", 1},
      {"program", {{"name", "taso-verify"}, {"version", program_version()}}},
      {"versions",
       {{"taso", program_version()}, {"verifier", verifier::verifier_revision}, {"z3", verifier::z3_version()}}},
      {"files", files},
      {"seed", results.seed},
      {"verdict", results.word()},
      {"agreement", rules},
      {"seconds", {{"total", results.seconds}}},
  };
  // File names may hold any bytes.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace taso::cli
