#include "generator/partial/expression.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/random.h"
#include "ops/support/scramble.h"

namespace taso::generator {

using ops::Field;
using ops::Tensor;

namespace {

std::vector<std::int64_t> values_of(const std::vector<Size>& sizes) {
  std::vector<std::int64_t> values;
  for (const Size& size : sizes) values.push_back(size.value());
  return values;
}

std::vector<ops::Dim> dims_of(const std::vector<Size>& sizes) {
  std::vector<ops::Dim> dims;
  for (const Size& size : sizes) dims.emplace_back(size.value());
  return dims;
}

/// [0, …, size, …, 0]
std::vector<Size> only(std::size_t rank, std::size_t axis, const Size& size) {
  std::vector<Size> sizes(rank);
  sizes[axis] = size;
  return sizes;
}

/// The attributes of a window for each axis.
struct Windows {
  std::vector<Size> kernel, strides, dilations, pads;

  explicit Windows(const std::vector<Slide>& slides) {
    for (const Slide& slide : slides) {
      kernel.push_back(slide.kernel);
      strides.push_back(slide.stride);
      dilations.push_back(slide.dilation);
      pads.push_back(slide.before);
    }
    for (const Slide& slide : slides) pads.push_back(slide.after);
  }
  /// Attributes that differ from their defaults.
  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    const auto add = [&](const char* name, const std::vector<Size>& sizes, const Size& usual) {
      if (!std::all_of(sizes.begin(), sizes.end(), [&](const Size& size) { return size == usual; }))
        texts.push_back(fmt::format("{}={}", name, list_of(sizes)));
    };
    add("strides", strides, 1);
    add("dilations", dilations, 1);
    add("pads", pads, 0);
    return texts;
  }
};

std::string with_attributes(const std::string& op, const std::vector<std::string>& attributes) {
  return attributes.empty() ? op : fmt::format("{}[{}]", op, fmt::join(attributes, ", "));
}

}  // namespace

std::string list_of(const std::vector<Size>& sizes) {
  std::vector<std::string> texts;
  for (const Size& size : sizes) texts.push_back(size.text());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

double equal_share(const Expression& program, const Expression& right) {
  const Tensor<Field>&a = *program.data, &b = *right.data;
  if (a.extents != b.extents) return 0;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) equal += a.data[i] == b.data[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(a.data.size());
}

std::size_t operators_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '('));
}

std::uint64_t hash_of(const Expression& program) {
  const Tensor<Field>& data = *program.data;
  std::uint64_t hash = data.extents.size();
  for (const std::int64_t extent : data.extents) hash = scramble(hash ^ static_cast<std::uint64_t>(extent));
  for (const Field& value : data.data) hash = scramble(hash + value.bits());
  return hash;
}

bool has_shape(const std::vector<Size>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Size& size) { return size.is_whole() && size.value() >= 1; });
}

Size places(const Size& length, const Slide& slide) {
  const Size last = length + slide.before + slide.after - slide.dilation * (slide.kernel - 1) - 1;
  if (slide.stride == Size(1)) return last + 1;
  if (last.value() < 0) return 0;
  return Size::term(fmt::format("{} / {} + 1", last.text(true), slide.stride.text(true)),
                    last.value() / slide.stride.value() + 1);
}

Size spread(const Size& length, const Slide& slide) {
  return (length - 1) * slide.stride + slide.dilation * (slide.kernel - 1) + 1 - slide.before - slide.after;
}

Expression Writer::made(std::string text, std::vector<Size> shape, const ops::Operator& op,
                        const std::vector<const Expression*>& operands) const {
  Expression value{std::move(text), std::move(shape), nullptr};
  if (!evaluates_) {
    for (const Size& size : value.shape) size.add_conditions(conditions_);
    return value;
  }
  std::vector<Tensor<Field>> tensors;
  for (const Expression* operand : operands) tensors.push_back(*operand->data);
  value.data = std::make_shared<Tensor<Field>>(ops::evaluate<Field>(op, ops::Tensors<Field>(tensors)).front());
  return value;
}

