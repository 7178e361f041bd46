#include "runtime/gpu/kernels/code.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/core/error.h"

namespace taso::gpu::kernels {
namespace {

/// Under CUDA the conversions are instructions. Otherwise, whoever compiles the text has to define the functions used
/// here.
constexpr std::string_view definitions = R"(struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };
template <class T, int n>
struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) Pack { T v[n]; };
template <int n, class T>
__device__ inline Pack<T, n> load(const T* p) { return *reinterpret_cast<const Pack<T, n>*>(p); }
template <int n, class T>
__device__ inline void store(T* p, const Pack<T, n>& x) { *reinterpret_cast<Pack<T, n>*>(p) = x; }
#ifdef __CUDACC__
__device__ inline float half_to_float(unsigned short x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
__device__ inline unsigned short float_to_half(float x) { unsigned short r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
__device__ inline unsigned short float_to_brain(float x) { unsigned short r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
__device__ inline float brain_to_float(unsigned short x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }
__device__ inline float infinity() { return __int_as_float(0x7f800000); }
#if __CUDA_ARCH__ >= 900
__device__ inline void wait_for_earlier_kernels() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ inline void let_next_kernel_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
#else
__device__ inline void wait_for_earlier_kernels() {}
__device__ inline void let_next_kernel_begin() {}
#endif
__device__ inline float quick_exp(float x) { return __expf(x); }
__device__ inline float quick_divide(float a, float b) { return __fdividef(a, b); }
__device__ inline float maximum(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ inline float minimum(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
#endif
template <class T>
__device__ inline T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <class T>
__device__ inline T minimum(T a, T b) { return a < b || a != a ? a : b; }
template <class T>
__device__ inline real get(T x) { return static_cast<real>(x); }
__device__ inline real get(f16 x) { return static_cast<real>(half_to_float(x.bits)); }
__device__ inline real get(bf16 x) { return static_cast<real>(brain_to_float(x.bits)); }
template <class T>
__device__ inline T put(real x) { return static_cast<T>(x); }
template <>
__device__ inline f16 put<f16>(real x) { return f16{float_to_half(static_cast<float>(x))}; }
template <>
__device__ inline bf16 put<bf16>(real x) { return bf16{float_to_brain(static_cast<float>(x))}; }
template <>
__device__ inline bool put<bool>(real x) { return x != 0; }
)";

/// Integers wrap around; division by 0 gives 0.
constexpr std::string_view integral_definitions = R"(__device__ inline real plus(real a, real b) {
  return static_cast<real>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
__device__ inline real minus(real a, real b) {
  return static_cast<real>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}
__device__ inline real times(real a, real b) {
  return static_cast<real>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}
__device__ inline real divide(real a, real b) { return b == 0 ? 0 : b == static_cast<real>(-1) && b < 1 ? minus(0, a) : a / b; }
__device__ inline real power(real a, real b) {
  if (b < 1 && b != 0) return a == 0 ? static_cast<real>(0x7fffffffffffffffll) : a == 1 ? 1 : a == static_cast<real>(-1) ? (b % 2 == 0 ? 1 : a) : 0;
  real result = 1;
  for (unsigned long long n = static_cast<unsigned long long>(b); n != 0; n >>= 1, a = times(a, a))
    if (n & 1) result = times(result, a);
  return result;
}
)";

std::string_view real_text(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::single:
    case Arithmetic::quick: return "float";
    case Arithmetic::twice: return "double";
    case Arithmetic::whole: return "long long";
    case Arithmetic::natural: break;
  }
  return "unsigned long long";
}

}  // namespace

void Code::close(std::string_view after) {
  check(depth_ > 0, "only an open block is closed");
  --depth_;
  add(fmt::format("}}{}", after));
}

void Code::unrolled(std::string_view variable, std::int64_t count) {
  if (count > 1) add("#pragma unroll");
  open("for (int {0} = 0; {0} < {1}; ++{0})", variable, count);
}

void Code::add(std::string_view text) {
  text_.append(2 * depth_, ' ');
  text_ += text;
  text_ += '\n';
}

Arithmetic arithmetic_of(const cost::Call& call) {
  Arithmetic widest = Arithmetic::natural;
  const auto rank = [](Arithmetic arithmetic) {  // each type can hold the values of those before it
    switch (arithmetic) {
      case Arithmetic::natural: return 0;
      case Arithmetic::whole: return 1;
      case Arithmetic::single:
      case Arithmetic::quick: return 2;
      case Arithmetic::twice: break;
    }
    return 3;
  };
  const auto take = [&](const cost::Call::Operand& operand) {
    const Arithmetic own = operand.element == ElementType::float64 ? Arithmetic::twice
                           : is_floating(operand.element)          ? Arithmetic::single
                           : is_signed_integer(operand.element)    ? Arithmetic::whole
                                                                   : Arithmetic::natural;
    if (rank(own) > rank(widest)) widest = own;
  };
  for (const cost::Call::Operand& operand : call.read) take(operand);
  for (const cost::Call::Operand& operand : call.written) take(operand);
  return widest;
}

std::string_view type_text(ElementType element) {
  switch (element) {
    case ElementType::float32: return "float";
    case ElementType::float64: return "double";
    case ElementType::float16: return "f16";
    case ElementType::bfloat16: return "bf16";
    case ElementType::int8: return "signed char";
    case ElementType::int16: return "short";
    case ElementType::int32: return "int";
    case ElementType::int64: return "long long";
    case ElementType::uint8: return "unsigned char";
    case ElementType::uint16: return "unsigned short";
    case ElementType::uint32: return "unsigned";
    case ElementType::uint64: return "unsigned long long";
    case ElementType::boolean: return "bool";
    case ElementType::undefined: break;
  }
  check(false, "a kernel of our own works on elements that we model");
  return {};
}

std::string number(double value, Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::single:
    case Arithmetic::quick: {
      const auto rounded = static_cast<float>(value);
      if (std::isinf(rounded)) return rounded > 0 ? "infinity()" : "-infinity()";
      return std::trunc(rounded) == rounded && std::abs(rounded) < 1e6f ? fmt::format("{:.1f}f", rounded)
                                                                        : fmt::format("{:a}f", rounded);
    }
    case Arithmetic::twice:
      if (std::isinf(value)) return value > 0 ? "static_cast<double>(infinity())" : "-static_cast<double>(infinity())";
      return fmt::format("{:a}", value);
    case Arithmetic::whole: {
      // As the integer arithmetic of `Math` does: values out of range are clamped.
      if (value >= 0x1p63) return "0x7fffffffffffffffll";
      if (value <= -0x1p63) return "(-0x7fffffffffffffffll - 1)";
      return fmt::format("{}ll", static_cast<std::int64_t>(value));
    }
    case Arithmetic::natural: break;
  }
  if (value >= 0x1p64) return "0xffffffffffffffffull";
  return fmt::format("{}ull", value <= 0 ? 0 : static_cast<std::uint64_t>(value));
}

std::string_view index_type(bool is_wide) { return is_wide ? "unsigned long long" : "unsigned"; }

std::string index(std::int64_t value, bool is_wide) { return fmt::format("{}{}", value, is_wide ? "ull" : "u"); }

std::string prelude(Arithmetic arithmetic) {
  std::string text = fmt::format("typedef {} real;\n", real_text(arithmetic));
  text += definitions;
  if (is_integral(arithmetic)) text += integral_definitions;
  return text;
}

void open_kernel(Code& code, SourceLaunch& launch, const Parameters& parameters) {
  launch.arguments = parameters.arguments;
  launch.begins_early = true;
  const std::string cluster = launch.cluster > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", launch.cluster) : "";
  code.open("extern \"C\" __global__ void {}__launch_bounds__({}) {}({})", cluster, launch.block, launch.name,
            parameters.text);
}

void write_waiting(Code& code) {
  code.line("wait_for_earlier_kernels();");
  code.line("let_next_kernel_begin();");
}

std::uint32_t grid_of(std::int64_t blocks) {
  check(blocks <= std::numeric_limits<std::int32_t>::max(), "a kernel has no more blocks than a GPU can count");
  return static_cast<std::uint32_t>(std::max<std::int64_t>(1, blocks));
}

std::string pointer(bool is_written, std::uint32_t operand) {
  return fmt::format("{}{}", is_written ? 'w' : 'r', operand);
}

void Parameters::add(const cost::Call& call, bool is_written, std::uint32_t operand) {
  const Argument argument{is_written ? Argument::Place::written : Argument::Place::read, operand, 0};
  if (std::find(arguments.begin(), arguments.end(), argument) != arguments.end()) return;
  const cost::Call::Operand& own = (is_written ? call.written : call.read).at(operand);
  text += fmt::format("{}{}{}* __restrict__ {}", text.empty() ? "" : ", ", is_written ? "" : "const ",
                      type_text(own.element), pointer(is_written, operand));
  arguments.push_back(argument);
}

}  // namespace taso::gpu::kernels
