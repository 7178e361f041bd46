// The text of a kernel, as it is written: lines, numbers, types, and the definitions that stand before every kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/gpu/launch.h"

namespace taso::gpu::kernels {

/// Lines, indented by the blocks that are open.
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
  /// A loop that the compiler is to write out.
  void unrolled(std::string_view variable, std::int64_t count);
  void add(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t depth_ = 0;
};

/// What a kernel computes in: `real` in its text.
enum class Arithmetic : std::uint8_t { single, twice, whole, natural };
inline bool is_integral(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::whole || arithmetic == Arithmetic::natural;
}
/// What all operands of a call can be computed in.
Arithmetic arithmetic_of(const cost::Call& call);

/// The type of an element in memory.
std::string_view type_text(ElementType element);
/// A number of type `real`, exactly.
std::string number(double value, Arithmetic arithmetic);
/// The type of indices, and one of them.
std::string_view index_type(bool is_wide);
std::string index(std::int64_t value, bool is_wide);

/// Definitions that stand before every kernel: element types, `get` and `put` between them and `real`, packs of elements that
/// are moved at once, maximum and minimum.
std::string prelude(Arithmetic arithmetic);

/// A parameter of a kernel for each operand that is used.
struct Parameters {
  std::string text;  ///< as in the kernel's head
  std::vector<Argument> arguments;
  void add(const cost::Call& call, bool is_written, std::uint32_t operand);
};
/// Opens the kernel that a launch is, on these parameters. The launch may begin before those ahead of it have ended, on a GPU
/// that can do so: nothing that they write may be read before `write_waiting`, or the lines that it writes.
void open_kernel(Code& code, SourceLaunch& launch, const Parameters& parameters);
void write_waiting(Code& code);
/// So many blocks, at least one; a GPU has an end to that.
std::uint32_t grid_of(std::int64_t blocks);
/// The name by which a kernel knows an operand.
std::string pointer(bool is_written, std::uint32_t operand);

}  // namespace taso::gpu::kernels
