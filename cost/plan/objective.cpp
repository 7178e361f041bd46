#include "cost/plan/objective.h"

#include <cmath>

#include <fmt/format.h>

#include "ops/text/units.h"

namespace taso::cost {

std::optional<Objective> objective_named(std::string_view name) {
  for (const Objective one : {Objective::time, Objective::memory, Objective::launches})
    if (name == name_of(one)) return one;
  return std::nullopt;
}

std::string_view name_of(Objective objective) {
  switch (objective) {
    case Objective::time: return "time";
    case Objective::memory: return "memory";
    case Objective::launches: return "launches";
  }
  return "";
}

double in_units(Objective objective, Cost cost) {
  const auto number = static_cast<double>(cost);
  return objective == Objective::time ? number * 1e-12 : number;
}

std::string text_of_cost(Objective objective, double cost) {
  // What a rule saved may be less than nothing.
  if (cost < 0) return "-" + text_of_cost(objective, -cost);
  switch (objective) {
    case Objective::time: return text_of_seconds(cost);
    case Objective::memory: return text_of_bytes(cost);
    case Objective::launches: return fmt::format("{:.0f} {}", cost, std::abs(cost - 1) < 0.5 ? "kernel" : "kernels");
  }
  return "";
}

std::string text_of_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.2f} µs", seconds * 1e6);
}

}  // namespace taso::cost
