// From a model through the search and back: rewritten values keep their names, all others their nodes.
#include <map>

#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/search/model_search.h"

namespace taso::test {

using namespace search;

TEST_CASE("random models compute the same after the search") {
  const auto rules = sound_rules();
  RuleGraphs graphs(rules);
  SearchOptions options;
  options.alpha = 1.1;
  options.budget = 20;
  options.layout = cost::Layout::channels_first;
  std::size_t changed = 0, refused = 0, written = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const Graph graph = graphs.make(seed, 4);
    std::optional<onnx::Model> model;
    try {
      model.emplace(onnx::write_model(graph));
      model->validate();
    } catch (const InputError&) {
      continue;  // ONNX cannot express something at this opset
    }
    ++written;
    auto optimised = optimise(model->copy(), rules, options);
    if (!optimised) {
      ++refused;
      continue;
    }
    INFO("seed " << seed << "\n" << ops::text_of(graph) << "became\n" << ops::text_of(optimised->result.graph));
    for (const rules::RewriteStep& step : optimised->result.steps) UNSCOPED_INFO("by " << step.rule);
    optimised->model.validate();
    REQUIRE(difference(*model, optimised->model, seed) == "");
    if (optimised->result.steps.empty())
      REQUIRE(optimised->model.serialise() == model->serialise());
    else
      ++changed;
    // Nothing that the search removed is written.
    const onnx::ImportedModel again = onnx::import_model(onnx::view_of(optimised->model));
    const cost::Cost cost = search::search(again.graph, {}, cost::Roofline(), options).cost_before;
    // Concats that are written as one are read in another order.
    REQUIRE(static_cast<double>(cost) == Approx(static_cast<double>(optimised->result.cost_after)).epsilon(0.001));
  }
  CHECK(written > 90);
  CHECK(changed > 40);
  CHECK(refused < 10);
}

TEST_CASE("rewrites inside a node are written") {
  // One Concat of three in the model: its inner concat of two has no name.
  const Graph graph = parse_graph(R"(graph
    input x: float32[1, 4, 8, 8]
    input y: float32[1, 4, 8, 8]
    p = max_pool[kernel=[2, 2], strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0], ceil=false](x)
    q = max_pool[kernel=[2, 2], strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0], ceil=false](y)
    a = relu(p)
    b = relu(q)
    c = tanh(q)
    d = concat[axis=1](a, b)
    e = concat[axis=1](d, c)
    output e)");
  onnx::Model model = onnx::write_model(graph);
  auto& nodes = *model.mutable_proto().mutable_graph()->mutable_node();
  proto::NodeProto &outer = *nodes.Mutable(nodes.size() - 1), inner = nodes.Get(nodes.size() - 2);
  REQUIRE((outer.op_type() == "Concat" && inner.op_type() == "Concat"));
  outer.add_input(outer.input(1));
  outer.set_input(0, inner.input(0));
  outer.set_input(1, inner.input(1));
  nodes.DeleteSubrange(nodes.size() - 2, 1);
  const auto rules = std::vector<rules::Rule>{
      rules::parse_rule("rule concat-of-relu\n  concat[axis=a](relu(x), relu(y)) => relu(concat[axis=a](x, y))\n")};
  SearchOptions options;
  options.layout = cost::Layout::channels_first;
  const auto optimised = optimise(model.copy(), rules, options);
  REQUIRE(optimised);
  REQUIRE(optimised->result.steps.size() == 1);
  std::map<std::string, int> after;
  for (const auto& node : optimised->model.proto().graph().node()) ++after[node.op_type()];
  CHECK(after["Relu"] == 1);
  CHECK(after["Concat"] == 2);
  CHECK(difference(model, optimised->model, 1) == "");
}

TEST_CASE("only rewritten nodes change") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[4, 8]
    constant q: float32[8, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    constant k: float32[8, 1] = [1, 2, 3, 4, 5, 6, 7, 8]
    before = relu(x)
    a = matmul(before, q)
    b = matmul(before, k)
    c = softmax[axis=0](a)
    d = softmax[axis=0](b)
    e = relu(c)
    f = relu(e)
    output f, d)");
  onnx::Model model = onnx::write_model(graph);
  for (int i = 0; i < model.proto().graph().node_size(); ++i) {
    auto& node = *model.mutable_proto().mutable_graph()->mutable_node(i);
    node.set_name("node " + std::to_string(i));
    node.set_doc_string("a word on " + node.op_type());
  }
  const auto rules = std::vector<rules::Rule>{
      rules::parse_rule("rule shared-left-factor\n"
                        "  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))\n"
                        "  where rank(x) = 2, rank(y) = 2, rank(z) = 2\n"),
      rules::parse_rule("rule twice\n  relu(relu(x)) => relu(x)\n")};
  const auto optimised = optimise(model.copy(), rules, {});
  REQUIRE(optimised);
  CHECK(optimised->result.steps.size() == 2);
  std::map<std::string, int> documented, fresh;
  for (const auto& node : optimised->model.proto().graph().node())
    ++(node.doc_string().empty() ? fresh : documented)[node.op_type()];
  CHECK(documented == std::map<std::string, int>{{"Relu", 2}, {"Softmax", 2}});
  CHECK(fresh["MatMul"] == 1);
  CHECK(fresh["Split"] == 1);
  CHECK_FALSE(fresh.contains("Concat"));  // of constants: computed
  CHECK(difference(model, optimised->model, 1) == "");
}

