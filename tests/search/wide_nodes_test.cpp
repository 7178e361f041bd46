// Nodes of the model that are several operators of taso: a Concat or Split of many, a Slice of several axes. Only their
// ends have names, and rewrites inside them are still written.
#include <map>

#include "onnx/model/proto.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/search/model_search.h"

namespace taso::test {

using namespace search;

namespace {

/// Builds a model node by node; its values are matrices.
class ModelBuilder {
 public:
  ModelBuilder() {
    proto_.set_ir_version(8);
    proto_.add_opset_import()->set_version(13);
    proto_.mutable_graph()->set_name("graph");
  }
  void input(const std::string& name, std::int64_t rows, std::int64_t columns) {
    declare(*proto_.mutable_graph()->add_input(), name, rows, columns);
  }
  void output(const std::string& name, std::int64_t rows, std::int64_t columns) {
    declare(*proto_.mutable_graph()->add_output(), name, rows, columns);
  }
  std::string numbers(const std::vector<std::int64_t>& values) {
    proto::TensorProto& tensor = *proto_.mutable_graph()->add_initializer();
    tensor.set_name("n" + std::to_string(proto_.graph().initializer_size()));
    tensor.set_data_type(proto::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return tensor.name();
  }
  void node(const std::string& type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
            std::optional<std::int64_t> axis = {}) {
    proto::NodeProto& node = *proto_.mutable_graph()->add_node();
    node.set_op_type(type);
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    if (!axis) return;
    proto::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(proto::AttributeProto::INT);
    attribute.set_i(*axis);
  }
  onnx::Model model() const {
    onnx::Model model(proto::ModelProto(proto_), {});
    model.validate();
    return model;
  }

 private:
  static void declare(proto::ValueInfoProto& info, const std::string& name, std::int64_t rows, std::int64_t columns) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(proto::TensorProto::DOUBLE);
    for (const std::int64_t extent : {rows, columns}) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  proto::ModelProto proto_;
};

/// Splits, concats and slices of one another, with other operators in between now and then.
onnx::Model random_model(std::uint64_t seed) {
  Random random(seed);
  ModelBuilder builder;
  struct Matrix {
    std::string name;
    std::int64_t extents[2];
  };
  std::vector<Matrix> values;
  for (int i = 0; i < 2; ++i) {
    values.push_back({"x" + std::to_string(i), {random.between(2, 5), random.between(4, 9)}});
    builder.input(values.back().name, values.back().extents[0], values.back().extents[1]);
  }
  std::size_t names = 0;
  const auto fresh = [&] { return "v" + std::to_string(names++); };
  std::map<std::string, std::size_t> uses;
  for (int step = 0; step < 9; ++step) {
    const Matrix from = values[values.size() - 1 - random.below(std::min<std::size_t>(values.size(), 6))];
    const std::int64_t axis = random.between(0, 1);
    const std::size_t kind = random.below(6);
    ++uses[from.name];
    if (kind < 2) {  // a split in up to four parts
      const std::int64_t parts = std::min<std::int64_t>(from.extents[axis], random.between(2, 4));
      if (parts < 2) continue;
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), 1);
      sizes[random.below(sizes.size())] += from.extents[axis] - parts;
      std::vector<std::string> outputs;
      for (const std::int64_t size : sizes) {
        Matrix part{fresh(), {from.extents[0], from.extents[1]}};
        part.extents[axis] = size;
        outputs.push_back(part.name);
        values.push_back(std::move(part));
      }
      builder.node("Split", {from.name, builder.numbers(sizes)}, outputs, axis);
    } else if (kind < 4) {  // a concat of up to four values that fit
      std::vector<std::string> inputs{from.name};
      Matrix joined = from;
      const std::size_t most = 2 + random.below(3);
      for (std::size_t i = 0; i < values.size() && inputs.size() < most; ++i) {
        const Matrix& other = random.chance(0.5) ? values[values.size() - 1 - i] : random.pick(values);
        if (other.extents[1 - axis] != from.extents[1 - axis]) continue;
        inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(random.below(inputs.size() + 1)), other.name);
        joined.extents[axis] += other.extents[axis];
      }
      if (joined.extents[axis] > 24) continue;
      joined.name = fresh();
      builder.node("Concat", inputs, {joined.name}, axis);
      values.push_back(std::move(joined));
    } else if (kind == 4) {  // a slice of both axes
      std::vector<std::int64_t> starts, ends;
      Matrix part{fresh(), {}};
      for (int i = 0; i < 2; ++i) {
        starts.push_back(random.chance(0.6) ? 0 : random.between(0, from.extents[i] - 1));
        ends.push_back(random.between(starts.back() + 1, from.extents[i]));
        part.extents[i] = ends.back() - starts.back();
      }
      builder.node("Slice", {from.name, builder.numbers(starts), builder.numbers(ends), builder.numbers({0, 1})},
                   {part.name});
      values.push_back(std::move(part));
    } else {
      Matrix result{fresh(), {from.extents[0], from.extents[1]}};
      builder.node(random.chance(0.5) ? "Relu" : "Tanh", {from.name}, {result.name});
      values.push_back(std::move(result));
    }
  }
  const std::size_t outputs = 1 + random.below(3);
  for (std::size_t i = 0; i < outputs && i < values.size() - 2; ++i) {
    const Matrix& value = values[values.size() - 1 - i];
    builder.output(value.name, value.extents[0], value.extents[1]);
  }
  return builder.model();
}

