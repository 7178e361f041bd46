#include "cost/pricing/price_database.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cost/plan/kernel.h"
#include "ops/core/error.h"

namespace taso::cost {
namespace {

constexpr std::string_view first_words = "taso prices ";
constexpr int oldest_version = 1, version_now = 4;
constexpr int knows_warm_behind_itself = 4;  // the first such version
/// The share of the saving by cached weights after a writer that remains after itself, where a part of it is hidden.
/// Fits seven networks whose weights stay in the cache.
constexpr double saved_behind_itself = 0.5;
constexpr std::string_view machine_word = "machine ";

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  return value;
}

/// The version in the first line; nothing if this is not a price file.
std::optional<int> version_of(std::string_view line) {
  if (!line.starts_with(first_words)) return std::nullopt;
  line.remove_prefix(first_words.size());
  int version = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), version);
  if (error != std::errc() || end != line.data() + line.size() || version < oldest_version) return std::nullopt;
  return version;
}

std::optional<std::array<std::string_view, 4>> fields_of(std::string_view line) {
  std::array<std::string_view, 4> fields;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t end = line.find('\t');
    if (end == std::string_view::npos) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  fields[3] = line;
  if (line.empty() || line.find('\t') != std::string_view::npos) return std::nullopt;
  return fields;
}

/// The times in the order of the file.
template <class Price>
auto times_of(Price& price) {
  return std::array{&price.nanoseconds, &price.warm_nanoseconds, &price.again_nanoseconds, &price.stranger_nanoseconds};
}

std::string text_of_times(const RecordedPrice& price) {
  const auto times = times_of(price);
  const auto is_printed = [](double time) { return fmt::format("{:.1f}", time) != "0.0"; };  // 0: not measured
  std::size_t count = times.size();
  while (count > 1 && !is_printed(*times[count - 1])) --count;
  std::string text = fmt::format("{:.1f}", price.nanoseconds);
  for (std::size_t i = 1; i < count; ++i) text += fmt::format("/{:.1f}", *times[i]);
  return text;
}

std::optional<RecordedPrice> price_of(const std::array<std::string_view, 4>& fields) {
  std::string_view spread = fields[1];
  RecordedPrice price;
  if (!spread.empty() && spread.back() == '?') {
    price.is_settled = false;
    spread.remove_suffix(1);
  }
  const auto percent = number_of(spread);
  if (!percent) return std::nullopt;
  price.spread = *percent / 100;
  std::string_view times = fields[0];
  for (double* const time : times_of(price)) {
    const std::size_t slash = times.find('/');
    const auto nanoseconds = number_of(times.substr(0, slash));
    // Prices above the limit of a kernel are rejected.
    if (!nanoseconds || *nanoseconds > static_cast<double>(highest_kernel_price) / 1e3) return std::nullopt;
    *time = *nanoseconds;
    if (slash == std::string_view::npos) break;
    times.remove_prefix(slash + 1);
    if (time == &price.stranger_nanoseconds) return std::nullopt;  // more figures than a line may have
  }
  price.choice = fields[2];
  return price;
}

/// Converts a price of an older file, where the time with weights from the cache was measured after a writer.
void renew(RecordedPrice& price) {
  if (price.again_nanoseconds <= 0 || price.warm_nanoseconds <= 0) return;
  const double saved = std::max(price.nanoseconds - price.warm_nanoseconds, 0.0) * saved_behind_itself;
  price.warm_nanoseconds = std::max(price.again_nanoseconds - saved, price.again_nanoseconds / 2);
}

}  // namespace

PriceDatabase PriceDatabase::parse(std::string_view text, const std::string& source) {
  PriceDatabase database;
  std::map<std::string, RecordedPrice>* prices = nullptr;
  std::size_t number = 0;
  int version = 0;
  const auto refuse = [&](std::string_view why) { throw InputError(fmt::format("{}:{}: {}", source, number, why)); };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (line.ends_with('\r')) line.remove_suffix(1);  // all: written and read back, one more would be gone
    if (++number == 1) {
      const auto told = version_of(line);
      if (!told) refuse(fmt::format("a file of prices begins with '{}{}'", first_words, version_now));
      version = *told;
      if (version > version_now)
        refuse(fmt::format("a newer taso has written this file: it has version {}, and versions {} to {} are read here",
                           version, oldest_version, version_now));
      continue;
    }
    // The rest of a truncated call would be another call.
    if (end == std::string_view::npos) refuse("the file breaks off in the middle of this line");
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with(machine_word)) {
      prices = &database.prices_[std::string(line.substr(machine_word.size()))];
      continue;
    }
    if (prices == nullptr) refuse("a price appears before any 'machine' line");
    const auto fields = fields_of(line);
    if (!fields) refuse("a price is nanoseconds, spread, choice and call, with tabs between");
    auto price = price_of(*fields);
    if (!price) refuse("nanoseconds and spread are numbers from 0 on");
    if (version < knows_warm_behind_itself) renew(*price);
    prices->insert_or_assign(std::string((*fields)[3]), *price);
  }
  if (number == 0) refuse("the file is empty");
  return database;
}

std::string PriceDatabase::text() const {
  std::string text = fmt::format("{}{}\n", first_words, version_now);
  for (const auto& [machine, prices] : prices_) {
    if (prices.empty()) continue;
    text += fmt::format("{}{}\n", machine_word, machine);
    for (const auto& [call, price] : prices)
      text += fmt::format("{}\t{:.1f}{}\t{}\t{}\n", text_of_times(price), price.spread * 100,
                          price.is_settled ? "" : "?", price.choice, call);
  }
  return text;
}

const RecordedPrice* PriceDatabase::find(const std::string& machine, const std::string& call) const {
  const auto prices = prices_.find(machine);
  if (prices == prices_.end()) return nullptr;
  const auto price = prices->second.find(call);
  return price == prices->second.end() ? nullptr : &price->second;
}

void PriceDatabase::set(const std::string& machine, const std::string& call, RecordedPrice price) {
  prices_[machine].insert_or_assign(call, std::move(price));
}

void PriceDatabase::merge(const PriceDatabase& other) {
  for (const auto& [machine, prices] : other.prices_)
    for (const auto& [call, price] : prices) {
      const RecordedPrice* const known = find(machine, call);
      if (known == nullptr || !known->is_complete() || price.is_complete()) set(machine, call, price);
    }
}

std::vector<std::string> PriceDatabase::machines() const {
  std::vector<std::string> names;
  for (const auto& [machine, prices] : prices_) names.push_back(machine);
  return names;
}

std::vector<std::string> PriceDatabase::calls(const std::string& machine) const {
  std::vector<std::string> texts;
  if (const auto prices = prices_.find(machine); prices != prices_.end())
    for (const auto& [call, price] : prices->second) texts.push_back(call);
  return texts;
}

std::size_t PriceDatabase::size(const std::string& machine) const {
  const auto prices = prices_.find(machine);
  return prices == prices_.end() ? 0 : prices->second.size();
}

}  // namespace taso::cost
