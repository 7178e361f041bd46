#include "cli/target/recorded_machine.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace taso::cli {
namespace {

/// The number behind a label in a name: "threads 2"; nothing if it is not there.
std::optional<std::int64_t> number_behind(std::string_view name, std::string_view label) {
  const std::size_t at = name.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const char* const begin = name.data() + at + label.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
  return error == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
}

/// Whether a version is newer: "1.31.1" than "1.9.0".
bool is_newer(std::string_view one, std::string_view other) {
  const auto numbers = [](std::string_view version) {
    std::vector<std::int64_t> list;
    for (const char* at = version.data(); at < version.data() + version.size();) {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(at, version.data() + version.size(), number);
      if (error != std::errc()) break;
      list.push_back(number);
      at = end + 1;  // the dot
    }
    return list;
  };
  return numbers(one) > numbers(other);
}

template <class Part>
std::vector<std::string> different(const std::vector<RecordedMachine>& machines, Part part) {
  std::set<std::string> found;
  for (const RecordedMachine& machine : machines) found.insert(fmt::format("{}", part(machine)));
  return {found.begin(), found.end()};
}

/// What there is beside the wanted prices.
std::string others(const std::vector<RecordedMachine>& all) {
  if (all.empty()) return "there are none of ONNX Runtime";
  return fmt::format("there are prices of {}",
                     fmt::join(different(all, [](const RecordedMachine& one) { return one.name; }), "; "));
}

}  // namespace

std::optional<RecordedMachine> recorded_machine(const std::string& name) {
  constexpr std::string_view runtime = ", ONNX Runtime ", provider = " provider";
  const std::size_t at = name.find(runtime), end = name.find(provider);
  if (at == std::string::npos || end == std::string::npos || end < at) return std::nullopt;
  const std::size_t version = at + runtime.size(), comma = name.find(", ", version);
  if (comma == std::string::npos || comma > end) return std::nullopt;
  RecordedMachine machine{name, name.substr(0, at), name.substr(version, comma - version),
                          name.substr(comma + 2, end - comma - 2)};
  machine.threads = static_cast<unsigned>(number_behind(name, ", threads ").value_or(1));
  machine.opset = number_behind(name, ", opset ").value_or(machine.opset);
  return machine;
}

RecordedMachine choose_machine(const cost::PriceDatabase& prices, const WantedPrices& wanted) {
  std::vector<RecordedMachine> all, fitting;
  for (const std::string& name : prices.machines())
    if (auto machine = recorded_machine(name); machine && prices.size(name) > 0) all.push_back(std::move(*machine));
  for (const RecordedMachine& machine : all) {
    const bool is_named = wanted.part_of_name.empty()
                              ? wanted.processor.empty() || machine.processor == wanted.processor
                              : machine.name.find(wanted.part_of_name) != std::string::npos;
    if (is_named && machine.provider == wanted.provider) fitting.push_back(machine);
  }
  const std::string what = !wanted.part_of_name.empty() ? fmt::format("'{}'", wanted.part_of_name)
                           : wanted.processor.empty()   ? "any processor"
                                                        : wanted.processor;
  if (fitting.empty())
    throw PricesMissing{fmt::format("no prices of the {} provider on {}; {}", wanted.provider, what, others(all))};
  if (wanted.threads) {
    const std::string known =
        fmt::format("{}", fmt::join(different(fitting, [](const RecordedMachine& one) { return one.threads; }), ", "));
    std::erase_if(fitting, [&](const RecordedMachine& one) { return one.threads != *wanted.threads; });
    if (fitting.empty())
      throw PricesMissing{fmt::format("the prices on {} are those of other numbers of threads: {}, not {}", what, known,
                                      *wanted.threads)};
  }
  const auto threads = different(fitting, [](const RecordedMachine& one) { return one.threads; });
  if (threads.size() > 1)
    throw PricesMissing{
        fmt::format("there are prices for several numbers of threads ({}): choose one with "
                    "--runtime-threads",
                    fmt::join(threads, ", "))};
  const auto processors = different(fitting, [](const RecordedMachine& one) { return one.processor; });
  if (processors.size() > 1)
    throw PricesMissing{fmt::format("there are prices of several machines ({}): choose one with --prices-of",
                                    fmt::join(processors, "; "))};
  const auto distance = [&](const RecordedMachine& one) { return std::abs(one.opset - wanted.opset); };
  return *std::min_element(fitting.begin(), fitting.end(), [&](const RecordedMachine& a, const RecordedMachine& b) {
    if (distance(a) != distance(b)) return distance(a) < distance(b);
    if (a.version != b.version) return is_newer(a.version, b.version);
    return a.opset < b.opset;
  });
}

}  // namespace taso::cli
