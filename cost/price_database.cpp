#include "cost/price_database.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cost/kernel.h"
#include "ops/error.h"

namespace taso {
namespace {

constexpr std::string_view first_line = "taso prices 2", older_first_line = "taso prices 1";
constexpr std::string_view machine_word = "machine ";

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  return value;
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

std::optional<RecordedPrice> price_of(const std::array<std::string_view, 4>& fields) {
  std::string_view spread = fields[1];
  RecordedPrice price;
  if (!spread.empty() && spread.back() == '?') {
    price.is_settled = false;
    spread.remove_suffix(1);
  }
  const std::size_t slash = fields[0].find('/');
  const bool has_warm = slash != std::string_view::npos;
  const auto nanoseconds = number_of(fields[0].substr(0, slash)), percent = number_of(spread);
  const auto warm = has_warm ? number_of(fields[0].substr(slash + 1)) : 0;
  // Beyond what a kernel may cost nothing is believed.
  constexpr auto most = static_cast<double>(highest_kernel_price) / 1e3;
  if (!nanoseconds || !percent || !warm || *nanoseconds > most || *warm > most) return std::nullopt;
  price.nanoseconds = *nanoseconds;
  price.warm_nanoseconds = *warm;
  price.spread = *percent / 100;
  price.choice = fields[2];
  return price;
}

}  // namespace

PriceDatabase PriceDatabase::parse(std::string_view text, const std::string& source) {
  PriceDatabase database;
  std::map<std::string, RecordedPrice>* prices = nullptr;
  std::size_t number = 0;
  const auto refuse = [&](std::string_view why) { throw InputError(fmt::format("{}:{}: {}", source, number, why)); };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (++number == 1) {
      if (line != first_line && line != older_first_line)
        refuse(fmt::format("a file of prices begins with '{}'", first_line));
      continue;
    }
    // What is left of a call that was cut off would be another call.
    if (end == std::string_view::npos) refuse("the file breaks off in the middle of this line");
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with(machine_word)) {
      prices = &database.prices_[std::string(line.substr(machine_word.size()))];
      continue;
    }
    if (prices == nullptr) refuse("no line has said yet of which machine prices are");
    const auto fields = fields_of(line);
    if (!fields) refuse("a price is nanoseconds, spread, choice and call, with tabs between");
    const auto price = price_of(*fields);
    if (!price) refuse("nanoseconds and spread are numbers from 0 on");
    prices->insert_or_assign(std::string((*fields)[3]), *price);
  }
  if (number == 0) refuse("the file is empty");
  return database;
}

std::string PriceDatabase::text() const {
  std::string text = fmt::format("{}\n", first_line);
  for (const auto& [machine, prices] : prices_) {
    if (prices.empty()) continue;
    text += fmt::format("{}{}\n", machine_word, machine);
    for (const auto& [call, price] : prices)
      text += fmt::format("{:.1f}{}\t{:.1f}{}\t{}\t{}\n", price.nanoseconds,
                          price.warm_nanoseconds > 0 ? fmt::format("/{:.1f}", price.warm_nanoseconds) : "",
                          price.spread * 100, price.is_settled ? "" : "?", price.choice, call);
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
    for (const auto& [call, price] : prices) set(machine, call, price);
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

}  // namespace taso
