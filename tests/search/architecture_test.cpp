// Kinds of networks, recognised from small networks of each kind and from the example networks.
#include "search/selection/architecture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/text/graph_text.h"
#include "tests/benchmark/example_graph.h"
#include "tests/catch.h"

namespace taso::test {

using namespace search;

namespace {

/// Writes a network line by line.
class Text {
 public:
  explicit Text(std::string input) : text_("graph\n  input x: float32[" + std::move(input) + "]\n") {}

  std::string weight(const std::string& shape) {
    const std::string name = fmt::format("w{}", count_++);
    text_ += fmt::format("  constant {}: float32[{}]\n", name, shape);
    return name;
  }
  std::string line(const std::string& what) {
    const std::string name = fmt::format("v{}", count_++);
    text_ += fmt::format("  {} = {}\n", name, what);
    return name;
  }
  /// From 8 channels to 8 by default, at the same size.
  std::string conv(const std::string& x, int kernel = 1, const std::string& filters = "8, 8", int groups = 1,
                   int stride = 1) {
    const std::string w = weight(fmt::format("{}, {}, {}", filters, kernel, kernel));
    const int pad = kernel / 2;
    return line(
        fmt::format("conv[strides=[{0}, {0}], dilations=[1, 1], pads=[{1}, {1}, {1}, {1}], groups={2}]({3}, {4})",
                    stride, pad, groups, x, w));
  }
  std::string relu(const std::string& x) { return line("relu(" + x + ")"); }
  Architecture recognise(const std::vector<std::string>& outputs) const {
    return search::recognise(parse_graph(fmt::format("{}  output {}\n", text_, fmt::join(outputs, ", "))));
  }

 private:
  std::string text_;
  int count_ = 0;
};

constexpr auto image = "1, 8, 16, 16";

Architecture residual_network(int blocks, int groups) {
  Text net(image);
  std::string x = "x";
  for (int i = 0; i < blocks; ++i) {
    const std::string y = net.relu(net.conv(net.relu(net.conv(x)), 3, fmt::format("8, {}", 8 / groups), groups));
    x = net.relu(net.line(fmt::format("add({}, {})", x, net.conv(y))));
  }
  return net.recognise({x});
}

}  // namespace

TEST_CASE("residual sums make a ResNet, and depthwise convolutions a MobileNet") {
  const Architecture plain = residual_network(4, 1);
  CHECK(plain.kind == NetworkKind::resnet);
  CHECK(plain.reason == "4 residual sums; 12 convolutions");
  CHECK(residual_network(4, 2).kind == NetworkKind::resnet);
  CHECK(residual_network(4, 2).reason == "4 residual sums; 12 convolutions, 4 of them grouped");
  CHECK(residual_network(4, 8).kind == NetworkKind::mobilenet);
  CHECK(residual_network(4, 8).reason == "12 convolutions, 4 of them depthwise; 4 residual sums");
}

TEST_CASE("a small graph and a plain one are of unknown kind") {
  const Architecture small = residual_network(2, 1);
  CHECK(small.kind == NetworkKind::unknown);
  CHECK(small.reason == "6 convolutions and products are too few to tell");
  Text net(image);
  std::string x = "x";
  for (int i = 0; i < 12; ++i) x = net.relu(net.conv(x, 3));
  CHECK(net.recognise({x}).kind == NetworkKind::unknown);
  CHECK(net.recognise({"x"}).kind == NetworkKind::unknown);
}

TEST_CASE("nodes that do not depend on the inputs do not count") {
  Text net(image);
  std::string x = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string w = net.weight("8, 8, 1, 1");
    const std::string sum = net.line(fmt::format("add({0}, {0})", w));
    x = net.line(fmt::format("conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]]({}, {})", x, sum));
  }
  CHECK(net.recognise({x}).kind == NetworkKind::unknown);
}

TEST_CASE("joined branches make an Inception, and layers joined with their inputs a DenseNet") {
  Text branches(image), layers("1, 8, 16, 16");
  std::string x = "x", y = "x";
  for (int i = 0; i < 4; ++i) {
    const std::string a = branches.relu(branches.conv(x, 1, "4, 8")), b = branches.relu(branches.conv(x, 3, "2, 8"));
    const std::string c = branches.conv(
        branches.line("max_pool[kernel=[3, 3], strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1]](" + x + ")"), 1,
        "2, 8");
    x = branches.line(
        fmt::format("concat[axis=1]({}, {})", branches.line(fmt::format("concat[axis=1]({}, {})", a, b)), c));
  }
  CHECK(branches.recognise({x}).kind == NetworkKind::inception);
  CHECK(branches.recognise({x}).reason == "4 concats of 12 branches that start from one value; 12 convolutions");
  for (int i = 0; i < 8; ++i)
    y = layers.line(
        fmt::format("concat[axis=1]({}, {})", y, layers.relu(layers.conv(y, 1, fmt::format("8, {}", 8 + 8 * i)))));
  CHECK(layers.recognise({y}).kind == NetworkKind::dense);
  CHECK(layers.recognise({y}).reason == "8 concats of a layer's output with its input; 8 convolutions");
}

