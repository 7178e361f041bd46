#include "ops/operators/linear/matmul.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape MatMul::infer(std::span<const Shape> in, Fit& fit) const {
  for (const Shape& shape : in) fit.rank(shape, 2);
  const Shape &a = in[0], &b = in[1];
  fit.equal(a.back(), b[b.size() - 2],
            [&] { return fmt::format("the inner dimensions of {} and {} differ", text_of(a), text_of(b)); });
  Shape result = fit.broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  result.push_back(a[a.size() - 2]);
  result.push_back(b.back());
  return result;
}

Work MatMul::work(std::span<const Shape> in) const {
  const Shape out[] = {inferred(*this, in)};
  return streaming_work(in, out, 2 * size_estimate({in[0].back()}));
}

}  // namespace taso::ops::op