TEST_CASE("splits of splits and concats of concats are written as one") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[4, 8]
    input y: float32[4, 2]
    constant q: float32[8, 1] = [1, 2, 3, 4, 5, 6, 7, 8]
    constant k: float32[8, 1] = [8, 2, 3, 4, 5, 6, 7, 8]
    constant v: float32[8, 1] = [0, 2, 3, 4, 5, 6, 7, 8]
    a = matmul(x, q)
    b = matmul(x, k)
    c = matmul(x, v)
    ra = relu(a)
    ta = tanh(a)
    rb = relu(b)
    rc = relu(c)
    rab = concat[axis=1](ra, rb)
    rabc = concat[axis=1](rab, rc)
    output ta, rabc)");
  std::vector<rules::Rule> rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  std::erase_if(rules,
                [](const rules::Rule& rule) { return rule.name == "cut-and-joined"; });  // it removes some of both
  const auto optimised = optimise(onnx::write_model(graph), rules, {});
  REQUIRE(optimised);
  std::map<std::string, int> operators;
  for (const auto& node : optimised->model.proto().graph().node()) {
    ++operators[node.op_type()];
    if (node.op_type() == "Split") CHECK(node.output_size() == 3);
    if (node.op_type() == "Concat") CHECK(node.input_size() == 3);
  }
  CHECK(operators["MatMul"] == 1);
  CHECK(operators["Split"] == 1);
  CHECK(operators["Concat"] == 1);
  CHECK(operators["Relu"] == 1);
  CHECK(difference(onnx::write_model(graph), optimised->model, 1) == "");
}

TEST_CASE("a value that becomes equal to another one is written as that one") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[3, 2, 2]
    a, b = split[axis=2, at=1](x)
    c = relu(a)
    d = relu(b)
    e = concat[axis=2](c, d)
    f = relu(x)
    g = tanh(f)
    output e, g)");
  const std::vector<rules::Rule> rules{
      rules::parse_rule("rule join\n  concat[axis=a](relu(x), relu(y)) => relu(concat[axis=a](x, y))\n"),
      rules::parse_rule(
          "rule whole\n  concat[axis=a](first(split[axis=a, at=k](x)), second(split[axis=a, at=k](x))) => x\n")};
  const auto optimised = optimise(onnx::write_model(graph), rules, {});
  REQUIRE(optimised);
  CHECK(optimised->result.steps.size() == 2);
  std::map<std::string, int> operators;
  for (const auto& node : optimised->model.proto().graph().node()) ++operators[node.op_type()];
  CHECK(operators["Relu"] == 1);
  CHECK(operators["Concat"] == 0);
  CHECK(difference(onnx::write_model(graph), optimised->model, 1) == "");
}

TEST_CASE("splits of both parts of a split are written as one") {
  std::string text = "graph\n  input x: float32[4, 8]\n";
  for (int i = 0; i < 8; ++i)
    text += "  constant w" + std::to_string(i) + ": float32[8, 1] = [1, 2, 3, 4, 5, 6, 7, 8]\n";
  for (int i = 0; i < 8; ++i)
    text += "  a" + std::to_string(i) + " = matmul(x, w" + std::to_string(i) + ")\n  b" + std::to_string(i) +
            " = tanh(a" + std::to_string(i) + ")\n";
  const Graph graph = parse_graph(text + "  output b0, b1, b2, b3, b4, b5, b6, b7\n");
  auto rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  std::erase_if(rules, [](const rules::Rule& rule) { return rule.name != "shared-left-factor"; });
  const auto optimised = optimise(onnx::write_model(graph), rules, {});
  REQUIRE(optimised);
  std::map<std::string, int> operators;
  for (const auto& node : optimised->model.proto().graph().node()) ++operators[node.op_type()];
  CHECK(operators == std::map<std::string, int>{{"MatMul", 1}, {"Split", 1}, {"Tanh", 8}});
  CHECK(difference(onnx::write_model(graph), optimised->model, 1) == "");
}

}  // namespace taso::test
