// Untouched parts are written as they were read, including fields that the schema does not know.
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

/// Adds a length-delimited field that is in no schema, in the wire format.
void add_unknown(google::protobuf::MessageLite& message, unsigned field, const std::string& content) {
  std::string bytes = message.SerializeAsString();
  for (unsigned tag = field << 3 | 2; tag > 0; tag >>= 7)
    bytes += static_cast<char>((tag & 0x7f) | (tag > 0x7f ? 0x80 : 0));
  bytes += static_cast<char>(content.size());
  bytes += content;
  REQUIRE(message.ParseFromString(bytes));
}

/// Names, documentation, metadata and unknown fields everywhere.
proto::ModelProto decorated(proto::ModelProto model) {
  model.set_producer_version("1.2.3");
  model.set_domain("test.domain");
  model.set_model_version(42);
  model.set_doc_string("a model");
  auto& property = *model.add_metadata_props();
  property.set_key("key");
  property.set_value("value");
  add_unknown(model, 201, "of the model");
  auto& graph = *model.mutable_graph();
  graph.set_doc_string("a graph");
  add_unknown(graph, 202, "of the graph");
  int number = 0;
  for (auto& node : *graph.mutable_node()) {
    node.set_doc_string("node " + std::to_string(number));
    // 10: device_configurations of newer schemas; 203: of none. With an overload (8) it would be another operator.
    for (const unsigned field : {10U, 203U}) add_unknown(node, field, "field " + std::to_string(number));
    ++number;
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    tensor.set_doc_string("weight " + tensor.name());
    add_unknown(tensor, 204, "of " + tensor.name());
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output()})
    for (auto& value : *values) {
      value.set_doc_string("value " + value.name());
      add_unknown(value, 205, "of " + value.name());
    }
  return model;
}

proto::ModelProto model_to_clean() {
  auto model = varied_model();
  auto& graph = *model.mutable_graph();
  declare(*graph.add_value_info(), "product2", {2});
  declare(*graph.add_value_info(), "copy", {2});
  declare(*graph.add_output(), "last", {2});
  declare(*graph.add_output(), "odd", {2});
  add_floats(graph, "unused", {2}, {1, 2});
  add_node(graph, "Mul", {"y", "y"}, {"product2"}, "product");
  add_node(graph, "Identity", {"product2"}, {"copy"}, "copy");
  add_node(graph, "Exp", {"copy"}, {"last"}, "last");
  return decorated(model);
}

std::string without(const Model& model, const std::set<std::string>& nodes, const std::set<std::string>& weights,
                    const std::set<std::string>& values) {
  proto::ModelProto rest = model.proto();
  auto& graph = *rest.mutable_graph();
  const auto drop = [](auto& items, const std::set<std::string>& names) {
    for (int i = items.size() - 1; i >= 0; --i)
      if (names.contains(items[i].name())) items.DeleteSubrange(i, 1);
  };
  drop(*graph.mutable_node(), nodes);
  drop(*graph.mutable_initializer(), weights);
  drop(*graph.mutable_value_info(), values);
  return rest.SerializeAsString();
}

}  // namespace

TEST_CASE("a model with nothing to clean is written byte for byte") {
  for (const auto& proto : {small_model(), decorated(small_model()), subgraph_model(), decorated(subgraph_model())}) {
    Model model(proto, {});
    const std::string before = model.serialise();
    model.validate();
    auto edit = std::make_unique<GraphEdit>(model);
    for (const auto& count : clean_up(*edit)) CHECK(count.count == 0);
    model = GraphEdit::commit(std::move(edit), std::move(model));
    CHECK(model.serialise() == before);
  }
}

TEST_CASE("everything that was not cleaned is written byte for byte") {
  const auto proto = model_to_clean();
  Model original(proto, {});
  original.validate();
  const auto cleaned = clean(proto, {}, Runs::no);
  CHECK(cleaned.counts.at("identity") == 1);
  // The copy is gone, its user takes another operand, and one weight and one declaration are removed.
  const std::set<std::string> touched{"copy", "last"};
  CHECK(without(cleaned.model, touched, {"unused"}, {"copy"}) == without(original, touched, {"unused"}, {"copy"}));
  CHECK(!cleaned.has_initializer("unused"));
  // Everything of the touched node but the operand stays.
  const auto find = [](const Model& model, std::string_view name) {
    for (const auto& node : model.proto().graph().node())
      if (node.name() == name) return node;
    FAIL("no such node");
    return proto::NodeProto();
  };
  auto before = find(original, "last");
  const auto after = find(cleaned.model, "last");
  CHECK(after.input(0) == "product2");
  before.set_input(0, "product2");
  CHECK(before.SerializeAsString() == after.SerializeAsString());
  CHECK(after.SerializeAsString().find("field ") != std::string::npos);
}

TEST_CASE("cleaning is deterministic") {
  const auto proto = model_to_clean();
  CHECK(clean(proto, {}, Runs::no).model.serialise() == clean(proto, {}, Runs::no).model.serialise());
}

TEST_CASE("order, names and declarations of the remaining nodes stay") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Exp", {"x"}, {"b"});
  add_node(graph, "Relu", {"x"}, {"a"}, "a_node");
  add_node(graph, "Identity", {"a"}, {"copy"});
  add_node(graph, "Sub", {"b", "copy"}, {"d"});
  add_node(graph, "Neg", {"d"}, {"y"});
  for (const std::string_view name : {"d", "copy", "a", "stranger"}) declare(*graph.add_value_info(), name, {2});
  const auto cleaned = clean(model);
  std::vector<std::string> outputs, declared;
  for (const auto& node : cleaned.graph().node()) outputs.push_back(node.output(0));
  for (const auto& info : cleaned.graph().value_info()) declared.push_back(info.name());
  CHECK(outputs == std::vector<std::string>{"b", "a", "d", "y"});
  CHECK(declared == std::vector<std::string>{"d", "a", "stranger"});
}

}  // namespace taso::test