TEST_CASE("heads at several sizes make an SSD, joined or not") {
  Text net(image);
  std::string x = "x";
  std::vector<std::string> heads, rows;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 2; ++k) x = net.relu(net.conv(x, 3));
    x = net.relu(net.conv(x, 3, "8, 8", 1, 2));
    heads.push_back(net.conv(x, 3, "4, 8"));
    const int size = (16 >> (i + 1)) * (16 >> (i + 1));
    rows.push_back(net.line(fmt::format("reshape[shape=[1, 4, {}]]({})", size, heads.back())));
  }
  CHECK(net.recognise(heads).kind == NetworkKind::ssd);
  CHECK(net.recognise({heads[0], heads[1]}).kind == NetworkKind::unknown);
  std::string joined = net.line(fmt::format("concat[axis=2]({}, {})", rows[0], rows[1]));
  joined = net.line(fmt::format("concat[axis=2]({}, {})", joined, rows[2]));
  CHECK(net.recognise({joined}).kind == NetworkKind::ssd);
  CHECK(net.recognise({joined}).reason == "heads at 3 sizes are joined; 12 convolutions");
}

TEST_CASE("softmax over products of activations makes a BERT") {
  const auto network = [](bool scores_are_products) {
    Text net("2, 16, 8");
    std::string x = "x";
    const auto product = [&](const std::string& y) {
      return net.line(fmt::format("matmul({}, {})", y, net.weight("2, 8, 8")));
    };
    for (int i = 0; i < 2; ++i) {
      const std::string k = net.line("transpose[permutation=[0, 2, 1]](" + product(x) + ")");
      const std::string scores = scores_are_products
                                     ? net.line(fmt::format("matmul({}, {})", product(x), k))
                                     : net.line(fmt::format("matmul({}, {})", product(x), net.weight("2, 8, 16")));
      const std::string weights =
          net.line("softmax[axis=2](" + net.line(fmt::format("add({}, {})", scores, net.weight("2, 16, 16"))) + ")");
      x = net.line(
          fmt::format("add({}, {})", x, product(net.line(fmt::format("matmul({}, {})", weights, product(x))))));
    }
    return net.recognise({x});
  };
  CHECK(network(true).kind == NetworkKind::bert);
  CHECK(network(true).reason == "2 times softmax over products of activations; 12 products, 0 layer norms");
  CHECK(network(false).kind == NetworkKind::unknown);
}

TEST_CASE("gates make a recurrent network, activations that look like them do not") {
  const auto network = [](bool gated) {
    Text net("4, 8");
    std::string x = "x";
    for (int i = 0; i < 6; ++i) {
      const std::string a = net.line(fmt::format("matmul({}, {})", x, net.weight("8, 8")));
      const std::string b = net.line(fmt::format("matmul({}, {})", x, net.weight("8, 8")));
      x = net.line(fmt::format("mul({}, {})", net.line("sigmoid(" + a + ")"), gated ? b : a));
    }
    return net.recognise({x});
  };
  CHECK(network(true).kind == NetworkKind::recurrent);
  CHECK(network(true).reason == "6 gates, 12 products");
  CHECK(network(false).kind == NetworkKind::unknown);
}

TEST_CASE("operators that are not modelled count by their name") {
  std::string text = "graph\n  input x: float32[?]\n  constant w: float32[8, 8]\n";
  std::string x = "x";
  for (int i = 0; i < 4; ++i) {
    text += fmt::format(
        "  a{0} = opaque \"MatMul\"({1}, w) -> float32[?]\n  b{0} = opaque \"MatMul\"(a{0}, a{0}) -> float32[?]\n", i,
        x);
    text += fmt::format("  c{0} = opaque \"Softmax\"(b{0}) -> float32[?]\n", i);
    x = fmt::format("c{}", i);
  }
  CHECK(recognise(parse_graph(text + "  output " + x + "\n")).kind == NetworkKind::bert);
}

TEST_CASE("names of kinds are those used in files") {
  for (const NetworkKind kind : network_kinds()) CHECK(network_kind_named(search::name_of(kind)) == kind);
  CHECK_FALSE(network_kind_named("unknown"));
  CHECK_FALSE(network_kind_named(""));
}

TEST_CASE("the example networks are recognised, however few blocks they have") {
  const std::vector<std::pair<std::string_view, NetworkKind>> expected{
      {"resnet50", NetworkKind::resnet},         {"resnext50", NetworkKind::resnet},
      {"resnet18", NetworkKind::resnet},         {"resnet3d_18", NetworkKind::resnet},
      {"mobilenet_v2", NetworkKind::mobilenet},  {"ssd300_resnet50", NetworkKind::ssd},
      {"inception_v3", NetworkKind::inception},  {"squeezenet1_1", NetworkKind::inception},
      {"nasnet_mobile", NetworkKind::inception}, {"densenet121", NetworkKind::dense},
      {"nasrnn", NetworkKind::recurrent},        {"vit_b_16", NetworkKind::bert},
      {"csrnet", NetworkKind::unknown}};
  for (const auto& [name, kind] : expected) {
    ExampleNetwork example{name, "N", ElementType::float32, {}};
    example.variant.blocks = 2;
    const onnx::Model model = model_of(example);
    INFO(name);
    CHECK(recognise(cleaned_graph(model)).kind == kind);
  }
}

}  // namespace taso::test
