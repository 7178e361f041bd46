#include "tools/sweep/operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "ops/core/random.h"

namespace taso::sweep {
namespace {

using Kind = SweepOperator::Kind;

/// Random weights that keep values at a size of about 1; the same in every run.
class DrawnWeight : public Weight {
 public:
  explicit DrawnWeight(Extents extents, std::int64_t summands) : extents_(std::move(extents)), summands_(summands) {}
  Array load() const override {
    Array array(ElementType::float32, extents_);
    Random random(1);
    const double scale = std::sqrt(12.0 / static_cast<double>(summands_));
    for (float& value : array.mutable_values<float>()) value = static_cast<float>((random.unit() - 0.5) * scale);
    return array;
  }

 private:
  Extents extents_;
  std::int64_t summands_;
};

Extents filters_of(const SweepOperator& one) {
  Extents extents{one.outputs, one.x[1] / one.groups};
  if (one.kind == Kind::transposed) extents = {one.x[1], one.outputs / one.groups};
  extents.insert(extents.end(), one.kernel.begin(), one.kernel.end());
  return extents;
}

Operator operator_of(const SweepOperator& one) {
  switch (one.kind) {
    case Kind::convolution:
    case Kind::pair: return op::Conv{one.strides, one.dilations, one.pads, one.groups};
    case Kind::transposed:
      return op::ConvTranspose{one.strides, one.dilations, one.pads, Extents(one.kernel.size(), 0), one.groups};
    case Kind::max_pool: {
      op::MaxPool pool;
      pool.kernel = one.kernel;
      pool.strides = one.strides;
      pool.dilations = one.dilations;
      pool.pads = one.pads;
      return pool;
    }
    case Kind::average_pool: {
      op::AveragePool pool;
      pool.kernel = one.kernel;
      pool.strides = one.strides;
      pool.dilations = one.dilations;
      pool.pads = one.pads;
      return pool;
    }
    case Kind::matmul: break;
  }
  return op::MatMul{};
}

Graph make_graph(const SweepOperator& one, ElementType type, bool is_open) {
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  const auto input = [&](const char* name, const Extents& extents) {
    graph.inputs.push_back(graph.pool->input(name, {type, shape_of(extents)}));
    return graph.inputs.back();
  };
  const auto weight = [&](const char* name, const Extents& extents, std::int64_t summands) {
    if (is_open) return input(name, extents);
    return graph.pool->constant(name, {type, shape_of(extents)}, std::make_shared<DrawnWeight>(extents, summands));
  };
  std::vector<Value> operands{input("x", one.x)};
  if (one.has_filters()) {
    const Extents filters = filters_of(one);
    operands.push_back(weight("w", filters, count(filters) / one.outputs * one.groups));
  }
  // A matrix is a layer's weight; factors of several products are both computed, as in attention.
  if (one.kind == Kind::matmul)
    operands.push_back(one.y.size() == 2 ? weight("w", one.y, one.y[0]) : input("y", one.y));
  if (one.kind == Kind::pair) {
    const std::vector<Value> first{graph.pool->add(operator_of(one), operands).output()};
    Extents filters = filters_of(one);
    filters[1] = one.outputs / one.groups;
    operands = {graph.pool->add(op::Relu{}, first).output(), weight("z", filters, count(filters) / one.outputs)};
  }
  graph.outputs = {graph.pool->add(operator_of(one), operands).output()};
  return graph;
}

std::string joined(const Extents& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

/// "d2" or "d1x2x2"; empty if all are 1.
std::string marked(char mark, const Extents& extents) {
  if (std::all_of(extents.begin(), extents.end(), [](std::int64_t one) { return one == 1; })) return {};
  const bool are_equal = std::all_of(extents.begin(), extents.end(), [&](auto one) { return one == extents[0]; });
  return fmt::format(" {}{}", mark, are_equal ? fmt::format("{}", extents[0]) : joined(extents));
}

std::int64_t reach_of(const SweepOperator& one, std::size_t axis) {
  return one.dilations[axis] * (one.kernel[axis] - 1) + 1;
}

/// Pads that keep the size of the input, divided by the strides; multiplied for a transposed convolution.
Extents same_pads(const SweepOperator& one) {
  const auto both = [&](std::size_t axis) {
    return reach_of(one, axis) - (one.kind == Kind::transposed ? one.strides[axis] : 1);
  };
  Extents pads;
  for (std::size_t axis = 0; axis < one.kernel.size(); ++axis) pads.push_back(both(axis) / 2);
  for (std::size_t axis = 0; axis < one.kernel.size(); ++axis) pads.push_back(both(axis) - pads[axis]);
  return pads;
}

struct Style {
  Extents strides = {}, dilations = {};  ///< 1 where missing
  std::int64_t groups = 1;
};

class Table {
 public:
  /// The operators added from here on belong to this network, with these batches.
  void begin(std::string_view network, std::vector<std::int64_t> batches = {1, 16}) {
    network_ = network;
    batches_ = std::move(batches);
  }
  void conv(std::int64_t channels, const Extents& places, std::int64_t outputs, const Extents& kernel,
            const Style& style = {}) {
    window(Kind::convolution, channels, places, kernel, style, [&](SweepOperator& one) { one.outputs = outputs; });
  }
  void transposed(std::int64_t channels, const Extents& places, std::int64_t outputs, const Extents& kernel,
                  const Style& style) {
    window(Kind::transposed, channels, places, kernel, style, [&](SweepOperator& one) { one.outputs = outputs; });
  }
  void pair(std::int64_t channels, const Extents& places, std::int64_t outputs, const Extents& kernel) {
    window(Kind::pair, channels, places, kernel, {}, [&](SweepOperator& one) { one.outputs = outputs; });
  }
  void depthwise(std::int64_t channels, const Extents& places, const Extents& kernel, Style style = {}) {
    style.groups = channels;
    conv(channels, places, channels, kernel, style);
  }
  /// Padded before the first element only.
  void causal(std::int64_t channels, std::int64_t length, std::int64_t kernel, std::int64_t dilation) {
    window(Kind::convolution, channels, {length}, {kernel}, {.dilations = {dilation}}, [&](SweepOperator& one) {
      one.outputs = channels;
      one.pads = {dilation * (kernel - 1), 0};
    });
  }
  /// Without pads.
  void valid(std::int64_t channels, const Extents& places, std::int64_t outputs, const Extents& kernel,
             const Style& style = {}) {
    window(Kind::convolution, channels, places, kernel, style, [&](SweepOperator& one) {
      one.outputs = outputs;
      one.pads.assign(one.pads.size(), 0);
    });
  }
  void pool(Kind kind, std::int64_t channels, const Extents& places, const Extents& kernel, const Extents& strides,
            bool is_padded) {
    window(kind, channels, places, kernel, {.strides = strides}, [&](SweepOperator& one) {
      if (!is_padded) one.pads.assign(one.pads.size(), 0);
    });
  }
  void matmul(const Extents& x, const Extents& y) {
    SweepOperator one;
    one.kind = Kind::matmul;
    one.x = x;
    one.y = y;
    add(std::move(one));
  }
  std::vector<SweepOperator> take() { return std::move(all_); }

 private:
  template <class Finish>
  void window(Kind kind, std::int64_t channels, const Extents& places, const Extents& kernel, const Style& style,
              const Finish& finish) {
    for (const std::int64_t batch : batches_) {
      SweepOperator one;
      one.kind = kind;
      one.x = {batch, channels};
      one.x.insert(one.x.end(), places.begin(), places.end());
      one.kernel = kernel;
      one.strides = style.strides.empty() ? Extents(kernel.size(), 1) : style.strides;
      one.dilations = style.dilations.empty() ? Extents(kernel.size(), 1) : style.dilations;
      one.groups = style.groups;
      one.pads = same_pads(one);
      finish(one);
      add(std::move(one));
    }
  }
  void add(SweepOperator one) {
    one.network = network_;
    if (names_.insert(one.name()).second) all_.push_back(std::move(one));
  }

  std::string_view network_;
  std::vector<std::int64_t> batches_;
  std::set<std::string> names_;
  std::vector<SweepOperator> all_;
};

struct Stage {
  std::int64_t channels, size;
};
const std::vector<Stage> resnet_stages{{64, 56}, {128, 28}, {256, 14}, {512, 7}};

Extents square(std::int64_t size) { return {size, size}; }

void add_dense_networks(Table& table) {
  table.begin("ResNet");
  table.conv(3, square(224), 64, square(7), {.strides = square(2)});
  for (const auto& [channels, size] : resnet_stages) {
    table.conv(channels, square(size), channels, square(3));
    table.conv(channels, square(size), 4 * channels, square(1));
    table.conv(4 * channels, square(size), channels, square(1));
    if (size == 7) continue;
    table.conv(channels, square(size), 2 * channels, square(3), {.strides = square(2)});
    table.conv(channels, square(size), 2 * channels, square(1), {.strides = square(2)});
  }
  table.begin("VGG");
  for (const auto& [channels, size] : std::vector<Stage>{{64, 224}, {128, 112}, {256, 56}, {512, 28}})
    for (const std::int64_t before : {channels == 64 ? 3 : channels / 2, channels})
      table.conv(before, square(size), channels, square(3));
  table.conv(512, square(14), 512, square(3));
  table.begin("U-Net");
  for (const auto& [channels, size] : std::vector<Stage>{{32, 128}, {64, 128}, {128, 64}, {256, 32}, {512, 16}})
    table.conv(channels, square(size), channels, square(3));
  table.begin("Inception");
  table.valid(3, square(299), 32, square(3), {.strides = square(2)});
  table.valid(288, square(35), 384, square(3), {.strides = square(2)});
  table.conv(48, square(35), 64, square(5));
  table.conv(64, square(35), 96, square(3));
  for (const std::int64_t channels : {128, 160, 192})
    for (const Extents& kernel : {Extents{1, 7}, Extents{7, 1}}) table.conv(channels, square(17), channels, kernel);
  for (const Extents& kernel : {Extents{1, 3}, Extents{3, 1}}) table.conv(384, square(8), 384, kernel);
}

void add_grouped(Table& table) {
  table.begin("MobileNet");
  for (const auto& [channels, size, stride] : std::vector<std::array<std::int64_t, 3>>{{32, 112, 1},
                                                                                       {96, 112, 2},
                                                                                       {144, 56, 1},
                                                                                       {144, 56, 2},
                                                                                       {192, 28, 1},
                                                                                       {384, 14, 1},
                                                                                       {576, 14, 2},
                                                                                       {960, 7, 1}})
    table.depthwise(channels, square(size), square(3), {.strides = square(stride)});
  for (const auto& [channels, size] : std::vector<Stage>{{16, 112}, {24, 56}, {32, 28}, {64, 14}, {160, 7}})
    table.conv(channels, square(size), 6 * channels, square(1));
  table.begin("EfficientNet");
  for (const auto& [channels, size] : std::vector<Stage>{{240, 28}, {480, 14}, {1152, 7}})
    table.depthwise(channels, square(size), square(5));
  table.begin("ResNeXt");
  for (const auto& [channels, size] : resnet_stages) {
    table.conv(2 * channels, square(size), 2 * channels, square(3), {.groups = 32});
    if (size > 7) table.conv(4 * channels, square(size), 4 * channels, square(3), {.strides = square(2), .groups = 32});
  }
  for (const std::int64_t groups : {2, 4})
    for (const auto& [channels, size] : resnet_stages)
      table.conv(channels, square(size), channels, square(3), {.groups = groups});
  table.begin("AlexNet");
  table.conv(96, square(27), 256, square(5), {.groups = 2});
  table.conv(384, square(13), 384, square(3), {.groups = 2});
}

void add_dilated(Table& table) {
  table.begin("CSRNet");
  for (const std::int64_t size : {14, 28, 64})
    for (const auto& [channels, outputs] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{512, 512}, {512, 256}, {256, 128}, {128, 64}})
      table.conv(channels, square(size), outputs, square(3), {.dilations = square(2)});
  table.begin("DeepLab");
  for (const std::int64_t size : {28, 33})  // of images of 224 and 257
    for (const auto& [channels, dilation] : std::vector<std::pair<std::int64_t, std::int64_t>>{{256, 2}, {512, 4}})
      table.conv(channels, square(size), channels, square(3), {.dilations = square(dilation)});
  for (const std::int64_t dilation : {6, 12, 18})
    table.conv(2048, square(33), 256, square(3), {.dilations = square(dilation)});
  table.depthwise(960, square(28), square(3), {.dilations = square(2)});
  table.depthwise(960, square(28), square(3), {.dilations = square(4)});
  table.begin("context module");
  for (const std::int64_t channels : {16, 32})
    for (const std::int64_t dilation : {2, 4, 8})
      table.conv(channels, square(64), channels, square(3), {.dilations = square(dilation)});
}

void add_sequences(Table& table) {
  table.begin("WaveNet", {1});
  for (const std::int64_t channels : {32, 64, 128})
    for (const std::int64_t length : {4000, 16000})
      for (const std::int64_t dilation : {1, 2, 4, 16, 64}) table.causal(channels, length, 2, dilation);
  table.begin("TCN");
  for (const std::int64_t channels : {64, 128})
    for (const std::int64_t length : {128, 1024})
      for (const std::int64_t dilation : {1, 2, 4})
        table.conv(channels, {length}, channels, {3}, {.dilations = {dilation}});
  table.begin("wav2vec");
  for (const std::int64_t length : {3200, 1600, 800}) table.valid(512, {length}, 512, {3}, {.strides = {2}});
  table.begin("Whisper");
  table.conv(80, {3000}, 384, {3});
  table.conv(384, {3000}, 384, {3}, {.strides = {2}});
  table.begin("ResNet of signals");
  for (const auto& [channels, length] : std::vector<Stage>{{64, 1024}, {128, 512}, {256, 256}}) {
    for (const std::int64_t kernel : {5, 7}) table.conv(channels, {length}, channels, {kernel});
    table.conv(channels, {length}, 2 * channels, {3}, {.strides = {2}});
  }
  table.begin("Conformer");
  table.depthwise(256, {500}, {31});
}

void add_volumes(Table& table) {
  const auto volume = [](std::int64_t frames, std::int64_t size) { return Extents{frames, size, size}; };
  table.begin("R3D");
  table.conv(3, volume(16, 112), 64, {3, 7, 7}, {.strides = {1, 2, 2}});
  std::int64_t frames = 16;
  for (const auto& [channels, size] : resnet_stages) {
    table.conv(channels, volume(frames, size), channels, {3, 3, 3});
    if (size > 7) {
      table.conv(channels, volume(frames, size), 2 * channels, {3, 3, 3}, {.strides = {2, 2, 2}});
      table.conv(channels, volume(frames, size), 2 * channels, {1, 1, 1}, {.strides = {2, 2, 2}});
    }
    frames /= 2;
  }
  table.begin("R(2+1)D");
  frames = 16;
  for (const auto& [channels, size] : std::vector<Stage>{{64, 56}, {128, 28}, {256, 14}}) {
    table.conv(channels, volume(frames, size), channels, {1, 3, 3});
    table.conv(channels, volume(frames, size), channels, {3, 1, 1});
    frames /= 2;
  }
  table.begin("C3D", {1});
  table.conv(3, volume(16, 112), 64, {3, 3, 3});
  table.conv(64, volume(16, 56), 128, {3, 3, 3});
  table.conv(256, volume(8, 28), 256, {3, 3, 3});
  table.begin("dilated volumes");
  for (const std::int64_t dilation : {2, 4})
    table.conv(32, volume(16, 32), 32, {3, 3, 3}, {.dilations = {dilation, dilation, dilation}});
  table.begin("CSN");
  table.depthwise(64, volume(8, 28), {3, 3, 3});
  table.depthwise(256, volume(4, 14), {3, 3, 3});
}

void add_transposed(Table& table) {
  table.begin("DCGAN");
  for (const auto& [channels, size] : std::vector<Stage>{{1024, 4}, {512, 8}, {256, 16}, {128, 32}})
    table.transposed(channels, square(size), channels == 128 ? 3 : channels / 2, square(4), {.strides = square(2)});
  table.begin("U-Net");
  for (const auto& [channels, size] : std::vector<Stage>{{1024, 16}, {512, 32}, {256, 64}, {128, 128}})
    table.transposed(channels, square(size), channels / 2, square(2), {.strides = square(2)});
  table.begin("FCN");
  table.transposed(21, square(28), 21, square(4), {.strides = square(2)});
  table.transposed(21, square(28), 21, square(16), {.strides = square(8)});
  table.begin("CenterNet");
  table.transposed(256, square(32), 256, square(4), {.strides = square(2)});
  table.transposed(64, square(64), 64, square(4), {.strides = square(2), .groups = 64});
  table.begin("HiFi-GAN");
  for (const auto& [channels, length] : std::vector<Stage>{{512, 64}, {256, 512}})
    table.transposed(channels, {length}, channels / 2, {16}, {.strides = {8}});
  for (const auto& [channels, length] : std::vector<Stage>{{128, 4096}, {64, 8192}})
    table.transposed(channels, {length}, channels / 2, {4}, {.strides = {2}});
  table.begin("V-Net", {1});
  table.transposed(256, {8, 8, 8}, 128, {2, 2, 2}, {.strides = {2, 2, 2}});
  table.transposed(64, {16, 16, 16}, 32, {4, 4, 4}, {.strides = {2, 2, 2}});
}

void add_pairs(Table& table) {
  table.begin("ResNet-18");
  for (const auto& [channels, size] : resnet_stages) table.pair(channels, square(size), channels, square(3));
  table.begin("VGG");
  for (const auto& [channels, size] : std::vector<Stage>{{64, 224}, {128, 112}, {512, 28}})
    table.pair(channels, square(size), channels, square(3));
  table.begin("U-Net");
  for (const auto& [channels, size] : std::vector<Stage>{{32, 128}, {64, 64}, {128, 32}})
    table.pair(channels, square(size), channels, square(3));
  table.begin("TCN");
  for (const std::int64_t length : {128, 1024}) table.pair(64, {length}, 64, {3});
  table.begin("R3D", {1});
  table.pair(64, {16, 56, 56}, 64, {3, 3, 3});
}

void add_products(Table& table) {
  table.begin("BERT");
  for (const std::int64_t rows : {1, 128, 512})
    for (const auto& [depth, columns] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{768, 768}, {768, 3072}, {3072, 768}})
      table.matmul({rows, depth}, {depth, columns});
  table.begin("ViT");
  for (const auto& [depth, columns] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{768, 768}, {768, 2304}, {3072, 768}})
    table.matmul({197, depth}, {depth, columns});
  table.begin("classifier");
  for (const std::int64_t rows : {1, 16})
    for (const auto& [depth, columns] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{512, 1000}, {2048, 1001}, {4096, 4096}})
      table.matmul({rows, depth}, {depth, columns});
  table.begin("odd sizes");
  for (const std::int64_t size : {127, 255, 511, 1023, 1025}) table.matmul({size, size}, {size, size});
  table.begin("attention");
  for (const std::int64_t tokens : {128, 197, 384}) {
    table.matmul({12, tokens, 64}, {12, 64, tokens});
    table.matmul({12, tokens, tokens}, {12, tokens, 64});
  }
}

