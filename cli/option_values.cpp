#include "cli/option_values.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cli/ending.h"

namespace taso {

std::uint64_t whole_number(const std::string& flag, const std::string& text, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value > most)
    throw UsageError(fmt::format("{} takes a whole number from 0 to {}, not '{}'", flag, most, text));
  return value;
}

double number_from_zero(const std::string& flag, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value) || value < 0)
    throw UsageError(fmt::format("{} takes a number from 0 on, not '{}'", flag, text));
  return value;
}

Console::Color color_named(const std::string& text) {
  if (text.empty() || text == "auto") return Console::Color::automatic;
  if (text == "always") return Console::Color::always;
  if (text == "never") return Console::Color::never;
  throw UsageError(fmt::format("--color takes auto, always or never, not '{}'", text));
}

}  // namespace taso
