// Builds the text of a kernel: lines, numbers, types, and the definitions at the start of every kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/gpu/launch.h"

namespace taso::gpu::kernels {

/// Lines, indented by the number of open blocks.
class Code {
 public:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    add(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  /// A line that opens a block.
  template <class... Arguments>
  void open(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    std::string head = fmt::format(format, std::forward<Arguments>(arguments)...);
    add(head.empty() ? "{" : head + " {");
    ++depth_;
  }
  void close(std::string_view after = "");
  /// A loop that the compiler should unroll.
  void unrolled(std::string_view variable, std::int64_t count);
  void add(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t depth_ = 0;
};

/// The type in which a kernel computes: `real` in its text.
/// `quick` is `single` with instructions for exponentials and quotients that are wrong in the last few bits.
enum class Arithmetic : std::uint8_t { single, quick, twice, whole, natural };
inline bool is_integral(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::whole || arithmetic == Arithmetic::natural;
}
/// The type in which all operands of a call can be computed.
Arithmetic arithmetic_of(const cost::Call& call);

/// The type of an element in memory.
std::string_view type_text(ElementType element);
/// A literal of type `real` with exactly this value.
std::string number(double value, Arithmetic arithmetic);
/// The type of indices, and a literal of that type.
std::string_view index_type(bool is_wide);
std::string index(std::int64_t value, bool is_wide);

/// The definitions at the start of every kernel: element types, `get` and `put` to convert between them and `real`,
/// packs of elements that are moved at once, maximum and minimum.
std::string prelude(Arithmetic arithmetic);

/// The parameters of a kernel, one for each used operand.
struct Parameters {
  std::string text;  ///< as in the kernel's signature
  std::vector<Argument> arguments;
  void add(const cost::Call& call, bool is_written, std::uint32_t operand);
};
/// Opens the kernel of a launch with these parameters. Where the GPU supports it, the launch may start before earlier
/// ones have ended: nothing that they write may be read before `write_waiting` (which writes the call that waits).
void open_kernel(Code& code, SourceLaunch& launch, const Parameters& parameters);
void write_waiting(Code& code);
/// The grid for this many blocks: at least one, and within the limit of a GPU.
std::uint32_t grid_of(std::int64_t blocks);
/// The name of an operand in the kernel.
std::string pointer(bool is_written, std::uint32_t operand);

}  // namespace taso::gpu::kernels
