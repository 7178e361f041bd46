#include "tests/runtime/gpu/source_check.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "ops/core/random.h"
#include "runtime/gpu/kernels/space.h"
#include "tests/catch.h"
#include "tests/runtime/gpu/call_on_host.h"
#include "tests/runtime/gpu/source_kernels.h"

namespace taso::test {

using namespace gpu;

namespace {

/// Bytes that end at an inaccessible page, so that reads and writes beyond the end fail, with the least alignment that
/// a kernel may assume.
class GuardedBytes {
 public:
  GuardedBytes(std::int64_t size, std::int64_t alignment) {
    const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
    pages_ = (size + 64 + page - 1) / page * page;
    memory_ = static_cast<std::byte*>(::mmap(nullptr, static_cast<std::size_t>(pages_ + page), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    ::mprotect(memory_ + pages_, static_cast<std::size_t>(page), PROT_NONE);
    bytes_ = pages_ + page;
    std::int64_t begin = pages_ - size;
    while (begin % (alignment >= 16 ? 16 : 2 * alignment) != (alignment >= 16 ? 0 : alignment)) --begin;
    data = memory_ + begin;
    std::memset(memory_, 0xA5, static_cast<std::size_t>(pages_));
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes(GuardedBytes&& other) noexcept
      : data(other.data), memory_(std::exchange(other.memory_, nullptr)), pages_(other.pages_), bytes_(other.bytes_) {}
  ~GuardedBytes() {
    if (memory_ != nullptr) ::munmap(memory_, static_cast<std::size_t>(bytes_));
  }
  std::byte* data = nullptr;

 private:
  std::byte* memory_ = nullptr;
  std::int64_t pages_ = 0, bytes_ = 0;
};

/// Difficult numbers for plain functions: equal numbers, halves, the limits of types and numbers beyond them.
template <class T>
T odd_number(Random& random, bool is_positive) {
  if constexpr (std::is_same_v<T, bool>) {
    return random.chance(0.5);
  } else if constexpr (std::is_integral_v<T>) {
    if (random.chance(0.4)) return static_cast<T>(random.between(std::is_signed_v<T> ? -3 : 0, 3));
    return random.chance(0.2)   ? std::numeric_limits<T>::min()
           : random.chance(0.2) ? std::numeric_limits<T>::max()
                                : static_cast<T>(random.next());
  } else {
    static const std::vector<double> scales{0.25, 0.5, 1, 2, 0.1, 3};
    if (is_positive) return T(static_cast<float>(random.pick(scales)));
    const std::int64_t most = random.chance(0.5) ? 4 : random.chance(0.9) ? 700 : 200'000;
    return T(static_cast<float>(random.between(-most, most)) * 0.5F);
  }
}

/// Moderate numbers, sometimes with NaN or infinity among them.
void fill(Random& random, const cost::Call::Operand& operand, bool is_positive, bool is_odd, double nans,
          std::byte* data) {
  const auto size = static_cast<std::int64_t>(size_of(operand.element));
  with_element_type(operand.element, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t at = 0; at + size <= span_bytes(operand); at += size) {
      T value{};
      if (is_odd) {
        value = odd_number<T>(random, is_positive);
        if constexpr (!std::is_integral_v<T>)
          if (!is_positive && random.chance(nans))
            value = T(random.pick(std::vector{std::numeric_limits<float>::quiet_NaN(), -0.0F, -HUGE_VALF, HUGE_VALF}));
      } else if constexpr (std::is_same_v<T, bool>) {
        value = is_positive || random.chance(0.5);
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(is_positive ? random.between(1, 3) : random.between(std::is_signed_v<T> ? -5 : 0, 5));
      } else {
        const double number = random.unit() * 1.5 + 0.5;
        value = T(static_cast<float>(is_positive || random.chance(0.5) ? number : -number));
        if (!is_positive && random.chance(nans))
          value =
              T(random.chance(0.5) ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity());
      }
      std::memcpy(data + at, &value, sizeof value);
    }
  });
}

/// Whether a call must be bit-exact, also for difficult numbers: a plain function, or a cast.
bool is_exact(const cost::Call& call) {
  return call.function || std::any_of(call.pieces.begin(), call.pieces.end(), [&](const cost::Call::Piece& piece) {
           return call.read[piece.read].element != call.written[piece.written].element;
         });
}

/// Relative to the greatest number. Functions after a product may amplify the rounding to TF32.
double tolerance_of(ElementType element, const cost::Call& call) {
  if (is_exact(call)) return 0;
  switch (element) {
    case ElementType::float32:
      return call.precision == cost::Precision::fp32 ? 2e-5 : call.steps.size() > 1 ? 2e-2 : 1e-3;
    case ElementType::float16: return 2e-3;
    case ElementType::bfloat16: return 1.6e-2;
    case ElementType::float64: return 1e-11;
    default: return 0;
  }
}

/// Empty if both have the same numbers, and the same bytes in the gaps.
std::string difference(const cost::Call::Operand& operand, const cost::Call& call, const std::byte* found,
                       const std::byte* expected) {
  const std::vector<double> a = gathered(operand, found).doubles(), b = gathered(operand, expected).doubles();
  double greatest = 0;
  for (const double x : b)
    if (std::isfinite(x)) greatest = std::max(greatest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance_of(operand.element, call) * greatest))
      return fmt::format("element {} is {} instead of {}", i, a[i], b[i]);
  }
  // Apart from the elements, all bytes must be unchanged.
  cost::Call::Operand written = operand;
  const auto bytes = static_cast<std::size_t>(span_bytes(operand));
  std::vector<std::byte> left(found, found + bytes), expected_left(expected, expected + bytes);
  const auto size = static_cast<std::size_t>(size_of(operand.element));
  Extents index(operand.extents.size(), 0);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(a.size()); ++i) {
    std::int64_t rest = i, at = 0;
    for (std::size_t axis = operand.extents.size(); axis-- > 0; rest /= operand.extents[axis])
      at += rest % operand.extents[axis] * operand.strides[axis];
    std::memset(left.data() + static_cast<std::size_t>(at) * size, 0, size);
    std::memset(expected_left.data() + static_cast<std::size_t>(at) * size, 0, size);
  }
  return left == expected_left ? "" : "something was written beside the elements";
}