Expression Writer::input(const std::string& name, std::vector<Size> shape, std::uint64_t seed) const {
  Expression value{name, std::move(shape), nullptr};
  if (!evaluates_) return value;
  ops::Random random(seed);
  const ops::Extents extents = values_of(value.shape);
  std::vector<Field> data;
  for (std::int64_t i = 0; i < ops::count(extents); ++i) data.push_back(Field::from_bits(random.next()));
  value.data = std::make_shared<Tensor<Field>>(extents, std::move(data));
  return value;
}

Expression Writer::reshaped(const Expression& x, const std::vector<Size>& shape) const {
  if (x.shape == shape) return x;
  return made(fmt::format("reshape[shape={}]({})", list_of(shape), x.text), shape, ops::op::Reshape{dims_of(shape)},
              {&x});
}

Expression Writer::transposed(const Expression& x, const std::vector<std::size_t>& permutation) const {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  std::vector<Size> shape;
  for (const std::size_t axis : permutation) shape.push_back(x.shape[axis]);
  return made(fmt::format("transpose[permutation=[{}]]({})", fmt::join(permutation, ", "), x.text), shape,
              ops::op::Transpose{{permutation.begin(), permutation.end()}}, {&x});
}

Expression Writer::padded(const Expression& x, const std::vector<Size>& before, const std::vector<Size>& after) const {
  const auto is_none = [](const Size& size) { return size == Size(0); };
  if (std::all_of(before.begin(), before.end(), is_none) && std::all_of(after.begin(), after.end(), is_none)) return x;
  std::vector<Size> shape = x.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) shape[axis] = shape[axis] + before[axis] + after[axis];
  return made(fmt::format("pad[before={}, after={}]({})", list_of(before), list_of(after), x.text), shape,
              ops::op::Pad{.before = values_of(before), .after = values_of(after)}, {&x});
}

Expression Writer::padded(const Expression& x, std::size_t axis, const Size& before, const Size& after) const {
  return padded(x, only(x.rank(), axis, before), only(x.rank(), axis, after));
}

Expression Writer::sliced(const Expression& x, std::size_t axis, const Size& begin, const Size& end) const {
  if (begin == Size(0) && end == x.shape[axis]) return x;
  std::vector<Size> shape = x.shape;
  shape[axis] = end - begin;
  return made(fmt::format("slice[axis={}, begin={}, end={}]({})", axis, begin.text(), end.text(), x.text), shape,
              ops::op::Slice{static_cast<std::int64_t>(axis), begin.value(), end.value()}, {&x});
}

Expression Writer::joined(const Expression& x, const Expression& y, std::size_t axis) const {
  std::vector<Size> shape = x.shape;
  shape[axis] = shape[axis] + y.shape[axis];
  return made(fmt::format("concat[axis={}]({}, {})", axis, x.text, y.text), shape,
              ops::op::Concat{static_cast<std::int64_t>(axis)}, {&x, &y});
}

Expression Writer::convolved(const Expression& x, const Expression& w, const std::vector<Slide>& slides,
                             const Size& groups, const std::string& bias) const {
  const Windows windows(slides);
  std::vector<Size> shape{x.shape[0], w.shape[0]};
  for (std::size_t i = 0; i < slides.size(); ++i) shape.push_back(places(x.shape[2 + i], slides[i]));
  return made(
      text_of("conv", x, w, slides, groups, bias), shape,
      ops::op::Conv{values_of(windows.strides), values_of(windows.dilations), values_of(windows.pads), groups.value()},
      {&x, &w});
}

