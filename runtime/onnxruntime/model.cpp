#include "runtime/onnxruntime/model.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

namespace taso::onnxruntime {
namespace {

/// Of one message. Constants in files stay there if all together would take up more than `most_embedded`.
constexpr std::size_t most_bytes = 0x7fffffff, most_embedded = 1'500'000'000;
/// The largest constant of a sample, in bytes: sizes and axes.
constexpr std::size_t most_in_sample = 1024;

/// A TensorProto without its content.
Message write_tensor_head(std::string_view name, const TensorView& tensor) {
  Message message;
  for (const std::int64_t size : tensor.sizes) message.number(1, size);
  message.number(2, tensor.element);
  if (!name.empty()) message.text(8, name);
  return message;
}

Message write_value(const Value& value, const std::string& name) {
  Message tensor;
  tensor.number(1, value.element);
  if (value.shape) {
    Message shape;
    for (const Dimension& dimension : *value.shape) {
      Message one;
      if (dimension.size >= 0)
        one.number(1, dimension.size);
      else if (!dimension.name.empty())
        one.text(2, dimension.name);
      shape.message(1, one);
    }
    tensor.message(2, shape);
  }
  Message type, message;
  type.message(1, tensor);
  message.text(1, name);
  message.message(2, type);
  return message;
}

Message write_node(const Node& node) {
  Message message;
  for (const std::string& input : node.inputs) message.text(1, input);
  for (const std::string& output : node.outputs) message.text(2, output);
  if (!node.name.empty()) message.text(3, node.name);
  message.text(4, node.op_type);
  message.append(node.attributes);
  if (!node.domain.empty()) message.text(7, node.domain);
  return message;
}

TensorView content_of(const OrtApi& api, const Value& value) {
  const auto* content = ask<const OrtValue*>(api, api.ValueInfo_GetInitializerValue, value.info);
  if (content == nullptr) throw Failure(ORT_INVALID_GRAPH, "the constant '" + value.name + "' has no content");
  return view_of(api, *content);
}

/// Where a constant lies in a file, as fields of TensorProto; empty if it does not.
Message write_location(const OrtApi& api, const Value& value) {
  Message message;
  auto* info = ask<OrtExternalInitializerInfo*>(api, api.ValueInfo_GetExternalInitializerInfo, value.info);
  if (info == nullptr) return message;
  const auto release = [&](OrtExternalInitializerInfo* one) { api.ReleaseExternalInitializerInfo(one); };
  const std::unique_ptr<OrtExternalInitializerInfo, decltype(release)> owner(info, release);
  const auto entry = [&](std::string_view key, std::string_view text) {
    Message pair;
    pair.text(1, key);
    pair.text(2, text);
    message.message(13, pair);
  };
  entry("location", api.ExternalInitializerInfo_GetFilePath(info));
  entry("offset", std::to_string(api.ExternalInitializerInfo_GetFileOffset(info)));
  entry("length", std::to_string(api.ExternalInitializerInfo_GetByteSize(info)));
  message.number(14, 1);
  return message;
}

const Value& value_of(const Graph& graph, const std::string& name) {
  const auto found = graph.values.find(name);
  if (found == graph.values.end()) throw Failure(ORT_INVALID_GRAPH, "the graph has no value '" + name + "'");
  return found->second;
}

/// The fields of ModelProto before the graph.
Message write_head(const Graph& graph) {
  Message model;
  model.number(1, std::max<std::int64_t>(graph.ir_version, 8));  // initializers are not inputs
  for (const auto& [domain, version] : graph.opsets) {
    Message opset;
    opset.text(1, domain);
    opset.number(2, version);
    model.message(8, opset);
  }
  return model;
}

/// Everything of a model but the content of its constants, which follow one another at the end.
class Writer {
 public:
  Writer(const OrtApi& api, const Graph& graph) : api_(api), graph_(graph) { fields_.text(2, "part"); }

  void add(const Node& node) { fields_.message(1, write_node(node)); }
  void add_input(const std::string& name, const Value& value) { fields_.message(11, write_value(value, name)); }
  void add_output(const std::string& name, const Value& value) { fields_.message(12, write_value(value, name)); }
  void add_declaration(const Value& value) { fields_.message(13, write_value(value, value.name)); }
  void add_constant(const std::string& name, const Value& value) {
    constants_.push_back({&value, content_of(api_, value), {}, 0});
    constants_.back().head = write_tensor_head(name, constants_.back().content);
    bytes_ += constants_.back().content.bytes.size();
  }

