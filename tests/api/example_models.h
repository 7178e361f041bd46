// Models for tests of sessions, and what they compute.
#pragma once

#include <taso/session.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/core/random.h"
#include "tests/onnx/build_model.h"
#include "tests/source_folder.h"

namespace taso::test {

inline std::string example(const char* name) { return (source_folder() / "examples" / name).string(); }

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// z = relu(x y) and x itself, for any number of rows and columns.
inline proto::ModelProto any_product() {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  const auto declare_named = [](proto::ValueInfoProto& value, const char* name, Names dims) {
    declare(value, name, {});
    for (const auto dim : dims)
      value.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(std::string(dim));
  };
  declare_named(*graph.add_input(), "x", {"rows", "depth"});
  declare_named(*graph.add_input(), "y", {"depth", "columns"});
  declare_named(*graph.add_output(), "z", {"rows", "columns"});
  declare_named(*graph.add_output(), "same", {"rows", "depth"});
  add_node(graph, "MatMul", {"x", "y"}, {"product"});
  add_node(graph, "Relu", {"product"}, {"z"});
  add_node(graph, "Identity", {"x"}, {"same"});
  return model;
}

/// y = x + [0, 1, 2, …], for any number of elements: the numbers are computed from the size.
inline proto::ModelProto counting() {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  for (proto::ValueInfoProto* value : {graph.add_input(), graph.add_output()}) {
    declare(*value, value == &graph.input(0) ? "x" : "y", {});
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("n");
  }
  const auto add_number = [&](const char* name, std::int64_t number) {
    proto::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(proto::TensorProto::INT64);
    tensor.add_int64_data(number);
  };
  add_number("zero", 0);
  add_number("one", 1);
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "zero"}, {"size"});
  add_node(graph, "Range", {"zero", "size", "one"}, {"numbers"});
  add_attribute(add_node(graph, "Cast", {"numbers"}, {"floats"}), "to", proto::AttributeProto::INT)
      .set_i(proto::TensorProto::FLOAT);
  add_node(graph, "Add", {"x", "floats"}, {"y"});
  return model;
}

inline const SessionOptions& on_cpu() {
  static const SessionOptions options{{"device", "cpu"}};
  return options;
}

inline Session load(const proto::ModelProto& model, const SessionOptions& options = on_cpu()) {
  const std::string text = model.SerializeAsString();
  return Session(bytes_of(text), options);
}

inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> list(count);
  for (float& one : list) one = static_cast<float>(random.unit() * 2 - 1);
  return list;
}

inline std::vector<float> product(const std::vector<float>& x, const std::vector<float>& y, std::int64_t rows,
                                  std::int64_t depth, std::int64_t columns) {
  std::vector<float> z(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += static_cast<double>(x[static_cast<std::size_t>(i * depth + k)]) *
               static_cast<double>(y[static_cast<std::size_t>(k * columns + j)]);
      z[static_cast<std::size_t>(i * columns + j)] = static_cast<float>(std::max(sum, 0.0));
    }
  return z;
}

}  // namespace taso::test