void add_pools(Table& table) {
  for (const Kind kind : {Kind::max_pool, Kind::average_pool}) {
    table.begin("ResNet and VGG");
    for (const auto& [channels, size] : std::vector<Stage>{{64, 112}, {128, 56}, {256, 28}}) {
      table.pool(kind, channels, square(size), square(2), square(2), false);
      table.pool(kind, channels, square(size), square(3), square(2), true);
    }
    table.begin("Inception");
    for (const auto& [channels, size] : std::vector<Stage>{{192, 35}, {768, 17}})
      table.pool(kind, channels, square(size), square(3), square(1), true);
    table.begin("C3D", {1});
    table.pool(kind, 64, {16, 56, 56}, {2, 2, 2}, {2, 2, 2}, false);
    table.begin("M5", {1});
    table.pool(kind, 128, {4000}, {4}, {4}, false);
  }
}

/// Smaller than `size`, at least `least`, with the same remainder.
std::int64_t reduced(std::int64_t size, std::int64_t modulus, std::int64_t least) {
  std::int64_t small = size % modulus;
  while (small < least) small += modulus;
  return std::min(size, small);
}

}  // namespace

std::string SweepOperator::name() const {
  if (kind == Kind::matmul) return fmt::format("matmul {} {}", joined(x), joined(y));
  static const char* const names[] = {"conv", "conv_transpose", "conv_relu_conv", "max_pool", "average_pool"};
  std::string text = names[static_cast<std::size_t>(kind)];
  text += fmt::format("{}d {}", kernel.size(), joined(x));
  if (has_filters()) text += fmt::format(" {}", outputs);
  text += fmt::format(" {}{}{}", joined(kernel), marked('s', strides), marked('d', dilations));
  if (groups > 1) text += fmt::format(" g{}", groups);
  const Extents usual = same_pads(*this);
  if (pads == usual) return text;
  const bool is_valid = std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
  return text + (is_valid ? " valid" : " causal");
}

