#include "ops/operators/pooling/pooling.h"

#include <fmt/format.h>

namespace taso::ops::op {

template <class Size>
Shape infer_pooling(Fit& fit, const Shape& x, const std::vector<Size>& kernel, const WindowsOf<Size>& windows) {
  fit.rank(x, 3);
  const std::size_t rank = x.size() - 2;
  fit.list("kernel", kernel, rank, 1, greatest_attribute);
  const Shape places = windows.infer(fit, std::span(x).subspan(2), Shape(kernel.begin(), kernel.end()));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    // Otherwise a window could lie entirely in the padding, with nothing to pool.
    const auto message = [&] {
      return fmt::format("padding is not smaller than the kernel along spatial dimension {}", axis);
    };
    fit.at_least(kernel[axis], Dim(windows.pads[axis]) + 1, message);
    fit.at_least(kernel[axis], Dim(windows.pads[rank + axis]) + 1, message);
    fit.need(x[2 + axis] != Dim(0), [&] { return fmt::format("nothing to pool in {}", text_of(x)); });
  }
  Shape result{x[0], x[1]};
  result.insert(result.end(), places.begin(), places.end());
  return result;
}

template Shape infer_pooling(Fit&, const Shape&, const std::vector<std::int64_t>&, const Windows&);
template Shape infer_pooling(Fit&, const Shape&, const std::vector<Dim>&, const WindowsOf<Dim>&);

double cells_of(const std::vector<std::int64_t>& kernel) {
  double cells = 1;
  for (const std::int64_t size : kernel) cells *= static_cast<double>(size);
  return cells;
}

}  // namespace taso::ops::op
