#include "examples/networks/weights.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ops/core/error.h"
#include "ops/core/random.h"

namespace taso::examples {
namespace {

static_assert(std::endian::native == std::endian::little, "ONNX stores raw data with the lowest byte first");

/// The start of a parameter's own random sequence.
std::uint64_t stream_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return hash ^ Random(seed).next();
}

/// A number from the sum of four uniform ones. It is close to a normal distribution without logarithms and cosines,
/// whose last digits differ between libraries and machines.
double bell(std::uint64_t bits) {
  constexpr double deviation = 37837.22723720648;  // of the sum: the root of (65536^2 - 1) / 3
  const std::uint64_t sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
  return (static_cast<double>(static_cast<std::int64_t>(sum)) - 131070.0) / deviation;
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return T(static_cast<float>(value));
}

template <class T>
void fill(std::string& bytes, const Spread& spread, Random random) {
  char* place = bytes.data();
  const auto put = [&](double number) {
    const T value = rounded<T>(spread.mean + spread.deviation * number);
    std::memcpy(place, &value, sizeof(T));
    place += sizeof(T);
  };
  const char* const end = place + bytes.size();
  std::vector<double> run(spread.run);
  while (place != end) {
    if (run.empty()) {
      put(bell(random.next()));
      continue;
    }
    double sum = 0;
    for (double& number : run) sum += number = bell(random.next());
    const double excess = spread.balance * sum / static_cast<double>(run.size());
    for (const double number : run) put(number - excess);
  }
}

}  // namespace

std::string seeded_bytes(ElementType type, std::size_t count, const Spread& spread, std::uint64_t seed,
                         std::string_view name) {
  check(spread.run == 0 || count % spread.run == 0, "runs fill the parameter exactly");
  std::string bytes(count * size_of(type), '\0');
  const Random random(stream_of(seed, name));
  switch (type) {
    case ElementType::float32: fill<float>(bytes, spread, random); break;
    case ElementType::float64: fill<double>(bytes, spread, random); break;
    case ElementType::float16: fill<Float16>(bytes, spread, random); break;
    case ElementType::bfloat16: fill<BFloat16>(bytes, spread, random); break;
    default: check(false, "parameters are floating-point numbers");
  }
  return bytes;
}

}  // namespace taso::examples
