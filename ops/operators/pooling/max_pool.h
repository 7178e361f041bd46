#pragma once

#include "ops/operators/pooling/pooling.h"

namespace taso::ops::op {

/// The maximum of each window; padding is ignored.
struct MaxPool {
  static constexpr std::string_view name = "max_pool";
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<std::int64_t> kernel, strides, dilations;
  std::vector<std::int64_t> pads;  ///< all begins, then all ends
  bool ceil = false;               ///< rounds the number of windows up

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("kernel", self.kernel);
    field("strides", self.strides);
    field("dilations", self.dilations);
    field("pads", self.pads);
    field("ceil", self.ceil);
  }
  bool operator==(const MaxPool&) const = default;

  Shape infer(std::span<const Shape> in) const { return infer_pooling(name, in[0], kernel, windows()); }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(infer(shapes_of(in)));
    return evaluate_pooling(in[0], extents, kernel, windows(), [](const S* plane, const Window& window) {
      // Dilation can skip all of a small input.
      if (window.taps.empty()) return Math<S>::lowest();
      S greatest = plane[window.taps[0].input];
      for (const Tap& tap : window.taps.subspan(1)) greatest = Math<S>::maximum(greatest, plane[tap.input]);
      return greatest;
    });
  }
  Work work(std::span<const Shape> in) const { return pooling_work(in, infer(in), kernel); }

 private:
  Windows windows() const { return {strides, dilations, pads, ceil}; }
};

}  // namespace taso::ops::op
