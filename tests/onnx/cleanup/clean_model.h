// Cleaning a model in tests: every clean-up is checked twice, by compare() and by running both models here.
#pragma once

#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

/// The outputs of a model on operands that depend on names only; unknown dimensions are 3, integers 0 or 1.
inline std::vector<Array> run_model(const Model& model) {
  const Imported imported = import_model(view_of(model));
  std::vector<Array> operands;
  for (const Value& input : imported.graph.inputs) {
    const std::string& name = input.node->as_input()->name;
    if (const auto found = imported.defaults.find(name); found != imported.defaults.end()) {
      operands.push_back(read_tensor(*found->second, model.folder()));
      continue;
    }
    Extents extents;
    for (const Dim& dim : input.shape()) extents.push_back(dim.evaluate([](std::string_view) { return 3; }));
    std::uint64_t seed = 7;
    for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
    Random random(seed);
    if (is_floating(input.type().element)) {
      operands.push_back(taso::random_array(random, input.type().element, extents));
      continue;
    }
    std::vector<std::int64_t> values(static_cast<std::size_t>(count(extents)));
    for (auto& value : values) value = random.between(0, 1);
    operands.push_back(Array::of<std::int64_t>(extents, values).cast(input.type().element));
  }
  return interpret(imported.graph, operands);
}

inline void require_same_results(const Model& before, const Model& after) {
  const auto expected = run_model(before), actual = run_model(after);
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double worst = 0;
    INFO("output " << i);
    CHECK(agrees(expected[i], actual[i], Tolerance::of(expected[i].type()), worst));
  }
}

struct Cleaned {
  Model model;
  std::map<std::string, std::size_t> counts;  ///< of passes that did something
  CheckResult check;

  const onnx::GraphProto& graph() const { return model.proto().graph(); }
  std::vector<std::string> operators() const {
    std::vector<std::string> result;
    for (const auto& node : graph().node()) result.push_back(node.op_type());
    return result;
  }
  bool has_initializer(std::string_view name) const {
    const auto& all = graph().initializer();
    return std::any_of(all.begin(), all.end(), [&](const auto& tensor) { return tensor.name() == name; });
  }
};

enum class Runs { yes, no };

/// Cleans up, and makes sure that the result is valid and computes the same; models with operators that cannot be run are
/// compared by regions only.
inline Cleaned clean(const onnx::ModelProto& proto, const CleanupOptions& options = {}, Runs runs = Runs::yes) {
  Model original(proto, {});
  original.validate();
  Model model = original.copy();
  auto edit = std::make_unique<GraphEdit>(model);
  Cleaned result{original.copy(), {}, {}};
  for (const CleanupCount& count : clean_up(*edit, options))
    if (count.count > 0) result.counts.emplace(count.pass, count.count);
  CHECK(edit->changed() == !result.counts.empty());
  result.check = compare(view_of(model), edit->view());
  INFO(result.check.reason);
  CHECK(result.check.passed);
  result.model = GraphEdit::commit(std::move(edit), std::move(model));
  REQUIRE_NOTHROW(result.model.validate());
  if (runs == Runs::yes) require_same_results(original, result.model);
  // Nothing is left to clean.
  Model again = result.model.copy();
  GraphEdit second(again);
  for (const CleanupCount& count : clean_up(second, options)) {
    INFO(count.pass);
    CHECK(count.count == 0);
  }
  return result;
}

inline Cleaned clean_without(const onnx::ModelProto& proto, std::string_view pass, Runs runs = Runs::yes) {
  CleanupOptions options;
  options.disabled.insert(std::string(pass));
  return clean(proto, options, runs);
}

/// x: float[shape] → y, and no node yet.
inline onnx::ModelProto plain_model(const Dims& shape, const Dims& result) {
  onnx::ModelProto model = empty_model();
  declare(*model.mutable_graph()->add_input(), "x", shape);
  declare(*model.mutable_graph()->add_output(), "y", result);
  return model;
}

inline onnx::TensorProto& add_integers(onnx::GraphProto& graph, std::string_view name, const Dims& dims,
                                       const std::vector<std::int64_t>& values) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const auto dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

/// Numbers that look like weights: all different, of both signs, between -1 and 1.
inline std::vector<float> some_floats(std::size_t count, float offset = 0) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(offset + static_cast<float>((static_cast<int>(i * 37 % 101)) - 50) / 50.0F);
  return values;
}

inline void set_integers(onnx::NodeProto& node, std::string_view name, std::initializer_list<std::int64_t> values) {
  auto& attribute = add_attribute(node, name, onnx::AttributeProto::INTS);
  for (const auto value : values) attribute.add_ints(value);
}
inline void set_integer(onnx::NodeProto& node, std::string_view name, std::int64_t value) {
  add_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
inline void set_float(onnx::NodeProto& node, std::string_view name, float value) {
  add_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

}  // namespace taso::test
