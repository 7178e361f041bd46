#pragma once

#include "ops/operators/pooling/pooling.h"

namespace taso::ops::op {

/// The mean of each window. The divisor is the number of its cells inside the input or, with `count_padding`, inside
/// the padded input. Cells beyond that, which `ceil` can add, are never counted.
template <class Size>
struct AveragePoolOf {
  static constexpr std::string_view name = "average_pool";
  static constexpr Traits traits{Trait::sums, Trait::tame};
  static constexpr KernelRole role = KernelRole::pooling;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<Size> kernel, strides, dilations;
  std::vector<Size> pads;  ///< all begins, then all ends
  bool ceil = false;       ///< rounds the number of windows up
  bool count_padding = false;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("kernel", self.kernel);
    field("strides", self.strides);
    field("dilations", self.dilations);
    field("pads", self.pads);
    field("ceil", self.ceil);
    field("count_padding", self.count_padding);
  }
  bool operator==(const AveragePoolOf&) const = default;

  /// A window may see nothing of the input; then there is nothing to divide by.
  bool is_partial() const { return !count_padding; }
  Shape infer(std::span<const Shape> in, Fit& fit) const { return infer_pooling(fit, in[0], kernel, windows()); }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(inferred(*this, shapes_of(in)));
    return evaluate_pooling(in[0], extents, kernel, windows(), [this](const S* plane, const Window& window) {
      // Dilation can skip all of a small input: the mean of nothing is 0.
      if (window.taps.empty()) return Math<S>::constant(0);
      S sum = plane[window.taps[0].input];
      for (const Tap& tap : window.taps.subspan(1)) sum = sum + plane[tap.input];
      const double cells = count_padding ? window.padded_cells : static_cast<double>(window.taps.size());
      return Math<S>::divide(sum, Math<S>::constant(cells));
    });
  }
  double window_cells(const Extents&) const { return cells_of(kernel); }
  Work work(std::span<const Shape> in) const { return pooling_work(in, inferred(*this, in), cells_of(kernel)); }

 private:
  WindowsOf<Size> windows() const { return {strides, dilations, pads, ceil}; }
};

using AveragePool = AveragePoolOf<std::int64_t>;

}  // namespace taso::ops::op
