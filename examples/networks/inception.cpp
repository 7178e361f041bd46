// Inception-v3: Szegedy and others, Rethinking the Inception Architecture for Computer Vision, 2015, as in torchvision,
// without the auxiliary classifier, which only training uses.
#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

/// A convolution without bias, its batch norm and a ReLU.
Value unit(Builder& net, const Value& x, std::string_view name, std::int64_t channels, const Window& window = {}) {
  const auto scope = net.scope(name);
  return net.relu(net.batch_norm(net.conv(x, "conv", channels, window), "bn", 0.001));
}

constexpr Window square{.kernel = 3, .pad = 1};
constexpr Window halving{.kernel = 3, .stride = 2};
constexpr Window averaging{.kernel = 3, .pad = 1, .count_pads = true};

/// A row and a column: the two factors of a square window.
constexpr Window row(std::int64_t width) { return {.kernel = {1, width}, .pad = {0, width / 2}}; }
constexpr Window column(std::int64_t height) { return {.kernel = {height, 1}, .pad = {height / 2, 0}}; }

/// Figure 5 of the paper.
Value module_a(Builder& net, const Value& x, std::int64_t pool_features) {
  const Value one = unit(net, x, "branch1x1", 64);
  Value five = unit(net, x, "branch5x5_1", 48);
  five = unit(net, five, "branch5x5_2", 64, {.kernel = 5, .pad = 2});
  Value twice = unit(net, x, "branch3x3dbl_1", 64);
  twice = unit(net, twice, "branch3x3dbl_2", 96, square);
  twice = unit(net, twice, "branch3x3dbl_3", 96, square);
  const Value pool = unit(net, net.average_pool(x, averaging), "branch_pool", pool_features);
  return net.concat({one, five, twice, pool});
}

/// Reduces from 35 to 17 pixels.
Value module_b(Builder& net, const Value& x) {
  const Value three = unit(net, x, "branch3x3", 384, halving);
  Value twice = unit(net, x, "branch3x3dbl_1", 64);
  twice = unit(net, twice, "branch3x3dbl_2", 96, square);
  twice = unit(net, twice, "branch3x3dbl_3", 96, halving);
  return net.concat({three, twice, net.max_pool(x, halving)});
}

/// Figure 6 of the paper, with n = 7.
Value module_c(Builder& net, const Value& x, std::int64_t width) {
  const Value one = unit(net, x, "branch1x1", 192);
  Value seven = unit(net, x, "branch7x7_1", width);
  seven = unit(net, seven, "branch7x7_2", width, row(7));
  seven = unit(net, seven, "branch7x7_3", 192, column(7));
  Value twice = unit(net, x, "branch7x7dbl_1", width);
  twice = unit(net, twice, "branch7x7dbl_2", width, column(7));
  twice = unit(net, twice, "branch7x7dbl_3", width, row(7));
  twice = unit(net, twice, "branch7x7dbl_4", width, column(7));
  twice = unit(net, twice, "branch7x7dbl_5", 192, row(7));
  const Value pool = unit(net, net.average_pool(x, averaging), "branch_pool", 192);
  return net.concat({one, seven, twice, pool});
}

/// Reduces from 17 to 8 pixels.
Value module_d(Builder& net, const Value& x) {
  Value three = unit(net, x, "branch3x3_1", 192);
  three = unit(net, three, "branch3x3_2", 320, halving);
  Value seven = unit(net, x, "branch7x7x3_1", 192);
  seven = unit(net, seven, "branch7x7x3_2", 192, row(7));
  seven = unit(net, seven, "branch7x7x3_3", 192, column(7));
  seven = unit(net, seven, "branch7x7x3_4", 192, halving);
  return net.concat({three, seven, net.max_pool(x, halving)});
}

/// Figure 7 of the paper.
Value module_e(Builder& net, const Value& x) {
  const Value one = unit(net, x, "branch1x1", 320);
  const Value three = unit(net, x, "branch3x3_1", 384);
  const Value wide =
      net.concat({unit(net, three, "branch3x3_2a", 384, row(3)), unit(net, three, "branch3x3_2b", 384, column(3))});
  Value twice = unit(net, x, "branch3x3dbl_1", 448);
  twice = unit(net, twice, "branch3x3dbl_2", 384, square);
  twice = net.concat(
      {unit(net, twice, "branch3x3dbl_3a", 384, row(3)), unit(net, twice, "branch3x3dbl_3b", 384, column(3))});
  const Value pool = unit(net, net.average_pool(x, averaging), "branch_pool", 192);
  return net.concat({one, wide, twice, pool});
}

}  // namespace

void build_inception_v3(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {3, 4, 2});
  const auto mixed = [&](int stage, std::int64_t index) {
    return net.scope(fmt::format("Mixed_{}{}", stage,
                                 index < 26 ? std::string(1, static_cast<char>('a' + index)) : std::to_string(index)));
  };
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  x = unit(net, x, "Conv2d_1a_3x3", 32, halving);
  x = unit(net, x, "Conv2d_2a_3x3", 32, {.kernel = 3});
  x = unit(net, x, "Conv2d_2b_3x3", 64, square);
  x = net.max_pool(x, halving);
  x = unit(net, x, "Conv2d_3b_1x1", 80);
  x = unit(net, x, "Conv2d_4a_3x3", 192, {.kernel = 3});
  x = net.max_pool(x, halving);
  for (std::int64_t i = 0; i < blocks[0]; ++i) {
    const auto scope = mixed(5, i + 1);
    x = module_a(net, x, i == 0 ? 32 : 64);
  }
  {
    const auto scope = mixed(6, 0);
    x = module_b(net, x);
  }
  for (std::int64_t i = 0; i < blocks[1]; ++i) {
    const auto scope = mixed(6, i + 1);
    x = module_c(net, x, i == 0 ? 128 : i < 3 ? 160 : 192);
  }
  {
    const auto scope = mixed(7, 0);
    x = module_d(net, x);
  }
  for (std::int64_t i = 0; i < blocks[2]; ++i) {
    const auto scope = mixed(7, i + 1);
    x = module_e(net, x);
  }
  net.output(net.linear(net.pooled_features(x), "fc", 1000), "logits");
}

}  // namespace taso::examples
