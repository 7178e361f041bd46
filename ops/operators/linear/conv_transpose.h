#pragma once

#include "ops/operators/elementwise/elementwise.h"
#include "ops/operators/pooling/windows.h"

namespace taso::ops::op {

/// Transposed convolution of x [N, C, spatial...] with w [C, O / groups, kernel...] and an optional bias [O]: each
/// element of x, times a kernel, is added to the window of the result at which a convolution with these attributes
/// would compute that element. Pads cut off the borders of the result; `output_padding` is added at its ends.
template <class Size>
struct ConvTransposeOf {
  static constexpr std::string_view name = "conv_transpose";
  static constexpr Traits traits{Trait::sums, Trait::tame};
  static constexpr KernelRole role = KernelRole::pooling;  // a kernel of its own, with nothing fused
  static constexpr std::size_t min_inputs = 2, max_inputs = 3;
  static constexpr double kernel_flops = 7;  // per product; measured
  std::vector<Size> strides, dilations;
  std::vector<Size> pads;  ///< all begins, then all ends
  std::vector<Size> output_padding;
  Size groups = 1;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("strides", self.strides);
    field("dilations", self.dilations);
    field("pads", self.pads);
    field("output_padding", self.output_padding);
    field("groups", self.groups);
  }
  bool operator==(const ConvTransposeOf&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  Work work(std::span<const Shape> in) const;

  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(inferred(*this, shapes_of(in)));
    const Tensor<S>&x = in[0], &w = in[1];
    const Extents area = spatial(x.extents), kernel = spatial(w.extents), places = spatial(extents);
    const std::int64_t input_size = count(area), kernel_size = count(kernel), output_size = count(places);
    const std::int64_t channels = w.extents[0], filters = extents[1];
    const std::int64_t channels_per_group = channels / groups, filters_per_group = w.extents[1];

    Tensor<S> result(extents, Math<S>::constant(0));
    // Windows over the result, one for each place of x.
    Windows{strides, dilations, pads}.for_each(places, kernel, area, [&](const Window& window) {
      for (std::int64_t n = 0; n < extents[0]; ++n)
        for (std::int64_t c = 0; c < channels; ++c) {
          const S& factor = x[(n * channels + c) * input_size + window.output];
          const std::int64_t first_filter = n * filters + c / channels_per_group * filters_per_group;
          for (std::int64_t o = 0; o < filters_per_group; ++o)
            for (const Tap& tap : window.taps) {
              S& sum = result[(first_filter + o) * output_size + tap.input];
              sum = sum + factor * w[(c * filters_per_group + o) * kernel_size + tap.kernel];
            }
        }
    });
    if (in.size() == 3)
      for (std::int64_t i = 0; i < count(extents); ++i) result[i] = result[i] + in[2][i / output_size % filters];
    return result;
  }
};

using ConvTranspose = ConvTransposeOf<std::int64_t>;

}  // namespace taso::ops::op