Expression Writer::convolved_back(const Expression& x, const Expression& w, const std::vector<Slide>& slides,
                                  const Size& groups, const std::string& bias) const {
  const Windows windows(slides);
  std::vector<Size> shape{x.shape[0], w.shape[1] * groups};
  for (std::size_t i = 0; i < slides.size(); ++i) shape.push_back(spread(x.shape[2 + i], slides[i]));
  return made(text_of("conv_transpose", x, w, slides, groups, bias), shape,
              ops::op::ConvTranspose{values_of(windows.strides), values_of(windows.dilations), values_of(windows.pads),
                                     std::vector<std::int64_t>(slides.size(), 0), groups.value()},
              {&x, &w});
}

std::string Writer::text_of(const char* convolution, const Expression& x, const Expression& w,
                            const std::vector<Slide>& slides, const Size& groups, const std::string& bias) const {
  const Windows windows(slides);
  for (const Size& pad : windows.pads) pad.add_conditions(conditions_);
  std::vector<std::string> attributes = windows.texts();
  if (!(groups == Size(1))) attributes.push_back("groups=" + groups.text());
  return fmt::format("{}({}, {}{})", with_attributes(convolution, attributes), x.text, w.text,
                     bias.empty() ? "" : ", " + bias);
}

Expression Writer::pooled(const std::string& pool, const Expression& x, const std::vector<Slide>& slides,
                          const std::string& more) const {
  const Windows windows(slides);
  for (const Size& pad : windows.pads) pad.add_conditions(conditions_);
  std::vector<std::string> attributes = windows.texts(), kernel_texts;
  for (const Slide& slide : slides)
    kernel_texts.push_back(slide.kernel_name.empty() ? slide.kernel.text() : slide.kernel_name);
  attributes.insert(attributes.begin(), fmt::format("kernel=[{}]", fmt::join(kernel_texts, ", ")));
  if (!more.empty()) attributes.push_back(more);
  std::vector<Size> shape{x.shape[0], x.shape[1]};
  for (std::size_t i = 0; i < slides.size(); ++i) shape.push_back(places(x.shape[2 + i], slides[i]));
  const std::vector<std::int64_t> kernel = values_of(windows.kernel), strides = values_of(windows.strides),
                                  dilations = values_of(windows.dilations), pads = values_of(windows.pads);
  ops::Operator op = ops::op::MaxPool{kernel, strides, dilations, pads};
  if (pool != "max_pool") {
    ops::op::AveragePool mean{kernel, strides, dilations, pads};
    mean.count_padding = more == "count_padding=true";
    op = mean;
  }
  return made(fmt::format("{}({})", with_attributes(pool, attributes), x.text), shape, op, {&x});
}

Expression Writer::multiplied(const Expression& x, const Expression& y) const {
  std::vector<Size> shape = x.rank() >= y.rank() ? x.shape : y.shape;
  shape[shape.size() - 2] = x.shape[x.rank() - 2];
  shape.back() = y.shape.back();
  return made(fmt::format("matmul({}, {})", x.text, y.text), shape, ops::op::MatMul{}, {&x, &y});
}

Expression Writer::summed(const Expression& x, std::size_t axis) const {
  std::vector<Size> shape = x.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return made(fmt::format("reduce_sum[axes=[{}], keep=false]({})", axis, x.text), shape,
              ops::op::ReduceSum{{static_cast<std::int64_t>(axis)}, false}, {&x});
}

Expression Writer::rectified(const Expression& x) const {
  return made(fmt::format("relu({})", x.text), x.shape, ops::op::Relu{}, {&x});
}

Expression Writer::added(const Expression& x, const Expression& y) const {
  return made(fmt::format("add({}, {})", x.text, y.text), x.shape, ops::op::Add{}, {&x, &y});
}

Expression Writer::biased(const Expression& x, const std::string& bias) const {
  std::vector<Size> shape(x.rank(), Size(1));
  shape[1] = x.shape[1];
  return added(x, reshaped({bias, {shape[1]}, nullptr}, shape));
}

void Writer::assume(const Size& size) const {
  // Dimensions and attributes are not negative, nor are their sums.
  const std::string text = size.text();
  if (!size.is_number() && text.find(" - ") != std::string::npos) conditions_.insert(text + " >= 0");
}

}  // namespace taso::generator
