#include "onnx/model/model.h"

#include <cstring>

#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "onnx/validation/order.h"
#include "ops/core/array.h"
#include "ops/core/error.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace onnx;

namespace {

std::vector<std::string> node_names(const proto::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.node()) names.push_back(node.name());
  return names;
}

template <class T>
std::vector<T> values_of(const proto::TensorProto& tensor) {
  const Array array = read_tensor(tensor, {});
  const auto values = array.values<T>();
  return {values.begin(), values.end()};
}

proto::TensorProto tensor_of(int type, const Dims& dims) {
  proto::TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  for (const auto dim : dims) tensor.add_dims(dim);
  return tensor;
}

}  // namespace

TEST_CASE("a model is read, validated and written as it was") {
  const TemporaryFolder folder;
  for (const auto& proto : {small_model(), subgraph_model(), varied_model()}) {
    // Field 2000 is unknown to every schema; it must survive.
    const std::string bytes = proto.SerializeAsString() + "\x80\x7d\x05";
    write_file(folder / "model.onnx", bytes);
    Model model = Model::load(folder / "model.onnx");
    model.validate();
    CHECK(model.folder() == folder.path());
    CHECK(model.serialise() == bytes);
    CHECK(model.copy().serialise() == bytes);
    model.save(folder / "out.onnx");
    CHECK(read_file(folder / "out.onnx") == bytes);
    CHECK(folder.names() == std::vector<std::string>{"model.onnx", "out.onnx"});
  }
}

