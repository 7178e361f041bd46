#pragma once

#include "ops/operators/elementwise/elementwise.h"
#include "ops/operators/pooling/windows.h"

namespace taso::ops::op {

/// Convolution (cross-correlation, as in every framework) of x [N, C, spatial...] with w [O, C / groups, kernel...] and
/// an optional bias [O]. Any number of spatial dimensions; pads are explicit and may differ at the two ends.
template <class Size>
struct ConvOf {
  static constexpr std::string_view name = "conv";
  static constexpr Traits traits{Trait::sums, Trait::tame};
  static constexpr KernelRole role = KernelRole::convolution;
  static constexpr std::size_t min_inputs = 2, max_inputs = 3;
  std::vector<Size> strides, dilations;
  std::vector<Size> pads;  ///< all begins, then all ends
  Size groups = 1;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("strides", self.strides);
    field("dilations", self.dilations);
    field("pads", self.pads);
    field("groups", self.groups);
  }
  bool operator==(const ConvOf&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  Work work(std::span<const Shape> in) const;

  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(inferred(*this, shapes_of(in)));
    const Tensor<S>&x = in[0], &w = in[1];
    const Extents area = spatial(x.extents), kernel = spatial(w.extents), places = spatial(extents);
    const std::int64_t input_size = count(area), kernel_size = count(kernel), output_size = count(places);
    const std::int64_t channels = w.extents[1], filters = w.extents[0], filters_per_group = filters / groups;

    Tensor<S> result(extents, Math<S>::constant(0));
    Windows{strides, dilations, pads}.for_each(area, kernel, places, [&](const Window& window) {
      for (std::int64_t n = 0; n < extents[0]; ++n)
        for (std::int64_t o = 0; o < filters; ++o) {
          S& sum = result[(n * filters + o) * output_size + window.output];
          const std::int64_t first_channel = n * x.extents[1] + o / filters_per_group * channels;
          for (std::int64_t c = 0; c < channels; ++c)
            for (const Tap& tap : window.taps)
              sum = sum +
                    x[(first_channel + c) * input_size + tap.input] * w[(o * channels + c) * kernel_size + tap.kernel];
          if (in.size() == 3) sum = sum + in[2][o];
        }
    });
    return result;
  }
};

using Conv = ConvOf<std::int64_t>;

}  // namespace taso::ops::op
