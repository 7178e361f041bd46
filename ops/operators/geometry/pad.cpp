#include "ops/operators/geometry/pad.h"

#include <cmath>
#include <limits>

namespace taso::ops::op {

template <class Size>
Shape PadOf<Size>::infer(std::span<const Shape> in, Fit& fit) const {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  fit.list("before", before, in[0].size(), 0, any);
  fit.list("after", after, in[0].size(), 0, any);
  fit.need(std::isfinite(value), [] { return std::string("the value is not a finite number"); });
  const auto message = [] { return std::string("nothing is cut off"); };
  Shape result = in[0];
  for (std::size_t i = 0; i < result.size(); ++i) {
    fit.at_least(before[i], 0, message);
    fit.at_least(after[i], 0, message);
    result[i] = result[i] + before[i] + after[i];
  }
  return result;
}

template Shape PadOf<std::int64_t>::infer(std::span<const Shape>, Fit&) const;
template Shape PadOf<Dim>::infer(std::span<const Shape>, Fit&) const;

}  // namespace taso::ops::op