TEST_CASE("every storage form of tensors is read") {
  auto floats = tensor_of(proto::TensorProto::FLOAT, {2});
  floats.add_float_data(1.5F);
  floats.add_float_data(-2);
  CHECK(values_of<float>(floats) == std::vector<float>{1.5F, -2});
  CHECK(static_cast<const void*>(read_tensor(floats, {}).data()) == floats.float_data().data());

  auto doubles = tensor_of(proto::TensorProto::DOUBLE, {1});
  doubles.add_double_data(0.1);
  CHECK(values_of<double>(doubles) == std::vector<double>{0.1});

  auto longs = tensor_of(proto::TensorProto::INT64, {});
  longs.add_int64_data(-7);
  CHECK(values_of<std::int64_t>(longs) == std::vector<std::int64_t>{-7});

  auto words = tensor_of(proto::TensorProto::UINT32, {1});
  words.add_uint64_data(4'000'000'000U);
  CHECK(values_of<std::uint32_t>(words) == std::vector<std::uint32_t>{4'000'000'000U});

  auto bytes = tensor_of(proto::TensorProto::INT8, {2});
  bytes.add_int32_data(-128);
  bytes.add_int32_data(127);
  CHECK(values_of<std::int8_t>(bytes) == std::vector<std::int8_t>{-128, 127});

  auto half = tensor_of(proto::TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3c00);
  CHECK(static_cast<float>(read_tensor(half, {}).values<Float16>()[0]) == 1.0F);
  half.set_data_type(proto::TensorProto::BFLOAT16);
  half.set_int32_data(0, 0x3f80);
  CHECK(static_cast<float>(read_tensor(half, {}).values<BFloat16>()[0]) == 1.0F);

  auto truth = tensor_of(proto::TensorProto::BOOL, {3});
  truth.set_raw_data(std::string("\0\1\7", 3));
  CHECK(read_tensor(truth, {}).integers() == std::vector<std::int64_t>{0, 1, 1});

  auto raw = tensor_of(proto::TensorProto::FLOAT, {100});
  raw.set_raw_data(std::string(400, '\0'));
  CHECK(static_cast<const void*>(read_tensor(raw, {}).data()) == raw.raw_data().data());

  auto empty = tensor_of(proto::TensorProto::FLOAT, {0, 3});
  CHECK(read_tensor(empty, {}).size() == 0);
}

TEST_CASE("tensors that do not fit their dimensions are refused") {
  auto tensor = tensor_of(proto::TensorProto::FLOAT, {2});
  CHECK_THROWS_AS(read_tensor(tensor, {}), InputError);
  tensor.set_raw_data(std::string(7, '\0'));
  CHECK_THROWS_WITH(read_tensor(tensor, {}), "tensor 't': 7 bytes of data where float32[2] needs 8");
  tensor.set_raw_data(std::string(12, '\0'));
  CHECK_THROWS_AS(read_tensor(tensor, {}), InputError);
  tensor.set_raw_data(std::string(8, '\0'));
  CHECK_NOTHROW(read_tensor(tensor, {}));
  tensor.add_float_data(1);
  CHECK_THROWS_AS(read_tensor(tensor, {}), InputError);
  tensor.clear_float_data();
  tensor.set_dims(0, -2);
  CHECK_THROWS_AS(read_tensor(tensor, {}), InputError);
  for (const Dims& dims : {Dims{std::int64_t{1} << 32, std::int64_t{1} << 32}, Dims{0, INT64_MAX, INT64_MAX},
                           Dims{std::int64_t{1} << 61}}) {
    auto huge = tensor_of(proto::TensorProto::FLOAT, dims);
    CHECK_THROWS_WITH(read_tensor(huge, {}), "tensor 't': the number of elements overflows");
  }
}

TEST_CASE("types that are not modelled are checked and carried along, but not read") {
  auto tensor = tensor_of(22, {3});  // int4: two in a byte
  tensor.set_raw_data("ab");
  CHECK_NOTHROW(check_tensor(tensor, {}));
  CHECK_THROWS_WITH(read_tensor(tensor, {}), "tensor 't': elements of type int4 are not modelled");
  tensor.set_raw_data("abc");
  CHECK_THROWS_AS(check_tensor(tensor, {}), InputError);
  tensor.set_data_type(99);
  CHECK_NOTHROW(check_tensor(tensor, {}));
  CHECK_THROWS_AS(read_tensor(tensor, {}), InputError);
}

TEST_CASE("arrays become tensors and arrays again") {
  for (const ElementType type :
       {ElementType::float32, ElementType::float64, ElementType::float16, ElementType::bfloat16, ElementType::int8,
        ElementType::int16, ElementType::int32, ElementType::int64, ElementType::uint8, ElementType::uint16,
        ElementType::uint32, ElementType::uint64, ElementType::boolean}) {
    const Array array = Array::of<float>({2, 2}, {0, 1, 1, 0}).cast(type);
    const proto::TensorProto tensor = write_tensor(array, "name");
    CHECK(tensor.name() == "name");
    CHECK(element_type_from_onnx(tensor.data_type()) == type);
    CHECK(identical(read_tensor(tensor, {}), array));
  }
}

TEST_CASE("nodes out of order are sorted, and nothing else moves") {
  proto::ModelProto proto = empty_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  declare(*graph.add_input(), "x", {2});
  declare(*graph.add_output(), "d", {2});
  add_node(graph, "Relu", {"x"}, {"a"}, "A");
  add_node(graph, "Add", {"b", "a"}, {"c"}, "C");
  add_node(graph, "Neg", {"a"}, {"b"}, "B");
  add_node(graph, "Neg", {"x"}, {"e"}, "E");
  add_node(graph, "Abs", {"c"}, {"d"}, "D");
  Model model(proto, {});
  model.validate();
  CHECK(node_names(model.proto().graph()) == std::vector<std::string>{"A", "B", "C", "E", "D"});
  const std::string sorted = model.serialise();
  model.validate();
  CHECK(model.serialise() == sorted);
}

TEST_CASE("a node waits for what its subgraphs read") {
  proto::ModelProto proto = subgraph_model();
  auto& nodes = *proto.mutable_graph()->mutable_node();
  nodes.SwapElements(0, 2);  // choice, second, first
  auto& inner = *nodes[0].mutable_attribute(0)->mutable_g()->mutable_node();
  inner.SwapElements(0, 1);
  Model model(proto, {});
  model.validate();
  CHECK(node_names(model.proto().graph()) == std::vector<std::string>{"first", "choice", "second"});
  CHECK(model.proto().graph().node(1).attribute(0).g().node(0).op_type() == "Mul");
}

TEST_CASE("the last of several Constant nodes of one name counts") {
  proto::ModelProto proto = small_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  graph.clear_initializer();
  for (const float value : {8.0F, 9.0F}) {
    auto& node = add_node(graph, "Constant", {}, {"w"}, value == 8 ? "eight" : "nine");
    add_attribute(node, "value_float", proto::AttributeProto::FLOAT).set_f(value);
  }
  Model model(proto, {});
  model.validate();
  CHECK(node_names(model.proto().graph()) == std::vector<std::string>{"nine", "first", "second"});
}

TEST_CASE("initializers of one name are refused, because readers disagree on which one counts") {
  const auto refuses = [](proto::ModelProto proto) {
    Model model(std::move(proto), {});
    CHECK_THROWS_AS(model.validate(), InputError);
  };
  proto::ModelProto initializers = small_model();
  add_floats(*initializers.mutable_graph(), "w", {2}, {5, 6});
  refuses(initializers);
  proto::ModelProto nodes = small_model();
  add_attribute(add_node(*nodes.mutable_graph(), "Constant", {}, {"w"}), "value_float", proto::AttributeProto::FLOAT)
      .set_f(8);
  refuses(nodes);
}

TEST_CASE("a chain of a hundred thousand nodes in reverse is sorted without deep recursion") {
  proto::ModelProto proto = empty_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  constexpr int length = 100'000;
  declare(*graph.add_input(), "v0", {2});
  declare(*graph.add_output(), "v" + std::to_string(length), {2});
  for (int i = length; i > 0; --i) add_node(graph, "Relu", {"v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
  Model model(std::move(proto), {});
  model.validate();
  CHECK(model.proto().graph().node(0).output(0) == "v1");
  CHECK(model.proto().graph().node(length - 1).input(0) == "v" + std::to_string(length - 1));
}

TEST_CASE("stable_order finds cycles") {
  CHECK(stable_order({{}, {0}, {1}}).order == std::vector<std::size_t>{0, 1, 2});
  CHECK(stable_order({{2}, {}, {1}}).order == std::vector<std::size_t>{1, 2, 0});
  CHECK(stable_order({{}, {2, 0}, {3}, {1}}).cycle == std::vector<std::size_t>{1, 2, 3});
  CHECK(stable_order({{0}}).cycle == std::vector<std::size_t>{0});
}

}  // namespace taso::test
