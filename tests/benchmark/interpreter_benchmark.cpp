// Times the interpreter on three networks, built here node by node with random weights:
//   benchmark_interpreter [resnet50|mobilenet2|bert]... [--threads N] [--runs N] [--operators]
// Prints "<network> <least milliseconds> ms <least milliseconds of processor time> ms"; with --operators also the time
// per operator.
// onnxruntime_reference.py in this folder builds the same networks for ONNX Runtime.
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <random>

#include <fmt/format.h>

#include "runtime/host/interpreter.h"

namespace {

using namespace taso;

class RandomWeight : public Weight {
 public:
  RandomWeight(Extents extents, double scale, std::uint64_t seed) : data_(ElementType::float32, std::move(extents)) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, static_cast<float>(scale));
    for (float& value : data_.mutable_values<float>()) value = normal(random);
  }
  Array load() const override { return data_; }

 private:
  Array data_;
};

class NumberWeight : public Weight {
 public:
  explicit NumberWeight(float value) : data_(Array::scalar(value)) {}
  Array load() const override { return data_; }

 private:
  Array data_;
};

class Network {
 public:
  explicit Network(Extents shape) {
    graph_.pool = std::make_shared<Pool>();
    graph_.inputs = {graph_.pool->input("x", {ElementType::float32, shape_of(shape)})};
  }
  Value x() const { return graph_.inputs[0]; }
  Value add(const Operator& op, std::initializer_list<Value> inputs) { return graph_.pool->apply(op, inputs); }
  Value weight(const Extents& extents, double scale = 1) {
    const std::uint64_t number = ++weights_;
    return graph_.pool->constant(fmt::format("w{}", number), {ElementType::float32, shape_of(extents)},
                                 std::make_shared<RandomWeight>(extents, scale, number));
  }
  Value number(double value) {
    return graph_.pool->constant(fmt::format("w{}", ++weights_), {ElementType::float32, Shape{}},
                                 std::make_shared<NumberWeight>(static_cast<float>(value)));
  }
  Value conv(Value input, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
    const std::int64_t channels = input.shape()[1].value() / groups, pad = kernel / 2;
    op::Conv op;
    op.strides = {stride, stride};
    op.dilations = {1, 1};
    op.pads = {pad, pad, pad, pad};
    op.groups = groups;
    const double scale = std::sqrt(2.0 / static_cast<double>(channels * kernel * kernel));
    return add(op, {input, weight({out, channels, kernel, kernel}, scale), weight({out}, 0.1)});
  }
  Value dense(Value input, std::int64_t columns) {
    const std::int64_t rows = input.shape().back().value();
    const Value product = add(op::MatMul{}, {input, weight({rows, columns}, 1 / std::sqrt(static_cast<double>(rows)))});
    return add(op::Add{}, {product, weight({columns}, 0.1)});
  }
  Value relu(Value input) { return add(op::Relu{}, {input}); }
  Value reshape(Value input, const Extents& extents) { return add(op::Reshape{shape_of(extents)}, {input}); }
  Graph finish(Value output) {
    graph_.outputs = {output};
    return graph_;
  }

 private:
  Graph graph_;
  std::uint64_t weights_ = 0;
};

Graph resnet50() {
  Network net({1, 3, 224, 224});
  op::MaxPool pool;
  pool.kernel = {3, 3};
  pool.strides = {2, 2};
  pool.dilations = {1, 1};
  pool.pads = {1, 1, 1, 1};
  Value x = net.add(pool, {net.relu(net.conv(net.x(), 64, 7, 2))});
  std::int64_t width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block) {
      const std::int64_t stride = width > 64 && block == 0 ? 2 : 1;
      Value y = net.relu(net.conv(x, width, 1));
      y = net.relu(net.conv(y, width, 3, stride));
      y = net.conv(y, 4 * width, 1);
      if (block == 0) x = net.conv(x, 4 * width, 1, stride);
      x = net.relu(net.add(op::Add{}, {y, x}));
    }
    width *= 2;
  }
  x = net.reshape(net.add(op::GlobalAveragePool{}, {x}), {1, 2048});
  return net.finish(net.dense(x, 1000));
}

Graph mobilenet2() {
  Network net({1, 3, 224, 224});
  const auto relu6 = [&](Value x) {
    op::Clip clip;
    clip.low = 0;
    clip.high = 6;
    return net.add(clip, {x});
  };
  struct Stage {
    std::int64_t expand, out, blocks, stride;
  };
  Value x = relu6(net.conv(net.x(), 32, 3, 2));
  std::int64_t channels = 32;
  for (const Stage& stage : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
                             Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}})
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      const std::int64_t stride = block == 0 ? stage.stride : 1, wide = channels * stage.expand;
      Value y = stage.expand > 1 ? relu6(net.conv(x, wide, 1)) : x;
      y = net.conv(relu6(net.conv(y, wide, 3, stride, wide)), stage.out, 1);
      x = stride == 1 && channels == stage.out ? net.add(op::Add{}, {x, y}) : y;
      channels = stage.out;
    }
  x = relu6(net.conv(x, 1280, 1));
  return net.finish(net.dense(net.reshape(net.add(op::GlobalAveragePool{}, {x}), {1, 1280}), 1000));
}

