// The check catches wrong edits, in whole models and by regions, and passes correct ones.
#include <functional>

#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

using Scope = CheckResult::Scope;

/// y = hard_sigmoid((x + w) - relu(x)) + a · b, in nodes s, r, d, h, c, y.
proto::ModelProto base_model(Scope scope) {
  auto model = plain_model({2, 3}, {2, 3});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "w", {3}, {0.25F, -0.5F, 0.5F});
  add_floats(graph, "a", {3}, {1, 2, 3});
  add_floats(graph, "b", {3}, {4, 5, 6});
  add_node(graph, "Add", {"x", "w"}, {"s"});
  add_node(graph, "Relu", {"x"}, {"r"});
  add_node(graph, "Sub", {"s", "r"}, {"d"});
  set_float(add_node(graph, "HardSigmoid", {"d"}, {"h"}), "alpha", 0.25F);
  add_node(graph, "Mul", {"a", "b"}, {"c"});
  add_node(graph, "Add", {"h", "c"}, {"y"});
  if (scope == Scope::regions) {  // an operator that cannot run
    auto& opset = *model.add_opset_import();
    opset.set_domain("test.custom");
    opset.set_version(1);
    add_node(graph, "Custom", {"r"}, {"z"}).set_domain("test.custom");
    declare(*graph.add_output(), "z", {2, 3});
  }
  return model;
}

CheckResult check_edit(const proto::ModelProto& proto, const std::function<void(GraphEdit&)>& change,
                       const CheckOptions& options = {}, const std::filesystem::path& folder = {}) {
  Model model(proto, folder);
  model.validate();
  GraphEdit edit(model);
  change(edit);
  return onnx::compare(view_of(model), edit.view(), options);
}

Array floats(const std::vector<float>& values) {
  return Array::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

void set_operand(GraphEdit& edit, const std::string& output, int index, const std::string& name) {
  edit.modify(*edit.producer(output), [&](proto::NodeProto& node) { node.set_input(index, name); });
}

void add_node(GraphEdit& edit, const std::string& type, const std::vector<std::string>& inputs,
              const std::string& output) {
  auto node = std::make_unique<proto::NodeProto>();
  node->set_op_type(type);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  edit.add(std::move(node));
}

struct Plant {
  const char* name;
  std::function<void(GraphEdit&)> change;
};

const Plant wrong_edits[] = {
    {"another weight",
     [](GraphEdit& edit) {
       edit.add_constant("w2", floats({0.25F, -0.5F, 0.8F}));
       set_operand(edit, "s", 1, "w2");
     }},
    {"another weight under the same name",
     [](GraphEdit& edit) {
       edit.remove_initializer("w");
       edit.add_constant("w", floats({0.3F, -0.5F, 0.5F}));
     }},
    {"operands swapped",
     [](GraphEdit& edit) {
       set_operand(edit, "d", 0, "r");
       set_operand(edit, "d", 1, "s");
     }},
    {"another operand", [](GraphEdit& edit) { set_operand(edit, "d", 1, "x"); }},
    {"a node dropped", [](GraphEdit& edit) { edit.remove(*edit.producer("r")); }},
    {"a node passed by",
     [](GraphEdit& edit) {
       edit.replace_uses("r", "x");
       edit.remove(*edit.producer("r"));
     }},
    {"another attribute",
     [](GraphEdit& edit) {
       edit.modify(*edit.producer("h"), [](proto::NodeProto& node) { node.mutable_attribute(0)->set_f(0.26F); });
     }},
    {"an attribute dropped",
     [](GraphEdit& edit) { edit.modify(*edit.producer("h"), [](proto::NodeProto& node) { node.clear_attribute(); }); }},
    {"another operator",
     [](GraphEdit& edit) {
       edit.modify(*edit.producer("d"), [](proto::NodeProto& node) { node.set_op_type("Add"); });
     }},
    {"a value in a wrong way, of what it is made of itself",
     [](GraphEdit& edit) {
       add_node(edit, "Sub", {"r", "s"}, "difference");
       add_node(edit, "Abs", {"difference"}, "absolute");
       set_operand(edit, "h", 0, "absolute");
     }},
    {"a wrong constant",
     [](GraphEdit& edit) {
       edit.remove(*edit.producer("c"));
       edit.add_constant("c", floats({4, 10, 18.1F}));
     }},
    {"an output from elsewhere",
     [](GraphEdit& edit) {
       edit.remove(*edit.producer("y"));
       edit.modify(*edit.producer("h"), [](proto::NodeProto& node) { node.set_output(0, "y"); });
     }},
};

const Plant right_edits[] = {
    {"the right constant",
     [](GraphEdit& edit) {
       edit.remove(*edit.producer("c"));
       edit.add_constant("c", floats({4, 10, 18}));
     }},
    {"factors swapped",
     [](GraphEdit& edit) {
       set_operand(edit, "c", 0, "b");
       set_operand(edit, "c", 1, "a");
     }},
    {"a copy between",
     [](GraphEdit& edit) {
       auto copy = std::make_unique<proto::NodeProto>();
       copy->set_op_type("Identity");
       copy->add_input("r");
       copy->add_output("copy");
       edit.add(std::move(copy));
       set_operand(edit, "d", 1, "copy");
     }},
    {"a value in another way, of what it is made of itself",
     [](GraphEdit& edit) {
       add_node(edit, "Sub", {"r", "s"}, "difference");
       add_node(edit, "Neg", {"difference"}, "negated");
       set_operand(edit, "h", 0, "negated");
     }},
    {"the same weight under another name",
     [](GraphEdit& edit) {
       edit.add_constant("w2", floats({0.25F, -0.5F, 0.5F}));
       set_operand(edit, "s", 1, "w2");
       edit.remove_initializer("w");
     }},
};

}  // namespace

