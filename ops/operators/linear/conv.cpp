#include "ops/operators/linear/conv.h"

#include <fmt/format.h>

namespace taso::ops::op {

template <class Size>
Shape ConvOf<Size>::infer(std::span<const Shape> in, Fit& fit) const {
  const Shape &x = in[0], &w = in[1];
  fit.rank(x, 3);
  fit.need(w.size() == x.size(), [&] { return fmt::format("kernel {} for an operand {}", text_of(w), text_of(x)); });
  fit.number("groups", groups, 1, greatest_attribute);
  const auto in_groups = [&] { return fmt::format("{} group{}", Dim(groups).text(), groups == Size(1) ? "" : "s"); };
  fit.equal(x[1], w[1] * groups,
            [&] { return fmt::format("{} channels for kernels of {} in {}", x[1].text(), w[1].text(), in_groups()); });
  fit.divides(groups, w[0], [&] { return fmt::format("{} filters cannot form {}", w[0].text(), in_groups()); });
  if (in.size() == 3) {
    const auto message = [&] { return fmt::format("bias {} for {} filters", text_of(in[2]), w[0].text()); };
    fit.need(in[2].size() == 1, message);
    fit.equal(in[2][0], w[0], message);
  }
  Shape result{x[0], w[0]};
  const Shape places =
      WindowsOf<Size>{strides, dilations, pads}.infer(fit, std::span(x).subspan(2), std::span(w).subspan(2));
  result.insert(result.end(), places.begin(), places.end());
  return result;
}

template <class Size>
Work ConvOf<Size>::work(std::span<const Shape> in) const {
  const Shape out[] = {inferred(*this, in)};
  const Shape window(in[1].begin() + 1, in[1].end());
  return streaming_work(in, out, 2 * size_estimate(window) + (in.size() == 3 ? 1 : 0));
}

template Shape ConvOf<std::int64_t>::infer(std::span<const Shape>, Fit&) const;
template Shape ConvOf<Dim>::infer(std::span<const Shape>, Fit&) const;
template Work ConvOf<std::int64_t>::work(std::span<const Shape>) const;

}  // namespace taso::ops::op
