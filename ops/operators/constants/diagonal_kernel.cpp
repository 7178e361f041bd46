#include "ops/operators/constants/diagonal_kernel.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape infer_diagonal_kernel(std::string_view name, std::int64_t channels, std::int64_t groups,
                            const std::vector<std::int64_t>& kernel, ElementType type) {
  need_constant(name, type);
  if (channels < 1 || groups < 1 || channels > greatest_attribute || channels % groups != 0)
    misfit(name, fmt::format("{} channels in {} groups", channels, groups));
  if (kernel.empty()) misfit(name, "'kernel' is empty");
  need_list(name, "kernel", kernel, kernel.size(), 1, greatest_attribute);
  Shape result{channels, channels / groups};
  result.insert(result.end(), kernel.begin(), kernel.end());
  count(result);  // throws on overflow
  return result;
}

}  // namespace taso::ops::op