TEST_CASE("wrong edits are caught") {
  for (const Scope scope : {Scope::whole, Scope::regions})
    for (const Plant& plant : wrong_edits) {
      const auto result = check_edit(base_model(scope), plant.change);
      INFO(plant.name << (scope == Scope::whole ? ", whole" : ", regions"));
      CHECK(!result.passed);
      CHECK(result.scope == scope);
      CHECK(!result.reason.empty());
    }
}

TEST_CASE("correct edits pass") {
  for (const Scope scope : {Scope::whole, Scope::regions})
    for (const Plant& plant : right_edits) {
      const auto result = check_edit(base_model(scope), plant.change);
      INFO(plant.name << (scope == Scope::whole ? ", whole: " : ", regions: ") << result.reason);
      CHECK(result.passed);
      CHECK(result.scope == scope);
      CHECK(result.compared > 0);
    }
}

TEST_CASE("no edit, nothing to run") {
  const auto result = check_edit(base_model(Scope::whole), [](GraphEdit&) {});
  CHECK(result.passed);
  CHECK(result.scope == Scope::unchanged);
}

TEST_CASE("weights beyond the memory limit: regions") {
  const TemporaryFolder folder;
  const std::vector<float> weights{0.25F, -0.5F, 0.5F};
  write_file(folder / "weights", {reinterpret_cast<const char*>(weights.data()), 12});
  auto model = base_model(Scope::whole);
  model.mutable_graph()->mutable_initializer()->DeleteSubrange(0, 1);
  add_external(*model.mutable_graph(), "w", {3}, "weights");
  CheckOptions options;
  for (const bool regions : {false, true}) {
    options.memory_limit = regions ? 0 : 1000;
    for (const Plant& plant : wrong_edits) {
      const auto result = check_edit(model, plant.change, options, folder.path());
      INFO(plant.name);
      CHECK(!result.passed);
      CHECK(result.scope == (regions ? Scope::regions : Scope::whole));
    }
    for (const Plant& plant : right_edits) CHECK(check_edit(model, plant.change, options, folder.path()).passed);
  }
}

