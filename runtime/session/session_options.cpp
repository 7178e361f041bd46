#include "runtime/session/session_options.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/characters.h"
#include "runtime/pricing/price_store.h"

namespace taso::runtime {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view expected) {
  throw InputError(fmt::format("the option '{}' cannot be '{}': {}", name, on_one_line(value), expected));
}

template <class Number>
Number number(std::string_view name, std::string_view value, Number most) {
  Number result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || !(result >= 0) || result > most)
    refuse(name, value, fmt::format("a number from 0 to {} is expected", most));
  return result;
}

bool truth(std::string_view name, std::string_view value) {
  if (value != "0" && value != "1") refuse(name, value, "0 or 1 is expected");
  return value == "1";
}

}  // namespace

void SessionOptions::set(std::string_view name, std::string_view value) {
  constexpr std::string_view cuda = "cuda:";
  if (name == "device") {
    device_number = 0;
    if (value == "auto")
      device = Device::automatic;
    else if (value == "cpu")
      device = Device::cpu;
    else if (value == "cuda" || value.starts_with(cuda))
      device = Device::cuda;
    else
      refuse(name, value, "auto, cpu, cuda or cuda:NUMBER is expected");
    if (value.starts_with(cuda)) device_number = number<int>(name, value.substr(cuda.size()), 1023);
  } else if (name == "precision") {
    if (value == "float32")
      precision = cost::Precision::fp32;
    else if (value == "tf32")
      precision = cost::Precision::tf32;
    else if (value == "float16")
      precision = cost::Precision::fp16;
    else if (value == "bfloat16")
      precision = cost::Precision::bf16;
    else
      refuse(name, value, "float32, tf32, float16 or bfloat16 is expected");
  } else if (name == "optimize") {
    search_seconds = number<double>(name, value, 1e9);
  } else if (name == "measure") {
    measures = truth(name, value);
  } else if (name == "trust") {
    has_trust = truth(name, value);
  } else if (name == "prices") {
    prices = value;
  } else if (name == "threads") {
    threads = number<unsigned>(name, value, 256);
  } else if (name == "streams") {
    lanes = std::max(1u, number<unsigned>(name, value, 64));
  } else if (name == "plans") {
    most_plans = std::max<std::size_t>(1, number<std::size_t>(name, value, 1'000'000));
  } else if (name == "memory") {
    most_device_bytes = number<std::size_t>(name, value, std::numeric_limits<std::int64_t>::max());
  } else if (name == "past_capacity") {
    past_capacity = number<std::int64_t>(name, value, 1 << 24);
  } else {
    throw InputError(fmt::format("there is no option '{}'", on_one_line(name)));
  }
}

void SessionOptions::check_files() const {
  if (!prices) return;
  const auto refuse_file = [&](const std::string& why) {
    throw InputError(fmt::format("the option 'prices' names {}: {}", on_one_line(prices->string()), why));
  };
  std::error_code error;
  // Measuring makes the file.
  if (!measures && !std::filesystem::exists(*prices, error)) refuse_file("it does not exist");
  try {
    const pricing::PriceStore store(*prices, pricing::PriceStore::none, false);
  } catch (const InputError& trouble) {
    refuse_file(trouble.what());
  }
}

}  // namespace taso::runtime
