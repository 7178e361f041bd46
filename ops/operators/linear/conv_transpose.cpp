#include "ops/operators/linear/conv_transpose.h"

#include <fmt/format.h>

namespace taso::ops::op {

template <class Size>
Shape ConvTransposeOf<Size>::infer(std::span<const Shape> in, Fit& fit) const {
  const Shape &x = in[0], &w = in[1];
  fit.rank(x, 3);
  fit.need(w.size() == x.size(), [&] { return fmt::format("kernel {} for an operand {}", text_of(w), text_of(x)); });
  fit.number("groups", groups, 1, greatest_attribute);
  fit.equal(x[1], w[0], [&] { return fmt::format("{} channels for {} kernels", x[1].text(), w[0].text()); });
  fit.divides(groups, w[0],
              [&] { return fmt::format("{} channels cannot form {} groups", w[0].text(), Dim(groups).text()); });
  const Dim filters = w[1] * groups;
  if (in.size() == 3) {
    const auto message = [&] { return fmt::format("bias {} for {} filters", text_of(in[2]), filters.text()); };
    fit.need(in[2].size() == 1, message);
    fit.equal(in[2][0], filters, message);
  }
  Shape result{x[0], filters};
  const Shape places = WindowsOf<Size>{strides, dilations, pads}.infer_transposed(
      fit, std::span(x).subspan(2), std::span(w).subspan(2), output_padding);
  result.insert(result.end(), places.begin(), places.end());
  return result;
}

template <class Size>
Work ConvTransposeOf<Size>::work(std::span<const Shape> in) const {
  const Shape out[] = {inferred(*this, in)};
  const Shape kernels(in[1].begin() + 1, in[1].end());  // with which each element of x is multiplied
  Work work = streaming_work(in, out, in.size() == 3 ? 1 : 0);
  work.flops += 2 * size_estimate(in[0]) * size_estimate(kernels);
  return work;
}

template Shape ConvTransposeOf<std::int64_t>::infer(std::span<const Shape>, Fit&) const;
template Shape ConvTransposeOf<Dim>::infer(std::span<const Shape>, Fit&) const;
template Work ConvTransposeOf<std::int64_t>::work(std::span<const Shape>) const;

}  // namespace taso::ops::op
