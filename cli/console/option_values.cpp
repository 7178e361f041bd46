#include "cli/console/option_values.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cli/console/exit_code.h"

namespace taso::cli {
namespace {

std::optional<double> finite_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::uint64_t whole_number(const std::string& flag, const std::string& text, std::uint64_t most, std::uint64_t least) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value > most || value < least)
    throw UsageError(fmt::format("{} takes a whole number from {} to {}, not '{}'", flag, least, most, text));
  return value;
}

double number_from_zero(const std::string& flag, const std::string& text) {
  if (const auto value = finite_number(text); value && *value >= 0) return *value;
  throw UsageError(fmt::format("{} takes a number that is 0 or greater, not '{}'", flag, text));
}

double number_between(const std::string& flag, const std::string& text, double least, double most) {
  if (const auto value = finite_number(text); value && *value >= least && *value <= most) return *value;
  throw UsageError(fmt::format("{} takes a number from {} to {}, not '{}'", flag, least, most, text));
}

std::size_t byte_count(const std::string& flag, const std::string& text) {
  const auto bad = [&] {
    return UsageError(fmt::format("{} takes a number of bytes such as 4G or 512M, not '{}'", flag, text));
  };
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) throw bad();
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  double factor = 1;
  if (!unit.empty()) {
    constexpr std::string_view letters = "BKMGT";
    const std::size_t place = letters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
    const std::string_view rest = unit.substr(1);
    if (place == std::string_view::npos || (!rest.empty() && (place == 0 || (rest != "B" && rest != "iB"))))
      throw bad();
    for (std::size_t i = 0; i < place; ++i) factor *= 1024;
  }
  if (value * factor >= 0x1p62) throw bad();
  return static_cast<std::size_t>(value * factor);
}

std::optional<std::filesystem::path> named_file(const std::string& flag, const std::string& text) {
  if (text == "-") throw UsageError(fmt::format("{} needs a file name; '-' is not accepted here", flag));
  return text.empty() ? std::nullopt : std::optional<std::filesystem::path>(text);
}

Console::Color color_named(const std::string& text) {
  return text == "always"  ? Console::Color::always
         : text == "never" ? Console::Color::never
                           : Console::Color::automatic;
}

}  // namespace taso::cli
