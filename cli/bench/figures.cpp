#include "cli/bench/figures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/console/exit_code.h"
#include "cli/console/table.h"
#include "cli/console/version.h"
#include "cost/plan/objective.h"
#include "ops/core/random.h"

namespace taso::cli {
namespace {

constexpr int schema_version = 1;
constexpr int resamplings = 500;

std::string time_text(double microseconds) {
  return microseconds < 1000 ? fmt::format("{:.1f} µs", microseconds) : cost::text_of_seconds(microseconds * 1e-6);
}

/// Rates below ten a second have three digits, because half an example is not one.
std::string rate_text(double a_second) {
  return a_second < 9.995 ? fmt::format("{:#.3g}", a_second)
                          : with_commas(static_cast<std::uint64_t>(std::llround(a_second)));
}

/// The file name, or the path as given if two files have the same name.
std::string shown_name(const BenchFigures& one, const BenchReport& report) {
  const bool is_ambiguous = std::any_of(report.models.begin(), report.models.end(), [&](const BenchFigures& other) {
    return other.model.filename() == one.model.filename() && other.model != one.model;
  });
  return on_one_line((is_ambiguous ? one.model : one.model.filename()).string());
}

/// The gain from running kernels concurrently.
std::string lanes_text(const BenchFigures& one, const std::string& name) {
  const std::string alone =
      fmt::format("{} (predicted {})", time_text(one.lanes.alone), time_text(one.predicted_alone));
  if (one.lanes.lanes == 1) return fmt::format("{}: sequential, {}; {}\n", name, alone, one.lanes.others);
  return fmt::format("{}: streams: {}, {} (predicted {}) against {} sequential; {}\n", name, one.lanes.lanes,
                     time_text(one.lanes.time), time_text(one.predicted.value_or(0)), alone, one.lanes.others);
}

std::string agreement_text(const Agreement& check) {
  const std::string alone = check.rounding_error ? fmt::format(", rounding alone {:.1e}", *check.rounding_error) : "";
  return fmt::format("{} ({:.1e}{})", check.agrees ? "yes" : "NO", check.error, alone);
}

}  // namespace

double quantile(std::vector<double> numbers, double share) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  const double at = share * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, numbers.size() - 1);
  return numbers[below] + (numbers[above] - numbers[below]) * (at - static_cast<double>(below));
}

Ratio ratio_of(const std::vector<double>& first, const std::vector<double>& second) {
  Ratio ratio;
  ratio.value = quantile(first, 0.5) / std::max(quantile(second, 0.5), 1e-9);
  // Bootstrap: resampling the measurements shows how much the ratio would vary if all were repeated.
  Random random(1);
  std::vector<double> ratios;
  std::vector<double> a(first.size()), b(second.size());
  for (int i = 0; i < resamplings; ++i) {
    for (double& one : a) one = first[random.below(first.size())];
    for (double& one : b) one = second[random.below(second.size())];
    ratios.push_back(quantile(a, 0.5) / std::max(quantile(b, 0.5), 1e-9));
  }
  ratio.low = quantile(ratios, 0.025);
  ratio.high = quantile(ratios, 0.975);
  return ratio;
}

Ratio ratio_in_turn(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> rounds;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    rounds.push_back(first[i] / std::max(second[i], 1e-9));
  if (rounds.empty()) return {};
  Ratio ratio;
  ratio.value = quantile(rounds, 0.5);
  Random random(1);
  std::vector<double> medians, drawn(rounds.size());
  for (int i = 0; i < resamplings; ++i) {
    for (double& one : drawn) one = rounds[random.below(rounds.size())];
    medians.push_back(quantile(drawn, 0.5));
  }
  ratio.low = quantile(medians, 0.025);
  ratio.high = quantile(medians, 0.975);
  return ratio;
}

