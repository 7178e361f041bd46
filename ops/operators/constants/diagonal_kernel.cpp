#include "ops/operators/constants/diagonal_kernel.h"

#include <fmt/format.h>

namespace taso::ops::op {

template <class Size>
Shape infer_diagonal_kernel(Fit& fit, Size channels, Size groups, const std::vector<Size>& kernel, ElementType type) {
  fit.constant(type);
  fit.need(!kernel.empty(), [] { return std::string("'kernel' is empty"); });
  fit.number("channels", channels, 1, greatest_attribute);
  fit.number("groups", groups, 1, greatest_attribute);
  fit.divides(groups, channels,
              [&] { return fmt::format("{} channels in {} groups", Dim(channels).text(), Dim(groups).text()); });
  fit.list("kernel", kernel, kernel.size(), 1, greatest_attribute);
  // A rule may give a number that its requirements exclude.
  fit.need(Dim(groups).known().value_or(1) >= 1, [] { return std::string("there are no groups"); });
  Shape result{channels, floor_div(channels, groups)};
  for (const Size& size : kernel) {
    fit.at_least(size, 1, [] { return std::string("the kernel is empty"); });
    result.push_back(size);
  }
  count(result);  // throws on overflow
  return result;
}

template Shape infer_diagonal_kernel(Fit&, std::int64_t, std::int64_t, const std::vector<std::int64_t>&, ElementType);
template Shape infer_diagonal_kernel(Fit&, Dim, Dim, const std::vector<Dim>&, ElementType);

}  // namespace taso::ops::op