TEST_CASE("subgraphs are part of what is compared") {
  auto model = subgraph_model();
  auto& graph = *model.mutable_graph();
  add_node(graph, "Identity", {"sum"}, {"copy"});
  add_node(graph, "Exp", {"x"}, {"exp"});
  declare(*graph.add_output(), "copy", {2});
  const auto branch = [](proto::NodeProto& node) -> proto::GraphProto& {
    return *node.mutable_attribute(0)->mutable_g();
  };
  const auto change_branch = [&](const std::function<void(proto::GraphProto&)>& change) {
    return check_edit(model, [&](GraphEdit& edit) {
      edit.modify(*edit.producer("z"), [&](proto::NodeProto& node) { change(branch(node)); });
    });
  };
  CHECK(change_branch([](proto::GraphProto& g) { g.mutable_node(0)->set_input(0, "copy"); }).passed);
  CHECK(!change_branch([](proto::GraphProto& g) { g.mutable_node(0)->set_input(0, "exp"); }).passed);
  // Changes inside cannot be run: this is reported, not ignored.
  for (const auto& change : std::vector<std::function<void(proto::GraphProto&)>>{
           [](proto::GraphProto& g) { g.mutable_node(0)->set_op_type("Add"); },
           [](proto::GraphProto& g) { g.mutable_node(1)->mutable_input()->SwapElements(0, 1); },
           [](proto::GraphProto& g) { g.mutable_initializer(0)->set_raw_data(std::string(8, '\0')); },
           [](proto::GraphProto& g) { g.mutable_output(0)->set_name("product"); }}) {
    bool passed = false;
    try {
      passed = change_branch(change).passed;
    } catch (const InputError&) {
    }
    CHECK(!passed);
  }
}

TEST_CASE("a branch that no run takes must be checked by itself") {
  auto model = subgraph_model();
  auto& graph = *model.mutable_graph();
  add_node(graph, "Exp", {"x"}, {"exp"});
  add_node(graph, "Neg", {"exp"}, {"minus"});
  auto& choice = *std::find_if(graph.mutable_node()->begin(), graph.mutable_node()->end(),
                               [](const auto& node) { return node.op_type() == "If"; });
  // Each branch uses a value that the other does not.
  choice.mutable_attribute(0)->mutable_g()->mutable_node(1)->set_input(1, "exp");
  choice.mutable_attribute(1)->mutable_g()->mutable_node(1)->set_input(1, "minus");
  for (const bool condition : {true, false}) {
    CheckOptions options;
    options.data.emplace("condition", Array::scalar(condition));
    for (const std::string changed : {"exp", "minus"}) {
      const auto to = [&](const char* type) {
        return check_edit(
            model,
            [&](GraphEdit& edit) {
              edit.modify(*edit.producer(changed), [&](proto::NodeProto& node) { node.set_op_type(type); });
            },
            options);
      };
      INFO(changed);
      CHECK(!to("Tanh").passed);
    }
    const auto right = check_edit(
        model,
        [](GraphEdit& edit) {
          edit.modify(*edit.producer("sum"), [](auto& node) { node.mutable_input()->SwapElements(0, 1); });
        },
        options);
    CHECK(right.passed);
    CHECK(right.scope == Scope::regions);
    CHECK(right.reason == "and the whole model, but one run takes only one branch of each If");
  }
}