std::string table_of(const BenchReport& report) {
  Table table;
  table.rows.push_back({"", "median", "5 %", "95 %", "per second", "predicted", "kernels", "memory", "agrees"});
  table.numbers_from = 1;
  table.numbers_to = 7;
  for (const BenchFigures& one : report.models) {
    const double median = quantile(one.microseconds, 0.5);
    table.rows.push_back({shown_name(one, report), time_text(median), time_text(quantile(one.microseconds, 0.05)),
                          time_text(quantile(one.microseconds, 0.95)),
                          rate_text(static_cast<double>(one.examples) * 1e6 / std::max(median, 1e-9)),
                          one.predicted ? time_text(*one.predicted) : "",
                          one.kernels > 0 ? with_commas(one.kernels) : "",
                          one.device_bytes > 0 ? bytes_text(static_cast<std::uint64_t>(one.device_bytes)) : "",
                          one.check ? agreement_text(*one.check) : "not checked"});
  }
  std::string text = table.text();
  for (std::size_t i = 1; i < report.models.size(); ++i) {
    const Ratio ratio = ratio_of(report.models[0].microseconds, report.models[i].microseconds);
    const char* const verdict = ratio.is_faster()   ? "faster"
                                : ratio.is_slower() ? "slower"
                                                    : "no difference beyond noise";
    text += fmt::format("{} against {}: {:.3f}x ({:.3f} to {:.3f}), {}\n", shown_name(report.models[i], report),
                        shown_name(report.models[0], report), ratio.value, ratio.low, ratio.high, verdict);
    if (!report.models[i].has_inputs_of_first)
      text += fmt::format("{} takes other inputs than {}: they do different work\n",
                          shown_name(report.models[i], report), shown_name(report.models[0], report));
  }
  for (const BenchFigures& one : report.models)
    if (one.lanes.alone > 0) text += lanes_text(one, shown_name(one, report));
  for (const BenchFigures& one : report.models)
    if (!one.range.empty())
      text +=
          fmt::format("{}: out of the range of {} on any device: {}; use another precision\n", shown_name(one, report),
                      report.precision ? cost::name_of(*report.precision) : "the type", one.range);
  for (const BenchFigures& one : report.models)
    if (!one.on_host.empty())
      text += fmt::format("{}: run on the host, without a kernel: {}\n", shown_name(one, report),
                          fmt::join(one.on_host, ", "));
  if (report.versions.empty()) {
    text += "these are times of the CPU reference, not of a GPU\n";
  } else {
    text += fmt::format("{}, {}", report.device, report.versions);
    if (report.precision) text += fmt::format("; {}", cost::name_of(*report.precision));
    if (report.state.watts > 0)
      text += fmt::format("; {:.0f} W, {:.0f} °C, {:.0f} MHz", report.state.watts, report.state.celsius,
                          report.state.megahertz);
    text += "\n";
  }
  if (!report.is_complete) {
    std::size_t least = report.models.empty() ? 0 : report.models.front().microseconds.size();
    for (const BenchFigures& one : report.models) least = std::min(least, one.microseconds.size());
    text += fmt::format("interrupted: {} {} of each model, or more\n", least, least == 1 ? "run" : "runs");
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string profile_of(const BenchFigures& figures) {
  Table table;
  table.rows.push_back({"predicted", "measured", "kernel", "how"});
  table.numbers_from = 0;
  table.numbers_to = 1;
  const auto profiled = [](double microseconds) { return cost::text_of_seconds(microseconds * 1e-6); };
  double predicted = 0, measured = 0;
  for (const BenchFigures::Kernel& kernel : figures.profile) {
    table.rows.push_back({profiled(kernel.predicted), profiled(kernel.measured), kernel.operators, kernel.choice});
    predicted += kernel.predicted;
    measured += kernel.measured;
  }
  table.rows.push_back({profiled(predicted), profiled(measured), "sum, sequential", ""});
  std::string text = table.text();
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string json_of(const BenchReport& report) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["schema_version"] = schema_version;
  json["program"] = {{"name", "taso-bench"}, {"version", program_version()}};
  json["device"] = report.device;
  json["versions"] = report.versions;
  if (report.precision) json["precision"] = cost::name_of(*report.precision);
  json["complete"] = report.is_complete;
  json["state"] = {
      {"watts", report.state.watts}, {"celsius", report.state.celsius}, {"megahertz", report.state.megahertz}};
  json["models"] = Json::array();
  for (std::size_t i = 0; i < report.models.size(); ++i) {
    const BenchFigures& one = report.models[i];
    Json model;
    model["model"] = one.model.string();
    model["microseconds"] = {{"median", quantile(one.microseconds, 0.5)},
                             {"5_percent", quantile(one.microseconds, 0.05)},
                             {"95_percent", quantile(one.microseconds, 0.95)},
                             {"runs", one.microseconds.size()}};
    model["examples"] = one.examples;
    if (one.predicted) model["predicted_microseconds"] = *one.predicted;
    if (one.lanes.alone > 0)
      model["lanes"] = {{"lanes", one.lanes.lanes},
                        {"microseconds", one.lanes.time},
                        {"one_after_the_other", one.lanes.alone},
                        {"predicted_one_after_the_other", one.predicted_alone},
                        {"tried", one.lanes.others}};
    model["measured_share"] = one.measured_share;
    model["kernels"] = one.kernels;
    model["device_bytes"] = one.device_bytes;
    model["arena_bytes"] = one.arena_bytes;
    model["layout"] = one.layout;
    model["on_host"] = one.on_host;
    if (one.check) {
      model["check"] = {{"agrees", one.check->agrees}, {"relative_error", one.check->error}};
      if (one.check->rounding_error) model["check"]["rounding_error"] = *one.check->rounding_error;
      if (!one.range.empty()) model["check"]["range"] = one.range;
    }
    if (i > 0) {
      const Ratio ratio = ratio_of(report.models[0].microseconds, one.microseconds);
      model["speed_against_first"] = {{"ratio", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
      model["has_inputs_of_first"] = one.has_inputs_of_first;
    }
    for (const BenchFigures::Kernel& kernel : one.profile)
      model["profile"].push_back({{"operators", kernel.operators},
                                  {"choice", kernel.choice},
                                  {"predicted", kernel.predicted},
                                  {"measured", kernel.measured}});
    json["models"].push_back(std::move(model));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace taso::cli
