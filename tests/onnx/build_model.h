// Small ONNX models for tests, built message by message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model/proto.h"

namespace taso::test {

/// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "taso-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  /// The names in it, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

using Names = std::initializer_list<std::string_view>;
using Dims = std::vector<std::int64_t>;

inline proto::NodeProto& add_node(google::protobuf::RepeatedPtrField<proto::NodeProto>& nodes, std::string_view op_type,
                                  Names inputs, Names outputs, std::string_view name = "") {
  proto::NodeProto& node = *nodes.Add();
  node.set_op_type(std::string(op_type));
  for (const auto input : inputs) node.add_input(std::string(input));
  for (const auto output : outputs) node.add_output(std::string(output));
  if (!name.empty()) node.set_name(std::string(name));
  return node;
}
inline proto::NodeProto& add_node(proto::GraphProto& graph, std::string_view op_type, Names inputs, Names outputs,
                                  std::string_view name = "") {
  return add_node(*graph.mutable_node(), op_type, inputs, outputs, name);
}

inline proto::AttributeProto& add_attribute(proto::NodeProto& node, std::string_view name,
                                            proto::AttributeProto::AttributeType type) {
  proto::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

inline void declare(proto::ValueInfoProto& value, std::string_view name, const Dims& dims,
                    int element = proto::TensorProto::FLOAT) {
  value.set_name(std::string(name));
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(element);
  for (const auto dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

inline proto::TensorProto& add_floats(proto::GraphProto& graph, std::string_view name, const Dims& dims,
                                      const std::vector<float>& values) {
  proto::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(proto::TensorProto::FLOAT);
  for (const auto dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

inline proto::TensorProto& add_external(proto::GraphProto& graph, std::string_view name, const Dims& dims,
                                        std::string_view location, const std::string& offset = "",
                                        const std::string& length = "") {
  proto::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(proto::TensorProto::FLOAT);
  for (const auto dim : dims) tensor.add_dims(dim);
  tensor.set_data_location(proto::TensorProto::EXTERNAL);
  const auto add = [&](std::string_view key, std::string_view value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(std::string(key));
    entry.set_value(std::string(value));
  };
  add("location", location);
  if (!offset.empty()) add("offset", offset);
  if (!length.empty()) add("length", length);
  return tensor;
}

/// Versions and an empty graph.
inline proto::ModelProto empty_model() {
  proto::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("tests");
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(17);
  model.mutable_graph()->set_name("graph");
  return model;
}

/// y = relu(x + w), with w = {1, 2}.
inline proto::ModelProto small_model() {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", {2});
  declare(*graph.add_output(), "y", {2});
  add_floats(graph, "w", {2}, {1, 2});
  add_node(graph, "Add", {"x", "w"}, {"sum"}, "first");
  add_node(graph, "Relu", {"sum"}, {"y"}, "second");
  return model;
}

/// An If whose branches read `x` and `sum` of the graph around them.
inline proto::ModelProto subgraph_model() {
  proto::ModelProto model = small_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "condition", {}, proto::TensorProto::BOOL);
  declare(*graph.add_output(), "z", {2});
  proto::NodeProto& branch = add_node(graph, "If", {"condition"}, {"z"}, "choice");
  for (const std::string_view name : {"then_branch", "else_branch"}) {
    proto::GraphProto& inner = *add_attribute(branch, name, proto::AttributeProto::GRAPH).mutable_g();
    inner.set_name(std::string(name));
    add_floats(inner, "inner_weight", {2}, {3, 4});
    declare(*inner.add_output(), "inner_out", {2});
    add_node(inner, "Mul", {"sum", "inner_weight"}, {"product"});
    add_node(inner, "Sub", {"product", "x"}, {"inner_out"});
  }
  return model;
}

/// A bit of everything: a function, metadata, sparse, string and 8-bit tensors, lists, attributes of many kinds.
inline proto::ModelProto varied_model() {
  proto::ModelProto model = subgraph_model();
  proto::GraphProto& graph = *model.mutable_graph();
  auto& property = *model.add_metadata_props();
  property.set_key("author");
  property.set_value("nobody");
  auto& domain = *model.add_opset_import();
  domain.set_domain("test.functions");
  domain.set_version(1);
  proto::FunctionProto& function = *model.add_functions();
  function.set_name("Twice");
  function.set_domain("test.functions");
  function.add_input("a");
  function.add_output("b");
  *function.add_opset_import() = model.opset_import(0);
  add_node(*function.mutable_node(), "Add", {"a", "a"}, {"b"});
  add_node(graph, "Twice", {"y"}, {"twice"}).set_domain("test.functions");

  proto::SparseTensorProto& sparse = *graph.add_sparse_initializer();
  sparse.add_dims(4);
  sparse.mutable_values()->set_name("sparse");
  sparse.mutable_values()->set_data_type(proto::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_indices()->set_data_type(proto::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(2);

  proto::TensorProto& words = *graph.add_initializer();
  words.set_name("words");
  words.set_data_type(proto::TensorProto::STRING);
  words.add_dims(2);
  words.add_string_data("one");
  words.add_string_data("two");
  proto::TensorProto& tiny = *graph.add_initializer();
  tiny.set_name("tiny");
  tiny.set_data_type(17);  // an 8-bit float, unknown to older schemas
  tiny.add_dims(3);
  tiny.set_raw_data("\1\2\3");

  proto::NodeProto& odd = add_node(graph, "Odd", {"y", "", "words", "sparse", "tiny"}, {"", "odd"});
  odd.set_domain("test.odd");
  model.add_opset_import()->set_domain("test.odd");
  add_attribute(odd, "numbers", proto::AttributeProto::INTS).add_ints(7);
  add_attribute(odd, "ratio", proto::AttributeProto::FLOAT).set_f(0.5F);
  add_attribute(odd, "text", proto::AttributeProto::STRING).set_s("text");
  auto& constant = *add_attribute(odd, "constant", proto::AttributeProto::TENSOR).mutable_t();
  constant.set_data_type(proto::TensorProto::FLOAT16);
  constant.add_dims(2);
  constant.add_int32_data(0x3c00);
  constant.add_int32_data(0x4000);
  return model;
}

}  // namespace taso::test