Graph SweepOperator::graph() const { return make_graph(*this, ElementType::float32, false); }

Graph SweepOperator::open_graph() const { return make_graph(*this, ElementType::float64, true); }

SweepOperator SweepOperator::small() const {
  SweepOperator less = *this;
  if (kind == Kind::matmul) {
    constexpr std::int64_t modulus = 8;
    for (Extents* const extents : {&less.x, &less.y})
      for (std::int64_t& extent : *extents) extent = reduced(extent, modulus, 2);
    return less;
  }
  less.x[0] = std::min<std::int64_t>(x[0], 2);
  // Channels and groups leave the same remainder modulo 4.
  constexpr std::int64_t modulus = 4;
  const std::int64_t per_group = reduced(x[1] / groups, modulus, 1), outputs_per_group = outputs / groups;
  less.groups = reduced(groups, modulus, groups == 2 ? 2 : 1);
  less.x[1] = less.groups * per_group;
  less.outputs = less.groups * reduced(outputs_per_group, modulus, 1);
  for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
    const std::int64_t reach = reach_of(*this, axis);
    less.x[axis + 2] =
        reduced(x[axis + 2], std::lcm(std::int64_t{8}, dilations[axis]), std::max<std::int64_t>(8, 2 * reach));
  }
  return less;
}

std::vector<SweepOperator> sweep_operators() {
  Table table;
  add_dense_networks(table);
  add_grouped(table);
  add_dilated(table);
  add_sequences(table);
  add_volumes(table);
  add_transposed(table);
  add_pairs(table);
  add_products(table);
  add_pools(table);
  return table.take();
}

}  // namespace taso::sweep
