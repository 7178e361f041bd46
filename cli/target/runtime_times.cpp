#include "cli/target/runtime_times.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/table.h"
#include "cost/plan/objective.h"

namespace taso::cli {
namespace {

/// An error of a predicted time from which on prices that were measured beside other work are a likely reason: on a
/// quiet machine they were off by at most 15 %, on a busy one by 25 % and more.
constexpr double doubtful = 0.25;

std::string ratio_text(const Ratio& ratio) {
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f})", ratio.value, ratio.low, ratio.high);
}

}  // namespace

std::optional<double> RuntimeTimes::error() const {
  if (!predicted || !found_to_cleaned) return std::nullopt;
  return *predicted / found_to_cleaned->value - 1;
}

std::optional<double> RuntimeTimes::error_of_time() const {
  if (predicted_seconds <= 0 || cleaned_seconds <= 0) return std::nullopt;
  return predicted_seconds / cleaned_seconds - 1;
}

std::string_view name_of(RuntimeTimes::Written written) {
  switch (written) {
    case RuntimeTimes::Written::original: return "original";
    case RuntimeTimes::Written::cleaned: return "clean-ups";
    case RuntimeTimes::Written::found: break;
  }
  return "search";
}

std::string text_of(const RuntimeTimes& times) {
  std::string text = fmt::format("target: {}\n", times.machine);
  Table table{{}, 1, 2};
  const auto run = [&](const char* model, double seconds, const std::optional<Ratio>& ratio) {
    table.rows.push_back({model, cost::text_of_seconds(seconds), ratio ? ratio_text(*ratio) : ""});
  };
  if (times.original_seconds > 0) run("  as read", times.original_seconds, std::nullopt);
  if (times.cleaned) run("  cleaned up", times.cleaned_seconds, times.cleaned);
  if (times.found) run("  with the search", times.found_seconds, times.found);
  text += table.text();
  text += fmt::format("kept: {}{}\n",
                      times.written == RuntimeTimes::Written::found     ? "clean-ups and search"
                      : times.written == RuntimeTimes::Written::cleaned ? "clean-ups"
                                                                        : "the model as read",
                      times.uncertain.empty() ? "" : "; " + times.uncertain);
  for (const RuntimeTimes::OwnOperator& own : times.own_operators)
    text += fmt::format("{}: {} at {} place{} ({}): {}\n", "ONNX Runtime's own operator", own.op, own.places,
                        own.places == 1 ? "" : "s", own.form,
                        own.ratio ? fmt::format("alone it is {}, so it is {}", ratio_text(*own.ratio),
                                                own.is_used() ? "tried in the model" : "not used")
                                  : "refused by ONNX Runtime");
  std::vector<std::string> errors;
  if (const auto error = times.error_of_time())
    errors.push_back(fmt::format("the cleaned-up model should take {}, and takes {}: off by {:+.1f} %",
                                 cost::text_of_seconds(times.predicted_seconds),
                                 cost::text_of_seconds(times.cleaned_seconds), 100 * *error));
  if (const auto error = times.error())
    errors.push_back(fmt::format("the search should gain {:.1f} %, and gains {:.1f} %: off by {:+.1f} %",
                                 100 * (*times.predicted - 1), 100 * (times.found_to_cleaned->value - 1),
                                 100 * *error));
  if (!errors.empty()) text += fmt::format("prediction: {}\n", fmt::join(errors, "; "));
  if (std::abs(times.error_of_time().value_or(0)) > doubtful)
    text += "  if this machine was busy, now or when the prices were measured, measure again with --prices NEW_FILE\n";
  return text;
}

}  // namespace taso::cli
