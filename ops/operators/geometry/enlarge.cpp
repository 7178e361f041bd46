#include "ops/operators/geometry/enlarge.h"

#include <fmt/format.h>

namespace taso::ops::op {

template <class Size>
Shape EnlargeOf<Size>::infer(std::span<const Shape> in, Fit& fit) const {
  const Shape& w = in[0];
  fit.rank(w, 3);
  fit.list("kernel", kernel, w.size() - 2, 1, greatest_attribute);
  Shape result{w[0], w[1]};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Dim& own = w[2 + i];
    fit.need(fit.is_for_rule() || own.is_static(), [&] {
      return fmt::format("whether {} is larger than {} is not known", own.text(), Dim(kernel[i]).text());
    });
    fit.at_least(kernel[i], own, [&] {
      return fmt::format("kernel {} is already larger than {}", text_of(w),
                         text_of(Shape(kernel.begin(), kernel.end())));
    });
    result.push_back(kernel[i]);
  }
  return result;
}

template Shape EnlargeOf<std::int64_t>::infer(std::span<const Shape>, Fit&) const;
template Shape EnlargeOf<Dim>::infer(std::span<const Shape>, Fit&) const;

}  // namespace taso::ops::op