Graph bert() {
  constexpr std::int64_t length = 128, width = 768, heads = 12;
  Network net({1, length, width});
  const auto normalised = [&](Value x) {
    op::LayerNorm norm;
    norm.axis = 2;
    norm.epsilon = 1e-12;
    return net.add(norm, {x, net.weight({width}), net.weight({width})});
  };
  const auto split_heads = [&](Value x, std::vector<std::int64_t> permutation) {
    return net.add(op::Transpose{std::move(permutation)}, {net.reshape(x, {1, length, heads, width / heads})});
  };
  op::Softmax softmax;
  softmax.axis = 3;
  Value x = net.x();
  for (int layer = 0; layer < 4; ++layer) {
    const Value q = split_heads(net.dense(x, width), {0, 2, 1, 3});
    const Value k = split_heads(net.dense(x, width), {0, 2, 3, 1});
    const Value v = split_heads(net.dense(x, width), {0, 2, 1, 3});
    const Value scores = net.add(op::Mul{}, {net.add(op::MatMul{}, {q, k}), net.number(0.125)});
    Value y = net.add(op::MatMul{}, {net.add(softmax, {scores}), v});
    y = net.reshape(net.add(op::Transpose{{0, 2, 1, 3}}, {y}), {1, length, width});
    x = normalised(net.add(op::Add{}, {x, net.dense(y, width)}));
    y = net.dense(x, 4 * width);
    const Value erf = net.add(op::Erf{}, {net.add(op::Mul{}, {y, net.number(0.70710678)})});
    const Value gate = net.add(op::Add{}, {erf, net.number(1)});
    y = net.add(op::Mul{}, {net.add(op::Mul{}, {y, gate}), net.number(0.5)});
    x = normalised(net.add(op::Add{}, {x, net.dense(y, width)}));
  }
  return net.finish(x);
}

double milliseconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Array random_input(const Graph& graph) { return RandomWeight(*static_extents(graph.inputs[0].shape()), 1, 99).load(); }

/// Times each node by itself, on operands of the right shapes.
void print_operators(const Graph& graph, const runtime::InterpreterOptions& options) {
  std::map<std::string, double> total;
  for (const Node* node : graph.nodes()) {
    const Operator* op = node->as_operator();
    if (op == nullptr) continue;
    std::vector<Array> operands;
    std::string line(name_of(*op));
    for (const Value& value : node->inputs()) {
      operands.push_back(RandomWeight(*static_extents(value.shape()), 0.1, 5).load());
      line += " " + text_of(value.shape());
    }
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 4; ++run)
      least = std::min(least, milliseconds_of([&] { runtime::evaluate(*op, operands, options); }));
    const double flops = std::visit(
        [&](const auto& o) {
          Shapes shapes;
          for (const Value& value : node->inputs()) shapes.push_back(value.shape());
          return o.work(shapes).flops;
        },
        *op);
    total[std::string(name_of(*op))] += least;
    fmt::print("  {:8.3f} ms {:7.1f} GFLOP/s  {}\n", least, flops / least / 1e6, line);
  }
  for (const auto& [name, time] : total) fmt::print("  {:8.3f} ms in all: {}\n", time, name);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Graph (*)()> networks{{"resnet50", resnet50}, {"mobilenet2", mobilenet2}, {"bert", bert}};
  runtime::InterpreterOptions options;
  options.threads = 2;
  int runs = 7;
  bool operators = false;
  std::vector<std::string> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      options.threads = static_cast<unsigned>(std::stoul(argv[++i]));
    else if (argument == "--runs" && i + 1 < argc)
      runs = std::stoi(argv[++i]);
    else if (argument == "--operators")
      operators = true;
    else if (networks.contains(argument))
      chosen.push_back(argument);
    else
      return fmt::print(stderr, "what is '{}'?\n", argument), 2;
  }
  if (chosen.empty())
    for (const auto& [name, make] : networks) chosen.push_back(name);
  for (const std::string& name : chosen) {
    const Graph graph = networks.at(name)();
    const std::vector<Array> inputs{random_input(graph)};
    runtime::interpret(graph, inputs, options);
    double least = std::numeric_limits<double>::infinity(), least_processor = least;
    for (int run = 0; run < runs; ++run) {
      const std::clock_t start = std::clock();
      least = std::min(least, milliseconds_of([&] { runtime::interpret(graph, inputs, options); }));
      least_processor = std::min(least_processor, 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    fmt::print("{} {:.1f} ms {:.1f} ms\n", name, least, least_processor);
    if (operators) print_operators(graph, options);
  }
}
