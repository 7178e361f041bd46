#include "ops/operators/reduction/reduction.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape infer_reduction(Fit& fit, const Shape& x, const std::vector<std::int64_t>& axes, bool keep) {
  std::vector<bool> reduced(x.size(), false);
  for (const std::int64_t axis : axes) {
    const std::size_t index = fit.axis(axis, x);
    fit.need(!reduced[index], [&] { return fmt::format("axis {} is given twice", axis); });
    reduced[index] = true;
  }
  Shape result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!reduced[i])
      result.push_back(x[i]);
    else if (keep)
      result.push_back(1);
  }
  return result;
}

Dim reduced_count(const Shape& x, const std::vector<std::int64_t>& axes) {
  Dim product = 1;
  for (const std::int64_t axis : axes) product = product * x[static_cast<std::size_t>(axis)];
  return product;
}

void need_elements(Fit& fit, const Shape& x, const std::vector<std::int64_t>& axes) {
  for (const std::int64_t axis : axes)
    fit.need(x[static_cast<std::size_t>(axis)] != Dim(0),
             [&] { return fmt::format("there is nothing to reduce in {}", text_of(x)); });
}

Work reduction_work(std::span<const Shape> in, const Shape& out, const std::vector<std::int64_t>& axes) {
  return streaming_work(in, std::span(&out, 1), size_estimate({reduced_count(in[0], axes)}));
}

}  // namespace taso::ops::op
