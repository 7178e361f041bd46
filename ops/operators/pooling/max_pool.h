#pragma once

#include "ops/operators/pooling/pooling.h"

namespace taso::ops::op {

/// The maximum of each window; padding is ignored.
template <class Size>
struct MaxPoolOf {
  static constexpr std::string_view name = "max_pool";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::pooling;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<Size> kernel, strides, dilations;
  std::vector<Size> pads;  ///< all begins, then all ends
  bool ceil = false;       ///< rounds the number of windows up

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("kernel", self.kernel);
    field("strides", self.strides);
    field("dilations", self.dilations);
    field("pads", self.pads);
    field("ceil", self.ceil);
  }
  bool operator==(const MaxPoolOf&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const {
    Shape result = infer_pooling(fit, in[0], kernel, windows());
    // Dilation can step over all of a small input. The greatest of nothing is no real number: rules say nothing of it.
    if (fit.is_for_rule())
      for (std::size_t axis = 0; axis < dilations.size(); ++axis)
        fit.at_least(in[0][2 + axis], dilations[axis], [] { return std::string(); });
    return result;
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(inferred(*this, shapes_of(in)));
    return evaluate_pooling(in[0], extents, kernel, windows(), [](const S* plane, const Window& window) {
      // Dilation can skip all of a small input.
      if (window.taps.empty()) return Math<S>::lowest();
      S greatest = plane[window.taps[0].input];
      for (const Tap& tap : window.taps.subspan(1)) greatest = Math<S>::maximum(greatest, plane[tap.input]);
      return greatest;
    });
  }
  double window_cells(const Extents&) const { return cells_of(kernel); }
  Work work(std::span<const Shape> in) const { return pooling_work(in, inferred(*this, in), cells_of(kernel)); }

 private:
  WindowsOf<Size> windows() const { return {strides, dilations, pads, ceil}; }
};

using MaxPool = MaxPoolOf<std::int64_t>;

}  // namespace taso::ops::op