std::string run_and_compare(const CheckedCall& checked, const HostKernels& kernels, std::size_t number,
                            Random& random) {
  const cost::Call& call = checked.call;
  const SourceLaunch& launch = checked.launch;
  std::vector<GuardedBytes> read, written, expected;
  std::vector<const std::byte*> read_data;
  std::vector<std::byte*> expected_data;
  const double nans = is_exact(call) ? 0.05 : random.chance(0.1) ? 0.01 : 0;
  for (std::size_t i = 0; i < call.read.size(); ++i) {
    // Weights are always well aligned.
    read.emplace_back(span_bytes(call.read[i]), call.read[i].is_weight ? 16 : gpu::kernels::alignment_of(call.read[i]));
    fill(random, call.read[i], !checked.is_positive.empty() && checked.is_positive[i], is_exact(call), nans,
         read.back().data);
    if (std::find(checked.masks.begin(), checked.masks.end(), i) != checked.masks.end())
      fill_mask(random, call.read[i], read.back().data);
    read_data.push_back(read.back().data);
  }
  for (const cost::Call::Operand& operand : call.written) {
    written.emplace_back(span_bytes(operand), gpu::kernels::alignment_of(operand));
    expected.emplace_back(span_bytes(operand), gpu::kernels::alignment_of(operand));
    expected_data.push_back(expected.back().data);
  }
  run_on_host(call, read_data, expected_data);
  std::vector<void*> arguments;
  for (const Argument& argument : launch.arguments) {
    REQUIRE(argument.place != Argument::Place::scratch);
    arguments.push_back((argument.place == Argument::Place::read ? read : written).at(argument.index).data +
                        argument.offset);
  }
  kernels.run(number, launch, arguments);
  for (std::size_t i = 0; i < written.size(); ++i)
    if (const std::string text = difference(call.written[i], call, written[i].data, expected[i].data); !text.empty())
      return fmt::format("result {}: {}", i, text);
  return "";
}

}  // namespace

void fill_mask(Random& random, const cost::Call::Operand& operand, std::byte* data) {
  const std::int64_t length = operand.extents.empty() ? 1 : operand.extents.back();
  const auto size = static_cast<std::int64_t>(size_of(operand.element));
  with_element_type(operand.element, [&](auto sample) {
    using T = decltype(sample);
    double share = 0;
    for (std::int64_t at = 0; at + size <= span_bytes(operand); at += size) {
      if (at / size % length == 0) share = random.pick(std::vector{0.0, 0.3, 1.0});
      T value{};
      if constexpr (!std::is_integral_v<T>)
        if (random.chance(share)) value = T(-HUGE_VALF);
      std::memcpy(data + at, &value, sizeof value);
    }
  });
}

void check_kernels(const std::vector<CheckedCall>& calls) {
  constexpr std::size_t at_once = 120;
  const DeviceCompiler compiler;
  if (!compiler.is_there()) WARN("NVRTC is not there: the kernels are not compiled for a GPU");
  for (std::size_t first = 0; first < calls.size(); first += at_once) {
    std::vector<SourceLaunch> launches;
    for (std::size_t i = first; i < std::min(first + at_once, calls.size()); ++i) launches.push_back(calls[i].launch);
    const HostKernels kernels(launches);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const CheckedCall& checked = calls[first + i];
      Random random(first + i + 1000);
      INFO("call " << first + i << "\n" << cost::text_of(checked.call) << "\n" << launches[i].source);
      CHECK(run_and_compare(checked, kernels, i, random) == "");
    }
    if (compiler.is_there()) CHECK(compiler.complaints(DeviceCompiler::joined(launches)) == "");
  }
}

}  // namespace taso::test
