#include "ops/operators/geometry/enlarge.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Enlarge::infer(std::span<const Shape> in) const {
  const Shape& w = in[0];
  need_rank(name, w, 3);
  need_list(name, "kernel", kernel, w.size() - 2, 1, greatest_attribute);
  Shape result{w[0], w[1]};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Dim& own = w[2 + i];
    if (!own.is_static()) misfit(name, fmt::format("whether {} is larger than {} is not known", own.text(), kernel[i]));
    if (own.value() > kernel[i])
      misfit(name, fmt::format("kernel {} is already larger than {}", text_of(w), text_of(kernel)));
    result.push_back(kernel[i]);
  }
  return result;
}

}  // namespace taso::ops::op