std::vector<rules::Rule> rules_of_parts() {
  std::vector<rules::Rule> rules = shipped_rules();
  std::erase_if(rules, [](const rules::Rule& rule) {
    const std::string text = rules::print(rule);
    return text.find("split") == std::string::npos && text.find("concat") == std::string::npos &&
           text.find("slice") == std::string::npos;
  });
  return rules;
}

/// The cost of a model as written, in the units of the search.
cost::Cost cost_of(const onnx::Model& model, const SearchOptions& options) {
  return search::search(onnx::import_model(onnx::view_of(model)).graph, {}, cost::Roofline(), options).cost_before;
}

SearchOptions usual() {
  SearchOptions options;
  options.layout = cost::Layout::channels_first;
  options.budget = 60;
  return options;
}

}  // namespace

TEST_CASE("results are written, also inside nodes that are several operators") {
  const auto rules = rules_of_parts();
  std::size_t changed = 0, refused = 0, models = 0, reordered = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::optional<onnx::Model> model;
    try {
      model.emplace(random_model(seed));
    } catch (const InputError&) {
      continue;  // for example, an output is an input
    }
    ++models;
    INFO("seed " << seed << "\n" << ops::text_of(onnx::import_model(onnx::view_of(*model)).graph));
    auto optimised = optimise(model->copy(), rules, usual());
    if (!optimised) {
      ++refused;
      continue;
    }
    for (const rules::RewriteStep& step : optimised->result.steps) UNSCOPED_INFO("by " << step.rule);
    optimised->model.validate();
    REQUIRE(difference(*model, optimised->model, seed) == "");
    INFO("found\n"
         << ops::text_of(optimised->result.graph) << "written\n"
         << ops::text_of(onnx::import_model(onnx::view_of(optimised->model)).graph));
    changed += !optimised->result.steps.empty();
    // A Concat of many does not record the order in which its operands are joined: such steps cannot be written.
    const auto& steps = optimised->result.steps;
    const bool reorders = std::any_of(steps.begin(), steps.end(), [](const rules::RewriteStep& step) {
      return step.rule.find("concat-to-concat") != std::string::npos;
    });
    reordered += reorders;
    const auto expected = static_cast<double>(optimised->result.cost_after);
    if (!reorders) REQUIRE(static_cast<double>(cost_of(optimised->model, usual())) == Approx(expected).epsilon(0.001));
  }
  CHECK(models > 200);
  CHECK(changed > models / 8);
  CHECK(refused < models / 20);
  CHECK(changed > reordered + models / 20);
}

TEST_CASE("a part of a Concat that is cut and joined again is written as itself") {
  ModelBuilder builder;
  builder.input("x", 3, 8);
  builder.node("Relu", {"x"}, {"a"});
  builder.node("Split", {"a", builder.numbers({4, 4})}, {"s0", "s1"}, 1);
  builder.node("Tanh", {"s1"}, {"m"});
  builder.node("Concat", {"s0", "s1", "m"}, {"y"}, 1);
  builder.output("y", 3, 12);
  const onnx::Model model = builder.model();
  const std::vector<rules::Rule> rules{rules::parse_rule(
      "rule whole\n  concat[axis=a](first(split[axis=a, at=k](x)), second(split[axis=a, at=k](x))) => x\n")};
  auto optimised = optimise(model.copy(), rules, usual());
  REQUIRE(optimised);
  REQUIRE(optimised->result.steps.size() == 1);
  for (const auto& node : optimised->model.proto().graph().node())
    if (node.op_type() == "Concat") CHECK(node.input_size() == 2);
  CHECK(cost_of(optimised->model, usual()) == optimised->result.cost_after);
  CHECK(difference(model, optimised->model, 1) == "");
}

TEST_CASE("a part of a Slice that is a named value becomes that value") {
  ModelBuilder builder;
  builder.input("x", 2, 36);
  builder.node("Slice", {"x", builder.numbers({0, 0}), builder.numbers({1, 18}), builder.numbers({0, 1})}, {"sl"});
  builder.node("Split", {"x", builder.numbers({1, 1})}, {"a", "b"}, 0);
  builder.node("Concat", {"b", "a", "a"}, {"y"}, 0);
  builder.output("y", 3, 36);
  builder.output("sl", 1, 18);
  const onnx::Model model = builder.model();
  auto optimised = optimise(model.copy(), rules_of_parts(), usual());
  REQUIRE(optimised);
  optimised->model.validate();
  CHECK(cost_of(optimised->model, usual()) == optimised->result.cost_after);
  CHECK(difference(model, optimised->model, 1) == "");
}

}  // namespace taso::test
