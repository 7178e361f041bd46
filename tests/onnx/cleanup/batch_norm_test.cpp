// Batch normalisation is folded into the weights before it, where that is correct.
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

using Operators = std::vector<std::string>;

/// The parameters of the norm: scale, shift, mean and variance of each channel.
void add_parameters(proto::GraphProto& graph, std::int64_t channels, float variance = 0.5F) {
  const auto size = static_cast<std::size_t>(channels);
  add_floats(graph, "scale", {channels}, some_floats(size, 1.5F));
  add_floats(graph, "shift", {channels}, some_floats(size, 0.25F));
  add_floats(graph, "mean", {channels}, some_floats(size, -0.25F));
  std::vector<float> variances = some_floats(size, 1.25F);
  for (float& value : variances) value += variance;
  add_floats(graph, "variance", {channels}, variances);
}

proto::NodeProto& add_norm(proto::GraphProto& graph, std::string_view input) {
  return add_node(graph, "BatchNormalization", {input, "scale", "shift", "mean", "variance"}, {"y"}, "norm");
}

std::size_t product(const Dims& dims) {
  std::size_t result = 1;
  for (const auto dim : dims) result *= static_cast<std::size_t>(dim);
  return result;
}

proto::ModelProto conv_model(const Dims& input, const Dims& weight, bool bias, std::int64_t groups = 1) {
  auto model = plain_model(input, input);
  auto& graph = *model.mutable_graph();
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  add_floats(graph, "w", weight, some_floats(product(weight)));
  if (bias) add_floats(graph, "b", {weight[0]}, some_floats(static_cast<std::size_t>(weight[0]), 0.125F));
  auto& conv = bias ? add_node(graph, "Conv", {"x", "w", "b"}, {"c"}, "conv")
                    : add_node(graph, "Conv", {"x", "w"}, {"c"}, "conv");
  set_integer(conv, "group", groups);
  add_parameters(graph, weight[0]);
  add_norm(graph, "c");
  return model;
}

proto::ModelProto gemm_model(const Dims& bias) {
  auto model = plain_model({4, 3}, {4, 4});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "w", {3, 4}, some_floats(12));
  add_floats(graph, "b", bias, some_floats(product(bias), 0.125F));
  add_node(graph, "Gemm", {"x", "w", "b"}, {"c"}, "gemm");
  add_parameters(graph, 4);
  add_norm(graph, "c");
  return model;
}

proto::NodeProto& node_of(proto::ModelProto& model, int index) { return *model.mutable_graph()->mutable_node(index); }

}  // namespace

TEST_CASE("a norm after a convolution") {
  struct Case {
    Dims input, weight;
    std::int64_t groups;
  };
  const Case cases[] = {
      {{2, 3, 7}, {4, 3, 3}, 1},              // one dimension
      {{2, 3, 6, 5}, {4, 3, 3, 2}, 1},        // two
      {{1, 2, 4, 4, 3}, {3, 2, 2, 2, 1}, 1},  // three
      {{2, 4, 5, 5}, {6, 2, 3, 3}, 2},        // groups
      {{1, 4, 5, 5}, {4, 1, 3, 3}, 4},        // depthwise
  };
  for (const Case& each : cases)
    for (const bool bias : {false, true}) {
      const auto model = conv_model(each.input, each.weight, bias, each.groups);
      const auto cleaned = clean(model);
      CHECK(cleaned.operators() == Operators{"Conv"});
      CHECK(cleaned.counts.at("batch-norm") == 1);
      CHECK(cleaned.graph().initializer_size() == 2);
      CHECK(cleaned.graph().node(0).name() == "conv");
      CHECK(cleaned.graph().node(0).output(0) == "y");
      CHECK(clean_without(model, "batch-norm").counts.empty());
    }
}

TEST_CASE("a norm with a large epsilon, and unknown batch size") {
  auto model = conv_model({2, 3, 5, 5}, {4, 3, 3, 3}, true);
  set_float(node_of(model, 1), "epsilon", 0.75F);
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("N");
  CHECK(clean(model).operators() == Operators{"Conv"});
}

TEST_CASE("a norm in half precision") {
  auto model = conv_model({1, 3, 5, 5}, {4, 3, 3, 3}, true);
  auto& graph = *model.mutable_graph();
  for (auto& tensor : *graph.mutable_initializer()) {
    const std::string name = tensor.name();
    tensor = write_tensor(read_tensor(tensor, {}).cast(ElementType::float16), name);
  }
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::FLOAT16);
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::FLOAT16);
  const auto cleaned = clean(model);
  CHECK(cleaned.operators() == Operators{"Conv"});
  CHECK(cleaned.graph().initializer(0).data_type() == proto::TensorProto::FLOAT16);
}

TEST_CASE("a norm below IR 4: new weights are nodes") {
  auto model = conv_model({1, 3, 5, 5}, {4, 3, 3, 3}, false);
  model.set_ir_version(3);
  auto& graph = *model.mutable_graph();
  for (const auto& tensor : graph.initializer())
    declare(*graph.add_input(), tensor.name(), Dims(tensor.dims().begin(), tensor.dims().end()));
  const auto cleaned = clean(model);
  CHECK(cleaned.operators() == Operators{"Constant", "Constant", "Conv"});
  CHECK(cleaned.graph().input_size() == 1);
}

