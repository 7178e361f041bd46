#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// Pads a convolution kernel [O, I, k...] with zeros until its spatial size is `kernel`. If the difference is odd, the
/// extra zero goes at the end.
template <class Size>
struct EnlargeOf {
  static constexpr std::string_view name = "enlarge";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::copy;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<Size> kernel;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("kernel", self.kernel);
  }
  bool operator==(const EnlargeOf&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    Extents extents = extents_of(inferred(*this, shapes_of(in)));
    Extents before(extents.size());
    for (std::size_t i = 0; i < extents.size(); ++i) before[i] = (extents[i] - in[0].extents[i]) / 2;
    return place(in[0], std::move(extents), before, Math<S>::constant(0));
  }
  Work work(std::span<const Shape> in) const {
    const Shape out[] = {inferred(*this, in)};
    return streaming_work(in, out, 0);
  }
};

using Enlarge = EnlargeOf<std::int64_t>;

}  // namespace taso::ops::op
