// Cleans models in tests: every clean-up is checked twice, by compare() and by running both models.
#pragma once

#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

/// The outputs of a model on operands that depend only on names; unknown dimensions are 3, integers 0 or 1.
inline std::vector<Array> run_model(const onnx::Model& model) {
  const onnx::ImportedModel imported = onnx::import_model(onnx::view_of(model));
  std::vector<Array> operands;
  for (const Value& input : imported.graph.inputs) {
    const std::string& name = input.node->as_input()->name;
    if (const auto found = imported.defaults.find(name); found != imported.defaults.end()) {
      operands.push_back(onnx::read_tensor(*found->second, model.folder()));
      continue;
    }
    Extents extents;
    for (const Dim& dim : input.shape()) extents.push_back(dim.evaluate([](std::string_view) { return 3; }));
    std::uint64_t seed = 7;
    for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
    Random random(seed);
    if (is_floating(input.type().element)) {
      operands.push_back(test::random_array(random, input.type().element, extents));
      continue;
    }
    std::vector<std::int64_t> values(static_cast<std::size_t>(count(extents)));
    for (auto& value : values) value = random.between(0, 1);
    operands.push_back(Array::of<std::int64_t>(extents, values).cast(input.type().element));
  }
  return runtime::interpret(imported.graph, operands);
}

inline void require_same_results(const onnx::Model& before, const onnx::Model& after) {
  const auto expected = run_model(before), actual = run_model(after);
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double worst = 0;
    INFO("output " << i);
    CHECK(onnx::agrees(expected[i], actual[i], onnx::Tolerance::of(expected[i].type()), worst));
  }
}

struct Cleaned {
  onnx::Model model;
  std::map<std::string, std::size_t> counts;  ///< of passes that changed something
  onnx::CheckResult check;

  const proto::GraphProto& graph() const { return model.proto().graph(); }
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

/// Cleans up, and makes sure that the result is valid and computes the same. Models with operators that cannot run are
/// compared by regions only.
inline Cleaned clean(const proto::ModelProto& proto, const onnx::CleanupOptions& options = {}, Runs runs = Runs::yes) {
  onnx::Model original(proto, {});
  original.validate();
  onnx::Model model = original.copy();
  auto edit = std::make_unique<onnx::GraphEdit>(model);
  Cleaned result{original.copy(), {}, {}};
  for (const onnx::CleanupCount& count : onnx::clean_up(*edit, options))
    if (count.count > 0) result.counts.emplace(count.pass, count.count);
  CHECK(edit->changed() == !result.counts.empty());
  result.check = onnx::compare(onnx::view_of(model), edit->view());
  INFO(result.check.reason);
  CHECK(result.check.passed);
  result.model = onnx::GraphEdit::commit(std::move(edit), std::move(model));
  REQUIRE_NOTHROW(result.model.validate());
  if (runs == Runs::yes) require_same_results(original, result.model);
  // A second run has nothing to clean.
  onnx::Model again = result.model.copy();
  onnx::GraphEdit second(again);
  for (const onnx::CleanupCount& count : onnx::clean_up(second, options)) {
    INFO(count.pass);
    CHECK(count.count == 0);
  }
  return result;
}

inline Cleaned clean_without(const proto::ModelProto& proto, std::string_view pass, Runs runs = Runs::yes) {
  onnx::CleanupOptions options;
  options.disabled.insert(std::string(pass));
  return clean(proto, options, runs);
}

/// x: float[shape] → y, without nodes.
inline proto::ModelProto plain_model(const Dims& shape, const Dims& result) {
  proto::ModelProto model = empty_model();
  declare(*model.mutable_graph()->add_input(), "x", shape);
  declare(*model.mutable_graph()->add_output(), "y", result);
  return model;
}

inline proto::TensorProto& add_integers(proto::GraphProto& graph, std::string_view name, const Dims& dims,
                                        const std::vector<std::int64_t>& values) {
  proto::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(proto::TensorProto::INT64);
  for (const auto dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

/// Numbers like weights: all different, of both signs, between -1 and 1.
inline std::vector<float> some_floats(std::size_t count, float offset = 0) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(offset + static_cast<float>((static_cast<int>(i * 37 % 101)) - 50) / 50.0F);
  return values;
}

inline void set_integers(proto::NodeProto& node, std::string_view name, std::initializer_list<std::int64_t> values) {
  auto& attribute = add_attribute(node, name, proto::AttributeProto::INTS);
  for (const auto value : values) attribute.add_ints(value);
}
inline void set_integer(proto::NodeProto& node, std::string_view name, std::int64_t value) {
  add_attribute(node, name, proto::AttributeProto::INT).set_i(value);
}
inline void set_float(proto::NodeProto& node, std::string_view name, float value) {
  add_attribute(node, name, proto::AttributeProto::FLOAT).set_f(value);
}

}  // namespace taso::test
