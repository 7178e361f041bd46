#include "cli/target/runtime_times.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/plan/objective.h"

namespace taso::cli {
namespace {

std::string ratio_text(const Ratio& ratio) {
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f})", ratio.value, ratio.low, ratio.high);
}

}  // namespace

std::optional<double> RuntimeTimes::error() const {
  if (!predicted || !found_to_cleaned) return std::nullopt;
  return *predicted / found_to_cleaned->value - 1;
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
  std::vector<std::string> parts;
  if (times.original_seconds > 0)
    parts.push_back(fmt::format("the original takes {}", cost::text_of_seconds(times.original_seconds)));
  if (times.cleaned) parts.push_back(fmt::format("clean-ups alone are {}", ratio_text(*times.cleaned)));
  if (times.found) parts.push_back(fmt::format("with the search it is {}", ratio_text(*times.found)));
  if (!times.uncertain.empty()) parts.push_back(times.uncertain);
  if (parts.empty()) parts.push_back("nothing changed, so nothing was compared");
  std::string text = fmt::format("target: {}: {}; kept: {}\n", times.machine, fmt::join(parts, ", "),
                                 times.written == RuntimeTimes::Written::found     ? "clean-ups and search"
                                 : times.written == RuntimeTimes::Written::cleaned ? "clean-ups"
                                                                                   : "the original");
  if (const auto error = times.error())
    text += fmt::format("prediction: the search should gain {:.1f} %, and gains {:.1f} %: off by {:+.1f} %\n",
                        100 * (*times.predicted - 1), 100 * (times.found_to_cleaned->value - 1), 100 * *error);
  return text;
}

}  // namespace taso::cli
