#include "ops/operators/linear/conv.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Conv::infer(std::span<const Shape> in) const {
  const Shape &x = in[0], &w = in[1];
  need_rank(name, x, 3);
  if (w.size() != x.size()) misfit(name, fmt::format("kernel {} for an operand {}", text_of(w), text_of(x)));
  if (groups < 1 || groups > greatest_attribute) misfit(name, fmt::format("{} groups", groups));
  if (x[1] != w[1] * groups)
    misfit(name, fmt::format("{} channels for kernels of {} in {} group{}", x[1].text(), w[1].text(), groups,
                             groups == 1 ? "" : "s"));
  if (!exact_div(w[0], groups)) misfit(name, fmt::format("{} filters cannot form {} groups", w[0].text(), groups));
  if (in.size() == 3 && in[2] != Shape{w[0]})
    misfit(name, fmt::format("bias {} for {} filters", text_of(in[2]), w[0].text()));
  Shape result{x[0], w[0]};
  const Shape places = Windows{strides, dilations, pads}.infer(name, std::span(x).subspan(2), std::span(w).subspan(2));
  result.insert(result.end(), places.begin(), places.end());
  return result;
}

Work Conv::work(std::span<const Shape> in) const {
  const Shape out[] = {infer(in)};
  const Shape window(in[1].begin() + 1, in[1].end());
  return streaming_work(in, out, 2 * size_estimate(window) + (in.size() == 3 ? 1 : 0));
}

}  // namespace taso::ops::op