  std::string finish() {
    std::size_t size = fields_.bytes().size();
    for (Constant& constant : constants_) {
      const Message location =
          bytes_ > most_embedded && !graph_.folder.empty() ? write_location(api_, *constant.value) : Message();
      if (location.bytes().empty()) {
        constant.head.announce(9, constant.content.bytes.size());
      } else {
        constant.head.append(location.bytes());
        constant.content.bytes = {};
      }
      constant.size = constant.head.bytes().size() + constant.content.bytes.size();
      Message announced;
      announced.announce(5, constant.size);
      size += announced.bytes().size() + constant.size;
    }
    if (size > most_bytes) throw Failure(ORT_NOT_IMPLEMENTED, "the constants take up more than 2 GB");
    Message model = write_head(graph_);
    model.reserve(model.bytes().size() + 16 + size);
    model.announce(7, size);
    model.append(fields_.bytes());
    for (const Constant& constant : constants_) {
      model.announce(5, constant.size);
      model.append(constant.head.bytes());
      model.append(constant.content.bytes);
    }
    return model.bytes();
  }

 private:
  struct Constant {
    const Value* value;
    TensorView content;
    Message head;
    std::size_t size;
  };

  const OrtApi& api_;
  const Graph& graph_;
  Message fields_;  // of GraphProto
  std::vector<Constant> constants_;
  std::size_t bytes_ = 0;
};

}  // namespace

Message write_tensor(std::string_view name, const TensorView& tensor) {
  Message message = write_tensor_head(name, tensor);
  message.text(9, tensor.bytes);
  return message;
}

Message write_subgraph(const OrtApi& api, const OrtGraph& given) {
  const Graph graph = read_graph(api, given);
  Message message;
  for (const Node& node : graph.nodes) {
    if (!node.obstacle.empty()) throw Failure(ORT_NOT_IMPLEMENTED, node.obstacle);
    message.message(1, write_node(node));
  }
  message.text(2, "subgraph");
  for (const std::string& name : graph.constants)
    message.message(5, write_tensor(name, content_of(api, value_of(graph, name))));
  for (const std::string& name : graph.inputs) message.message(11, write_value(value_of(graph, name), name));
  for (const std::string& name : graph.outputs) message.message(12, write_value(value_of(graph, name), name));
  return message;
}

std::string write_model(const OrtApi& api, const Graph& graph, std::span<const Node* const> nodes,
                        const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  Writer writer(api, graph);
  std::unordered_set<std::string> known(inputs.begin(), inputs.end());
  const std::unordered_set<std::string> declared(outputs.begin(), outputs.end());
  for (const std::string& input : inputs) writer.add_input(input, value_of(graph, input));
  for (const std::string& output : outputs) writer.add_output(output, value_of(graph, output));
  for (const Node* node : nodes) {
    writer.add(*node);
    for (const auto* names : {&node->inputs, &node->captured})
      for (const std::string& name : *names)
        if (!name.empty() && value_of(graph, name).is_constant && known.insert(name).second)
          writer.add_constant(name, value_of(graph, name));
    for (const std::string& name : node->outputs)
      if (!name.empty() && !declared.contains(name) && value_of(graph, name).element != 0)
        writer.add_declaration(value_of(graph, name));
  }
  return writer.finish();
}

std::string write_sample(const OrtApi& api, const Graph& graph, const Node& node) {
  Writer writer(api, graph);
  Node sample = node;
  std::unordered_map<std::string, std::string> names;
  const auto add = [&](std::string& name, bool is_renamed) {
    if (name.empty()) return;
    const Value& value = value_of(graph, name);
    const auto [known, is_new] = names.emplace(name, is_renamed ? "i" + std::to_string(names.size()) : name);
    name = known->second;
    if (!is_new) return;
    if (value.is_constant && content_of(api, value).bytes.size() <= most_in_sample)
      writer.add_constant(name, value);
    else
      writer.add_input(name, value);
  };
  sample.name.clear();
  const bool is_renamed = node.captured.empty();  // subgraphs refer to values by name
  for (std::string& name : sample.inputs) add(name, is_renamed);
  for (std::string& name : sample.captured) add(name, false);
  for (std::size_t i = 0; i < sample.outputs.size(); ++i) {
    if (sample.outputs[i].empty()) continue;
    const Value& value = value_of(graph, sample.outputs[i]);
    if (is_renamed) sample.outputs[i] = "o" + std::to_string(i);
    writer.add_output(sample.outputs[i], value);
  }
  writer.add(sample);
  return writer.finish();
}

}  // namespace taso::onnxruntime