TEST_CASE("a norm after a Gemm") {
  for (const Dims& bias : {Dims{4}, Dims{1, 4}}) CHECK(clean(gemm_model(bias)).operators() == Operators{"Gemm"});
  SECTION("with alpha and a transposed weight") {
    auto model = gemm_model({4});
    set_float(node_of(model, 0), "alpha", 0.5F);
    set_integer(node_of(model, 0), "transB", 1);
    auto& weight = *model.mutable_graph()->mutable_initializer(0);
    weight.set_dims(0, 4);
    weight.set_dims(1, 3);
    CHECK(clean(model).operators() == Operators{"Gemm"});
  }
  SECTION("without a bias") {
    auto model = gemm_model({4});
    node_of(model, 0).mutable_input()->RemoveLast();
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Gemm"});
    CHECK(cleaned.graph().node(0).input_size() == 3);
  }
}

TEST_CASE("a Gemm whose bias is not one number per channel") {
  // A column with as many numbers as there are channels is one number per sample.
  for (const Dims& bias : {Dims{}, Dims{1}, Dims{4, 1}, Dims{4, 4}})
    CHECK(clean(gemm_model(bias)).operators() == Operators{"Gemm", "BatchNormalization"});
  auto model = gemm_model({4});
  set_float(node_of(model, 0), "beta", 0.5F);
  CHECK(clean(model).operators() == Operators{"Gemm", "BatchNormalization"});
}

TEST_CASE("norms that stay") {
  auto model = conv_model({1, 3, 5, 5}, {4, 3, 3, 3}, true);
  auto& graph = *model.mutable_graph();
  Runs runs = Runs::yes;
  SECTION("the convolution is used twice") {
    add_node(graph, "Relu", {"c"}, {"z"});
    graph.add_output()->CopyFrom(graph.output(0));
    graph.mutable_output(1)->set_name("z");
  }
  SECTION("the convolution is an output") {
    graph.add_output()->CopyFrom(graph.output(0));
    graph.mutable_output(1)->set_name("c");
  }
  SECTION("the weight is used twice") {
    add_node(graph, "Relu", {"w"}, {"z"});
    graph.add_output()->CopyFrom(graph.output(0));
    graph.mutable_output(1)->set_name("z");
    CHECK(clean_without(model, "constant-folding").counts.empty());
    return;
  }
  SECTION("a weight that may be overridden") { declare(*graph.add_input(), "w", {4, 3, 3, 3}); }
  SECTION("a scale that may be overridden") { declare(*graph.add_input(), "scale", {4}); }
  SECTION("a scale that is computed") {
    declare(*graph.add_input(), "t", {4});
    add_node(graph, "Relu", {"t"}, {"positive"});
    node_of(model, 1).set_input(1, "positive");
    const auto cleaned = clean(model);
    CHECK(cleaned.counts.count("batch-norm") == 0);
    return;
  }
  SECTION("training") {
    set_integer(node_of(model, 1), "training_mode", 1);
    for (const std::string_view name : {"m", "v"}) node_of(model, 1).add_output(std::string(name));
    runs = Runs::no;
  }
  SECTION("the square root of a negative number") {
    const std::vector<float> negative(4, -1);
    graph.mutable_initializer(5)->set_raw_data(negative.data(), 16);
  }
  SECTION("results that overflow") {
    const std::vector<float> large(4, 3e38F);
    graph.mutable_initializer(2)->set_raw_data(large.data(), 16);
    set_float(node_of(model, 1), "epsilon", 1e-12F);
    const std::vector<float> zero(4, 0);
    graph.mutable_initializer(5)->set_raw_data(zero.data(), 16);
  }
  SECTION("an annotated convolution") { graph.add_quantization_annotation()->set_tensor_name("c"); }
  CHECK(clean(model, {}, runs).counts.empty());
}

TEST_CASE("a norm of old opsets with five results stays") {
  auto model = conv_model({1, 3, 5, 5}, {4, 3, 3, 3}, true);
  model.mutable_opset_import(0)->set_version(8);
  for (const std::string_view name : {"m", "v", "sm", "sv"}) node_of(model, 1).add_output(std::string(name));
  CHECK(clean(model, {}, Runs::no).counts.empty());
  for (int i = 1; i < 5; ++i) node_of(model, 1).set_output(i, "");
  CHECK(clean(model).operators() == Operators{"Conv"});
}

TEST_CASE("new names are free and the same every time") {
  auto model = conv_model({1, 3, 5, 5}, {4, 3, 3, 3}, true);
  auto& graph = *model.mutable_graph();
  declare(*graph.add_value_info(), "b_folded", {1});  // unused, but a new value must not get this type
  declare(*graph.add_input(), "w_folded", {1});
  const auto cleaned = clean(model);
  CHECK(cleaned.graph().node(0).input(1) == "w_folded_1");
  CHECK(cleaned.graph().node(0).input(2) == "b_folded_1");
  CHECK(cleaned.model.serialise() == clean(model).model.serialise());
}

TEST_CASE("a norm behind a transposed convolution goes into its weights") {
  for (const std::int64_t groups : {1, 2}) {
    auto model = plain_model({2, 4, 5, 5}, {2, 3 * groups, 7, 7});
    auto& graph = *model.mutable_graph();
    add_floats(graph, "w", {4, 3, 3, 3}, some_floats(108));
    add_floats(graph, "b", {3 * groups}, some_floats(static_cast<std::size_t>(3 * groups), 0.125F));
    set_integer(add_node(graph, "ConvTranspose", {"x", "w", "b"}, {"c"}), "group", groups);
    add_parameters(graph, 3 * groups);
    add_norm(graph, "c");
    CHECK(clean(model).operators() == Operators{"ConvTranspose"});
  }
}

}  // namespace taso::test
