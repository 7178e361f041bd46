// The builder's layers with parameters, activations, poolings and arithmetic.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "examples/networks/builder.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/error.h"

namespace taso::examples {
namespace {

/// Weights that give the result a power of 1.
Spread weights_for(const Value& x, std::int64_t summands) {
  return {0, 1 / std::sqrt(static_cast<double>(summands) * x.power.total())};
}

/// The same for weights whose entries for one result are contiguous. Non-negative values have a mean, which random
/// weights turn into a constant per result; layer by layer the constants dominate and the input is forgotten. Weights
/// that sum to zero remove the mean, as batch norms do in training, but then all differences grow with each layer,
/// rounding errors too: after fifty layers they show. With partial balance, inputs still change the outputs by a few
/// per cent, and rounding does not.
Spread filters_for(const Value& x, std::int64_t summands, double balance) {
  if (x.power.positive == 0 || summands < 4) return weights_for(x, summands);
  constexpr double around_the_mean = 0.68;  // the share of a ReLU's power around its mean
  Value rest = x;
  rest.power.positive *= around_the_mean + (1 - around_the_mean) * (1 - balance) * (1 - balance);
  Spread spread = weights_for(rest, summands);
  spread.run = static_cast<std::size_t>(summands);
  spread.balance = balance;
  return spread;
}

constexpr double hidden_balance = 0.2, last_balance = 1;
constexpr Spread bias_spread{0, 0.05};

Power scaled(const Power& power, double factor) { return {power.centred * factor, power.positive * factor}; }

/// One number per axis of x after batch and channels.
std::vector<std::int64_t> along_axes(const Value& x, const Extent& extent) {
  check(x.shape.size() >= 3 && x.shape.size() <= 5, "windows slide over sounds, images and videos");
  if (x.shape.size() == 3) return {extent.width};
  if (x.shape.size() == 4) return {extent.height, extent.width};
  return {extent.depth, extent.height, extent.width};
}

/// The number of elements that a window sees.
std::int64_t size_of_kernel(const Value& x, const Window& window) {
  const std::vector<std::int64_t> kernel = along_axes(x, window.kernel);
  return std::accumulate(kernel.begin(), kernel.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::vector<std::int64_t> Builder::pads_of(const Value& x, const Window& window) const {
  std::vector<std::int64_t> before = along_axes(x, window.pad), after = before;
  const std::vector<std::int64_t> kernel = along_axes(x, window.kernel), stride = along_axes(x, window.stride);
  for (std::size_t axis = 0; window.same && axis < kernel.size(); ++axis) {
    const std::int64_t size = x.shape[axis + 2];
    const std::int64_t places = (size + stride[axis] - 1) / stride[axis];
    const std::int64_t total = std::max<std::int64_t>((places - 1) * stride[axis] + kernel[axis] - size, 0);
    before[axis] = total / 2;
    after[axis] = total - total / 2;
  }
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

/// The shape of the result of sliding a window over x.
std::vector<std::int64_t> Builder::windows_of(const Value& x, std::int64_t channels, const Window& window) const {
  const std::vector<std::int64_t> pads = pads_of(x, window), kernel = along_axes(x, window.kernel);
  const std::vector<std::int64_t> stride = along_axes(x, window.stride), dilation = along_axes(x, window.dilation);
  std::vector<std::int64_t> shape{x.shape[0], channels};
  for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
    const std::int64_t reach = dilation[axis] * (kernel[axis] - 1) + 1;
    const std::int64_t room = x.shape[axis + 2] + pads[axis] + pads[axis + kernel.size()] - reach;
    check(room >= 0, "a window fits into its input");
    shape.push_back((room + (window.round_up ? stride[axis] - 1 : 0)) / stride[axis] + 1);
  }
  return shape;
}

Value Builder::conv(const Value& x, std::string_view name, std::int64_t channels, const Window& window,
                    const ConvStyle& style) {
  check(x.channels() % style.groups == 0 && channels % style.groups == 0, "groups divide the channels");
  const Scope here = scope(name);
  const std::int64_t depth = x.channels() / style.groups;
  const Spread spread = filters_for(x, depth * size_of_kernel(x, window), hidden_balance);
  const std::vector<std::int64_t> kernel = along_axes(x, window.kernel);
  std::vector<std::int64_t> filters{channels, depth};
  filters.insert(filters.end(), kernel.begin(), kernel.end());
  std::vector<std::string> operands{x.name, parameter("weight", filters, spread).name};
  if (style.bias) operands.push_back(parameter("bias", {channels}, bias_spread).name);
  if (style.folded_norm) {
    operands.push_back(parameter("folded_bias", {channels}, bias_spread).name);
    parameters_ += static_cast<std::uint64_t>(channels);
  }
  return node("Conv", "", operands, windows_of(x, channels, window), {1, 0},
              {{"dilations", along_axes(x, window.dilation)},
               {"group", style.groups},
               {"kernel_shape", kernel},
               {"pads", pads_of(x, window)},
               {"strides", along_axes(x, window.stride)}});
}

Value Builder::batch_norm(const Value& x, std::string_view name, double epsilon) {
  const Scope here = scope(name);
  const std::vector<std::int64_t> shape{x.channels()};
  const double power = x.power.total();
  const std::string scale = parameter("weight", shape, {1, 0.1}).name;
  const std::string offset = parameter("bias", shape, {0, 0.1}).name;
  const std::string mean = weights("running_mean", shape, {0, 0.1 * std::sqrt(power)});
  const std::string variance = weights("running_var", shape, {power, 0.1 * power});
  return node("BatchNormalization", "", {x.name, scale, offset, mean, variance}, x.shape, scaled(x.power, 1 / power),
              {{"epsilon", epsilon}});
}

Value Builder::layer_norm(const Value& x, std::string_view name, double epsilon) {
  const Scope here = scope(name);
  const std::string scale = parameter("weight", {x.shape.back()}, {1, 0.1}).name;
  const std::string offset = parameter("bias", {x.shape.back()}, {0, 0.1}).name;
  return node("LayerNormalization", "", {x.name, scale, offset}, x.shape, {1, 0},
              {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

Value Builder::linear(const Value& x, std::string_view name, std::int64_t features, bool with_bias) {
  const Scope here = scope(name);
  const std::int64_t depth = x.shape.back();
  std::vector<std::int64_t> shape = x.shape;
  shape.back() = features;
  if (x.shape.size() == 2 && with_bias)
    return node("Gemm", "",
                {x.name, parameter("weight", {features, depth}, filters_for(x, depth, last_balance)).name,
                 parameter("bias", {features}, bias_spread).name},
                shape, {1, 0}, {{"alpha", 1.0}, {"beta", 1.0}, {"transB", std::int64_t{1}}});
  Value product =
      node("MatMul", "", {x.name, parameter("weight", {depth, features}, weights_for(x, depth)).name}, shape, {1, 0});
  if (!with_bias) return product;
  return node("Add", "", {product.name, parameter("bias", {features}, bias_spread).name}, shape, {1, 0});
}

Value Builder::embedding(const Value& indices, std::string_view name, std::int64_t rows, std::int64_t width) {
  const Scope here = scope(name);
  std::vector<std::int64_t> shape = indices.shape;
  shape.push_back(width);
  return node("Gather", "", {parameter("weight", {rows, width}, {0, 1}).name, indices.name}, shape, {1, 0});
}

Value Builder::relu(const Value& x) { return like("Relu", x, {0, x.power.centred / 2 + x.power.positive}); }

Value Builder::relu6(const Value& x) {
  const std::string low = scalar(0), high = scalar(6);
  return node("Clip", "", {x.name, low, high}, x.shape, {0, x.power.centred / 2 + x.power.positive});
}

Value Builder::sigmoid(const Value& x) { return like("Sigmoid", x, {0, 0.3}); }

Value Builder::tanh(const Value& x) { return like("Tanh", x, {std::min(x.power.total(), 0.4), 0}); }

Value Builder::gelu(const Value& x) {
  const Value bell = like("Erf", arithmetic("Div", x, std::sqrt(2.0)), x.power);
  Value y = arithmetic("Mul", multiply(x, arithmetic("Add", bell, 1)), 0.5);
  y.power = {0, 0.43 * x.power.total()};
  return y;
}

Value Builder::softmax(const Value& x) {
  return node("Softmax", "", {x.name}, x.shape, {0, 1}, {{"axis", std::int64_t{-1}}});
}

Value Builder::max_pool(const Value& x, const Window& window) {
  return node("MaxPool", "", {x.name}, windows_of(x, x.channels(), window), {0, 2 * x.power.total()},
              {{"ceil_mode", std::int64_t{window.round_up}},
               {"kernel_shape", along_axes(x, window.kernel)},
               {"pads", pads_of(x, window)},
               {"strides", along_axes(x, window.stride)}});
}

Value Builder::average_pool(const Value& x, const Window& window) {
  // Neighbours differ, but they are not independent.
  const auto count = static_cast<double>(size_of_kernel(x, window));
  const Power power{x.power.centred / std::sqrt(count), x.power.positive * (count > 1 ? 0.6 : 1)};
  return node("AveragePool", "", {x.name}, windows_of(x, x.channels(), window), power,
              {{"ceil_mode", std::int64_t{window.round_up}},
               {"count_include_pad", std::int64_t{window.count_pads}},
               {"kernel_shape", along_axes(x, window.kernel)},
               {"pads", pads_of(x, window)},
               {"strides", along_axes(x, window.stride)}});
}

Value Builder::pooled_features(const Value& x) {
  std::vector<std::int64_t> shape(x.shape.size(), 1);
  std::copy_n(x.shape.begin(), 2, shape.begin());
  const std::int64_t count = std::accumulate(x.shape.begin() + 2, x.shape.end(), std::int64_t{1}, std::multiplies<>());
  const Power power{0, x.power.centred / static_cast<double>(count) + x.power.positive * 0.5};
  return flatten(node("GlobalAveragePool", "", {x.name}, shape, power));
}

Value Builder::add(const Value& x, const Value& y) {
  check(x.shape.size() >= y.shape.size(), "the larger operand comes first");
  return node("Add", "", {x.name, y.name}, x.shape,
              {x.power.centred + y.power.centred, x.power.positive + y.power.positive});
}

Value Builder::multiply(const Value& x, const Value& y) {
  return node("Mul", "", {x.name, y.name}, x.shape, {x.power.total() * y.power.total(), 0});
}

Value Builder::arithmetic(std::string_view type, const Value& x, double number, bool scalar_first) {
  const std::string other = scalar(number);
  const double factor = type == "Mul" ? number : type == "Div" ? 1 / number : 1;
  return node(type, "", scalar_first ? std::vector{other, x.name} : std::vector{x.name, other}, x.shape,
              scaled(x.power, factor * factor));
}

Value Builder::matmul(const Value& x, const Value& y) {
  check(x.shape.back() == y.shape[y.shape.size() - 2], "the inner dimensions agree");
  std::vector<std::int64_t> shape = x.shape;
  shape.back() = y.shape.back();
  const double power = static_cast<double>(x.shape.back()) * x.power.total() * y.power.total();
  return node("MatMul", "", {x.name, y.name}, shape, {power, 0});
}

Value Builder::cast(const Value& x) {
  return node("Cast", "", {x.name}, x.shape, x.power, {{"to", std::int64_t{onnx::onnx_data_type(options_.type)}}});
}

Value Builder::cast_to_flags(const Value& x) {
  return node("Cast", "", {x.name}, x.shape, {}, {{"to", std::int64_t{onnx::onnx_data_type(ElementType::boolean)}}});
}

}  // namespace taso::examples