TEST_CASE("regions are not refused for a rounding error that flips a condition") {
  auto model = subgraph_model();
  auto& graph = *model.mutable_graph();
  add_floats(graph, "a", {1}, {1.1F});
  add_floats(graph, "b", {1}, {0.2F});
  add_floats(graph, "c", {1}, {0.3F});
  add_floats(graph, "threshold", {1}, {1.6F});  // between the results of the two orders of addition
  add_node(graph, "Add", {"a", "b"}, {"two"});
  add_node(graph, "Add", {"two", "c"}, {"three"});
  add_node(graph, "Greater", {"three", "threshold"}, {"decided"});
  auto& choice = *std::find_if(graph.mutable_node()->begin(), graph.mutable_node()->end(),
                               [](const auto& node) { return node.op_type() == "If"; });
  choice.set_input(0, "decided");
  choice.mutable_attribute(1)->mutable_g()->mutable_node(0)->set_op_type("Div");
  const auto added = [&](const std::string& first) {
    return check_edit(model, [&](GraphEdit& edit) {
      add_node(edit, "Add", {"b", first}, "other");
      set_operand(edit, "three", 0, "a");
      set_operand(edit, "three", 1, "other");
    });
  };
  const auto right = added("c");
  INFO(right.reason);
  CHECK(right.passed);
  CHECK(right.scope == Scope::regions);
  CHECK(!added("b").passed);
}

TEST_CASE("indices stay in range") {
  auto model = plain_model({1}, {2, 3});
  auto& graph = *model.mutable_graph();
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::INT64);
  add_floats(graph, "table", {2, 3}, some_floats(6));
  add_node(graph, "Identity", {"x"}, {"i"});
  add_node(graph, "Gather", {"table", "i"}, {"g"});
  add_node(graph, "Neg", {"g"}, {"y"});
  const auto result = check_edit(model, [](GraphEdit& edit) {
    set_operand(edit, "g", 1, "x");
    edit.remove(*edit.producer("i"));
  });
  CHECK(result.passed);
  CHECK(result.scope == Scope::whole);
  CHECK(!check_edit(model, [](GraphEdit& edit) {
           edit.add_constant("other", Array::of<float>({2, 3}, some_floats(6, 0.5F)));
           set_operand(edit, "g", 0, "other");
         }).passed);
}

TEST_CASE("choices by booleans, and unknown dimensions") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "choice", {2}, proto::TensorProto::BOOL);
  for (auto& input : *graph.mutable_input())
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  add_node(graph, "Exp", {"x"}, {"e"});
  add_node(graph, "Where", {"choice", "x", "e"}, {"y"});
  const auto swapped = check_edit(model, [](GraphEdit& edit) {
    set_operand(edit, "y", 1, "e");
    set_operand(edit, "y", 2, "x");
  });
  CHECK(!swapped.passed);
  CHECK(swapped.scope == Scope::whole);
  CheckOptions options;
  options.shapes["x"] = {5};
  const auto same = check_edit(
      model, [](GraphEdit& edit) { edit.modify(*edit.producer("e"), [](auto&) {}); }, options);
  CHECK(same.passed);
}

TEST_CASE("a model without inputs") {
  auto model = base_model(Scope::whole);
  auto& graph = *model.mutable_graph();
  graph.clear_input();
  add_floats(graph, "x", {2, 3}, some_floats(6));
  for (const Plant& plant : wrong_edits) {
    INFO(plant.name);
    CHECK(!check_edit(model, plant.change).passed);
  }
  for (const Plant& plant : right_edits) CHECK(check_edit(model, plant.change).passed);
}

TEST_CASE("shapes that are folded in part") {
  auto model = base_model(Scope::regions);
  auto& graph = *model.mutable_graph();
  add_integers(graph, "k", {1}, {1});
  add_node(graph, "Shape", {"s"}, {"shape"});
  add_node(graph, "Gather", {"shape", "k"}, {"width"});
  declare(*graph.add_output(), "shape", {2}, proto::TensorProto::INT64);
  declare(*graph.add_output(), "width", {1}, proto::TensorProto::INT64);
  const auto fold = [&](std::int64_t value) {
    return check_edit(model, [&](GraphEdit& edit) {
      edit.remove(*edit.producer("width"));
      edit.add_constant("width", Array::of<std::int64_t>({1}, {value}));
    });
  };
  CHECK(fold(3).passed);
  CHECK(!fold(2).passed);
}

}  // namespace taso::test
