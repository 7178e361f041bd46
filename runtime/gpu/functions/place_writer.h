// Writes kernels with one thread for each result element: the index of the element, and expressions for places of
// dense operands.
#pragma once

#include "runtime/gpu/kernels/code.h"

namespace taso::gpu::kernels {

class PlaceWriter {
 public:
  /// `elements`: how many threads there are; `written`: how many of the written operands are parameters.
  PlaceWriter(const cost::Call& call, std::string_view name, std::int64_t elements, std::uint32_t written = 1);

  Code& code() { return code_; }
  const cost::Call& call() const { return call_; }
  const std::vector<std::int64_t>& integers() const { return call_.function->what.integers; }
  const std::vector<double>& numbers() const { return call_.function->what.numbers; }
  std::size_t operands() const { return call_.function->operands.size(); }
  bool has(std::size_t operand) const {
    return operand < operands() && number_of(operand) != cost::Call::Function::omitted;
  }
  const Extents& extents(std::size_t operand) const { return call_.read.at(number_of(operand)).extents; }
  const Extents& result() const { return call_.written[0].extents; }
  /// The element of an operand at a place, as it is stored.
  std::string element(std::size_t operand, std::string_view place) const {
    return fmt::format("{}[{}]", pointer(false, number_of(operand)), place);
  }
  std::string_view type() const { return type_text(call_.written[0].element); }
  /// Writes indices along these extents of the element with this number, called `prefix` and the axis.
  void indices(const std::string& number, std::string_view prefix, const Extents& extents);
  /// Writes an index that may be negative, and is clamped to the extent.
  void index(std::string_view name, const std::string& element, std::int64_t extent);
  /// The place of these indices.
  static std::string place(const std::vector<std::string>& indices, const Extents& extents);
  SourceLaunch finish(std::string_view definitions = "");

 private:
  std::uint32_t number_of(std::size_t operand) const { return call_.function->operands.at(operand); }

  const cost::Call& call_;
  SourceLaunch launch_;
  Code code_;
};

/// prefix0, prefix1, …
std::vector<std::string> numbered(std::string_view prefix, std::size_t count);

void write_integer_convolution(PlaceWriter& writer);
void write_integer_matmul(PlaceWriter& writer);
void write_resize(PlaceWriter& writer);
void write_roi_align(PlaceWriter& writer);
void write_rotary_embedding(PlaceWriter& writer);
void write_grid_sample(PlaceWriter& writer);
void write_lp_pool(PlaceWriter& writer);
void write_column_to_image(PlaceWriter& writer);
void write_determinant(PlaceWriter& writer);
/// Definitions before the kernel of these.
std::string region_definitions();
std::string sampling_definitions(const cost::DeviceFunction& function);

}  // namespace taso::gpu::kernels
