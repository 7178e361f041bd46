#pragma once

#include <algorithm>

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// x [N, C, spatial...] divided by (bias + alpha/size · s)^beta, where s is the sum of squares over the `size` channels
/// around each channel that exist. If `size` is even, the window has one more channel above than below.
template <class Size>
struct LocalResponseNormOf {
  static constexpr std::string_view name = "local_response_norm";
  static constexpr Traits traits{Trait::sums};
  static constexpr KernelRole role = KernelRole::pooling;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  Size size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("size", self.size);
    field("alpha", self.alpha);
    field("beta", self.beta);
    field("bias", self.bias);
  }
  bool operator==(const LocalResponseNormOf&) const = default;

  bool is_partial() const { return !(bias > 0 && alpha >= 0); }
  double window_cells(const Extents& result) const { return static_cast<double>(std::min(size, result[1])); }
  Shape infer(std::span<const Shape> in, Fit& fit) const;
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, 2.0 * static_cast<double>(size) + 12); }

  /// The window of a channel: from the first index up to the second, which is excluded.
  std::pair<std::int64_t, std::int64_t> window(std::int64_t channel, std::int64_t channels) const {
    const std::int64_t below = (size - 1) / 2;
    return {std::max<std::int64_t>(0, channel - below), std::min(channels, channel - below + size)};
  }

  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    const Tensor<S>& x = in[0];
    const std::int64_t channels = x.extents[1];
    const std::int64_t places = count(Extents(x.extents.begin() + 2, x.extents.end()));
    const S share = Math<S>::divide(Math<S>::constant(alpha), Math<S>::constant(static_cast<double>(size)));
    const S constant = Math<S>::constant(bias), power = Math<S>::constant(beta);
    Tensor<S> result = x;
    for (std::int64_t n = 0; n < x.extents[0]; ++n)
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto [first, end] = window(c, channels);
        for (std::int64_t place = 0; place < places; ++place) {
          const auto at = [&](std::int64_t channel) { return (n * channels + channel) * places + place; };
          S sum = Math<S>::constant(0);
          for (std::int64_t k = first; k < end; ++k) sum = sum + x[at(k)] * x[at(k)];
          result[at(c)] = Math<S>::divide(x[at(c)], Math<S>::pow(constant + share * sum, power));
        }
      }
    return result;
  }
};

using LocalResponseNorm = LocalResponseNormOf<std::int64_t>;

}  // namespace taso::ops::op
