// NASNet-A, mobile (4 @ 1056) and large (6 @ 4032): Zoph and others, Learning Transferable Architectures for Scalable
// Image Recognition, 2017. Cells, stem and head are those of TensorFlow's slim models and of timm, which has the same
// number of parameters. Padding is TensorFlow's SAME, in the attributes of the operators, and does not count in
// averages.
#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr double epsilon = 0.001;

Window same(std::int64_t kernel, std::int64_t stride = 1) { return {.kernel = kernel, .stride = stride, .same = true}; }

/// ReLU, 1x1 convolution, batch norm: reduces to the number of channels of a cell.
Value squeeze(Builder& net, const Value& x, std::string_view name, std::int64_t channels) {
  const auto scope = net.scope(name);
  return net.batch_norm(net.conv(net.relu(x), "conv", channels), "bn", epsilon);
}

/// ReLU, separable convolution, batch norm: twice, as everywhere in the paper. Only the first has the stride.
Value separable(Builder& net, Value x, std::string_view name, std::int64_t channels, std::int64_t kernel,
                std::int64_t stride) {
  const auto scope = net.scope(name);
  for (const int half : {1, 2}) {
    x = net.relu(x);
    {
      const auto inner = net.scope(fmt::format("separable_{}", half));
      x = net.conv(x, "depthwise_conv2d", x.channels(), same(kernel, half == 1 ? stride : 1), {.groups = x.channels()});
      x = net.conv(x, "pointwise_conv2d", channels);
    }
    x = net.batch_norm(x, fmt::format("bn_sep_{}", half), epsilon);
  }
  return x;
}

/// Halves the resolution with two sets of pixels, one shifted by one against the other, so that none is lost.
Value factorised_reduction(Builder& net, const Value& x, std::int64_t channels) {
  const Window every_second{.kernel = 1, .stride = 2};
  const Value y = net.relu(x);
  const Value here = net.conv(net.average_pool(y, every_second), "path_1.conv", channels / 2);
  const Value there = net.conv(net.average_pool(net.shifted(y), every_second), "path_2.conv", channels / 2);
  return net.batch_norm(net.concat({here, there}), "final_path_bn", epsilon);
}

/// The previous cell's result with the resolution and channels of this cell.
Value fitted(Builder& net, const Value& previous, const Value& current, std::int64_t channels) {
  return previous.height() == current.height() ? squeeze(net, previous, "conv_prev_1x1", channels)
                                               : factorised_reduction(net, previous, channels);
}

Value normal_cell(Builder& net, const Value& current, const Value& previous, std::int64_t channels) {
  const Value left = fitted(net, previous, current, channels);
  const Value right = squeeze(net, current, "conv_1x1", channels);
  const auto convolved = [&](const Value& x, std::string_view name, std::int64_t kernel) {
    return separable(net, x, name, channels, kernel, 1);
  };
  const auto averaged = [&](const Value& x) { return net.average_pool(x, same(3)); };

  const Value first = net.add(convolved(right, "comb_iter_0_left", 5), convolved(left, "comb_iter_0_right", 3));
  const Value second = net.add(convolved(left, "comb_iter_1_left", 5), convolved(left, "comb_iter_1_right", 3));
  const Value third = net.add(averaged(right), left);
  const Value fourth = net.add(averaged(left), averaged(left));
  const Value fifth = net.add(convolved(right, "comb_iter_4_left", 3), right);
  return net.concat({left, first, second, third, fourth, fifth});
}

/// The body of a reduction cell. There are three ways to prepare its operands.
Value reduced(Builder& net, const Value& right, const Value& left, std::int64_t channels) {
  const auto convolved = [&](const Value& x, std::string_view name, std::int64_t kernel, std::int64_t stride = 2) {
    return separable(net, x, name, channels, kernel, stride);
  };
  const Value first = net.add(convolved(right, "comb_iter_0_left", 5), convolved(left, "comb_iter_0_right", 7));
  const Value second = net.add(net.max_pool(right, same(3, 2)), convolved(left, "comb_iter_1_right", 7));
  const Value third = net.add(net.average_pool(right, same(3, 2)), convolved(left, "comb_iter_2_right", 5));
  const Value fourth = net.add(net.average_pool(first, same(3)), second);
  const Value fifth = net.add(convolved(first, "comb_iter_4_left", 3, 1), net.max_pool(right, same(3, 2)));
  return net.concat({second, third, fourth, fifth});
}

Value reduction_cell(Builder& net, const Value& current, const Value& previous, std::int64_t channels) {
  const Value left = fitted(net, previous, current, channels);
  return reduced(net, squeeze(net, current, "conv_1x1", channels), left, channels);
}

struct Form {
  std::int64_t stem, penultimate, cells;
  /// Whether the cell after a reduction reads the result of two cells before, instead of one.
  bool skips_reduction_input;
};

/// The results of the last two cells.
struct Trail {
  Value previous, current;
  void advance(Value next) {
    previous = std::move(current);
    current = std::move(next);
  }
};

Trail stem(Builder& net, const Value& images, std::int64_t width, std::int64_t channels) {
  const Value base =
      net.batch_norm(net.conv(images, "conv0.conv", width, {.kernel = 3, .stride = 2}), "conv0.bn", epsilon);
  Trail trail;
  {
    const auto scope = net.scope("cell_stem_0");
    const Value right = squeeze(net, base, "conv_1x1", channels / 4);
    trail.advance(reduced(net, right, base, channels / 4));
  }
  {
    const auto scope = net.scope("cell_stem_1");
    const Value right = squeeze(net, trail.current, "conv_1x1", channels / 2);
    const Value left = factorised_reduction(net, base, channels / 2);
    trail.advance(reduced(net, right, left, channels / 2));
  }
  return trail;
}

void build_nasnet(Builder& net, const Variant& variant, const Form& form) {
  const std::int64_t cells = variant.blocks > 0 ? variant.blocks : form.cells;
  const std::int64_t channels = form.penultimate / 24;
  const Value images = net.input("images", {3, variant.image_size, variant.image_size});
  Trail trail = stem(net, images, form.stem, channels);
  for (std::int64_t stage = 0, index = 0; stage < 3; ++stage) {
    const std::int64_t width = channels << stage;
    if (stage > 0) {
      const auto scope = net.scope(fmt::format("reduction_cell_{}", stage - 1));
      const Value before = trail.previous;
      trail.advance(reduction_cell(net, trail.current, trail.previous, width));
      if (form.skips_reduction_input) trail.previous = before;
    }
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const auto scope = net.scope(fmt::format("cell_{}", index++));
      trail.advance(normal_cell(net, trail.current, trail.previous, width));
    }
  }
  const Value features = net.pooled_features(net.relu(trail.current));
  net.output(net.linear(features, "last_linear", 1000), "logits");
}

}  // namespace

void build_nasnet_mobile(Builder& net, const Variant& variant) { build_nasnet(net, variant, {32, 1056, 4, false}); }

void build_nasnet_large(Builder& net, const Variant& variant) { build_nasnet(net, variant, {96, 4032, 6, true}); }

}  // namespace taso::examples
