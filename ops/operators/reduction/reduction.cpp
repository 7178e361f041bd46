#include "ops/operators/reduction/reduction.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape infer_reduction(std::string_view name, const Shape& x, const std::vector<std::int64_t>& axes, bool keep) {
  std::vector<bool> reduced(x.size(), false);
  for (const std::int64_t axis : axes) {
    const std::size_t index = axis_in(name, axis, x);
    if (reduced[index]) misfit(name, fmt::format("axis {} is given twice", axis));
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

void need_elements(std::string_view name, const Shape& x, const std::vector<std::int64_t>& axes) {
  if (reduced_count(x, axes) == Dim(0)) misfit(name, fmt::format("there is nothing to reduce in {}", text_of(x)));
}

Work reduction_work(std::span<const Shape> in, const Shape& out, const std::vector<std::int64_t>& axes) {
  return streaming_work(in, std::span(&out, 1), size_estimate({reduced_count(in[0], axes)}));
}

}  // namespace taso::ops::op
