// The median of measured times.
#pragma once

#include <algorithm>
#include <vector>

namespace taso::gpu::cuda {

inline double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace taso::gpu::cuda
