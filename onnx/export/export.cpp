#include "onnx/export/export.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/export/emit.h"
#include "onnx/export/needed_nodes.h"
#include "onnx/import/node_body.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx {
namespace {

class EditSink final : public NodeSink {
 public:
  explicit EditSink(GraphEdit& edit) : edit_(edit), opset_(opset_of(edit.model(), "")) {}
  std::int64_t opset() const override { return opset_; }
  std::string fresh_name(const std::string& base) override { return edit_.fresh_name(base); }
  void add_node(std::unique_ptr<proto::NodeProto> node) override { edit_.add(std::move(node)); }
  std::string add_constant(const Array& data) override {
    const std::string name = edit_.fresh_name(constant_base());
    edit_.add_constant(name, data);
    return name;
  }

 private:
  GraphEdit& edit_;
  std::int64_t opset_;
};

/// Writes the operators of a graph into a sink, each once. `names` holds the values that exist already.
class GraphWriter {
 public:
  using Names = std::unordered_map<Value, std::string, HashValue>;
  GraphWriter(NodeSink& sink, Names names) : sink_(sink), names_(std::move(names)) {}

  bool has(const Value& value) const { return names_.contains(value); }
  const std::string& name(const Value& value) const { return names_.at(value); }
  /// Reserves the name that a value gets when it is written.
  void reserve(const Value& value, const std::string& name) { reserved_.emplace(value, name); }

  /// From now on, values that depend only on constants with data are computed rather than written.
  void compute_constants(FoldedConstants& folded) {
    computes_ = true;
    folded_ = &folded;
  }

  /// Inspects the values to be written, so that concats of concats and splits of splits become one node.
  void look_ahead(const std::vector<Value>& values) {
    std::vector<const Node*> stack;
    std::unordered_set<const Node*> seen;
    const auto visit = [&](const Value& value) {
      if (!has(value) && seen.insert(value.node).second) stack.push_back(value.node);
    };
    for (const Value& value : values) visit(value);
    while (!stack.empty()) {
      const Node& node = *stack.back();
      stack.pop_back();
      for (const Value& operand : node.inputs()) {
        users_[operand].push_back(&node);
        visit(operand);
      }
    }
  }

  /// Writes what `value` needs, operands first, without recursion.
  void write(const Value& value, const std::string& hint) {
    if (has(value)) return;
    std::vector<const Node*> stack{value.node};
    while (!stack.empty()) {
      const Node& node = *stack.back();
      if (is_written(node) || (computes_ && compute(node))) {
        stack.pop_back();
        continue;
      }
      const std::size_t before = stack.size();
      for (const Value& operand : operands_of(node))
        if (!has(operand)) stack.push_back(operand.node);
      if (stack.size() != before) continue;
      stack.pop_back();
      write_node(node, hint);
    }
  }

 private:
  /// A node of the model may have named only some of the results.
  bool is_written(const Node& node) const {
    if (put_together_.contains(&node)) return true;
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (!has(node.output(i))) return false;
    return true;
  }

  /// The only user of a value that has no name and needs none; null if there are others.
  const Node* only_user(const Value& value) const {
    const auto users = users_.find(value);
    const bool alone = users != users_.end() && users->second.size() == 1;
    return alone && !has(value) && !reserved_.contains(value) ? users->second[0] : nullptr;
  }

  /// The operands with which a node is written, including those of the concats merged into it.
  std::vector<Value> operands_of(const Node& node) {
    std::vector<Value> operands;
    for (const Value& operand : node.inputs()) {
      const bool is_part = node.as_operator() != nullptr && std::holds_alternative<op::Concat>(*node.as_operator()) &&
                           operand && operand.node->as_operator() != nullptr &&
                           *operand.node->as_operator() == *node.as_operator() && only_user(operand) == &node &&
                           !(computes_ && is_constant(*operand.node));
      if (!is_part) {
        operands.push_back(operand);
        continue;
      }
      const auto inner = operands_of(*operand.node);
      operands.insert(operands.end(), inner.begin(), inner.end());
    }
    return operands;
  }

  /// The results with which a node is written, including those of the splits merged into it.
  std::vector<Value> results_of(const Node& node) {
    std::vector<Value> results;
    const auto* split = node.as_operator() != nullptr ? std::get_if<op::Split>(node.as_operator()) : nullptr;
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Node* user = split != nullptr ? only_user(node.output(i)) : nullptr;
      const auto* further =
          user != nullptr && user->as_operator() != nullptr ? std::get_if<op::Split>(user->as_operator()) : nullptr;
      if (further == nullptr || further->axis != split->axis || has(user->output(0)) || has(user->output(1))) {
        results.push_back(node.output(i));
        continue;
      }
      put_together_.insert(user);
      const auto inner = results_of(*user);
      results.insert(results.end(), inner.begin(), inner.end());
    }
    return results;
  }

  /// Whether the node is computed from constants that have data, named or not.
  bool is_constant(const Node& node) { return computes_ && folded_->is_constant(node); }

  /// The names of the first few constants that a constant is computed from.
  std::string names_below(const Node& node) const {
    constexpr std::size_t most_names = 3, longest = 120;
    std::vector<std::string_view> found;
    std::vector<Value> stack{node.output(0)};
    std::unordered_set<const Node*> seen;
    std::size_t constants = 0;
    while (!stack.empty()) {
      const Value value = stack.back();
      stack.pop_back();
      if (!seen.insert(value.node).second) continue;
      for (auto operand = value.node->inputs().rbegin(); operand != value.node->inputs().rend(); ++operand)
        if (*operand) stack.push_back(*operand);
      if (value.node->as_constant() == nullptr || !has(value)) continue;
      if (++constants <= most_names) found.push_back(name(value));
    }
    std::string text = fmt::format("{}{}", fmt::join(found, "+"), constants > most_names ? "+more" : "");
    if (text.size() > longest && !found.empty()) text = fmt::format("{}+more", found.front());
    return text;
  }

  /// Adds the results of a node as constants. Returns false if they cannot or should not be computed.
  bool compute(const Node& node) {
    if (node.as_operator() == nullptr || !is_constant(node)) return false;
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (reserved_.contains(node.output(i))) return false;  // a node must compute an output of the model
    const std::vector<Array>* const results = folded_->of(node);
    if (results == nullptr) return false;
    const std::string below = names_below(node);
    sink_.name_constants(fmt::format("{}/{}", below.empty() ? "constant" : below, name_of(*node.as_operator())));
    for (std::size_t i = 0; i < results->size(); ++i)
      if (!has(node.output(i))) names_.emplace(node.output(i), sink_.add_constant((*results)[i]));
    return true;
  }

  void write_node(const Node& node, const std::string& hint) {
    const Operator* op = node.as_operator();
    if (node.as_constant() != nullptr) {
      const auto& weight = node.as_constant()->weight;
      if (!weight) throw InputError(fmt::format("constant '{}' has no data", node.as_constant()->name));
      sink_.name_constants(hint + "/constant");
      names_.emplace(node.output(), sink_.add_constant(weight->load()));
      return;
    }
    if (op == nullptr) throw InputError("cannot write an operator that we do not model");
    std::vector<Type> input_types, output_types;
    std::vector<std::string> inputs, outputs;
    for (const Value& operand : operands_of(node)) {
      input_types.push_back(operand.type());
      inputs.push_back(name(operand));
    }
    const std::vector<Value> results = results_of(node);
    for (const Value& result : results) {
      const auto reserved = reserved_.find(result);
      outputs.push_back(reserved != reserved_.end() && !has(result)
                            ? reserved->second
                            : sink_.fresh_name(fmt::format("{}/{}", hint, name_of(*op))));
      output_types.push_back(result.type());
    }
    put_together_.insert(&node);
    sink_.name_constants(outputs.front() + "/constant");
    emit(*op, input_types, inputs, output_types, outputs, sink_);
    for (std::size_t i = 0; i < outputs.size(); ++i) names_.emplace(results[i], outputs[i]);
  }

  NodeSink& sink_;
  Names names_;
  Names reserved_;
  std::unordered_map<Value, std::vector<const Node*>, HashValue>
      users_;                                     // once for each use, among the values to be written
  std::unordered_set<const Node*> put_together_;  // nodes that are written, alone or merged
  bool computes_ = false;
  FoldedConstants* folded_ = nullptr;
};

std::unique_ptr<proto::NodeProto> identity_node(const std::string& input, const std::string& output) {
  auto node = std::make_unique<proto::NodeProto>();
  node->set_op_type("Identity");
  node->add_input(input);
  node->add_output(output);
  return node;
}

}  // namespace

void export_graph(const ImportedModel& imported, const Graph& graph, GraphEdit& edit) {
  check(graph.pool == imported.graph.pool && graph.outputs.size() == imported.graph.outputs.size(),
        "the graph belongs to the same model");
  const auto& outputs = edit.model().graph().output();
  std::vector<int> changed;
  for (int i = 0; i < outputs.size(); ++i)
    if (!(graph.outputs[static_cast<std::size_t>(i)] == imported.graph.outputs[static_cast<std::size_t>(i)]))
      changed.push_back(i);
  if (changed.empty()) return;
  const auto needless = needless_nodes(edit);  // left to the clean-ups

  // A changed output takes its name from the old value, which may still be needed under another one.
  std::unordered_map<std::string, std::string> imported_as;  // new name → the name at import
  std::unordered_set<std::string> renamed;
  for (const int i : changed) {
    const std::string name = outputs[i].name();
    if (!renamed.insert(name).second) continue;  // an output that is listed twice
    const proto::NodeProto* producer = edit.producer(name);
    if (producer == nullptr) throw InputError(fmt::format("the output '{}' is not computed by a node", name));
    const std::string old = edit.fresh_name(name + "/before");
    edit.modify(*producer, [&](proto::NodeProto& copy) {
      for (auto& output : *copy.mutable_output())
        if (output == name) output = old;
    });
    edit.replace_uses(name, old);
    imported_as.emplace(old, name);
  }

  GraphWriter::Names names;
  const ModelView view = edit.view();
  const auto offer = [&](const std::string& name) {
    const auto former = imported_as.find(name);
    const auto value = imported.values.find(former == imported_as.end() ? name : former->second);
    if (value != imported.values.end()) names.try_emplace(value->second, name);
  };
  for (const auto* input : view.inputs) offer(input->name());
  for (const auto* tensor : view.initializers) offer(tensor->name());
  for (const auto* node : view.nodes)
    for (const std::string& output : node->output())
      if (!output.empty()) offer(output);

  EditSink sink(edit);
  GraphWriter writer(sink, std::move(names));
  for (const int i : changed) {
    const Value& value = graph.outputs[static_cast<std::size_t>(i)];
    if (!writer.has(value)) writer.reserve(value, outputs[i].name());
  }
  for (const int i : changed) {
    const Value& value = graph.outputs[static_cast<std::size_t>(i)];
    writer.write(value, outputs[i].name());
    if (writer.name(value) != outputs[i].name() && edit.producer(outputs[i].name()) == nullptr)
      edit.add(identity_node(writer.name(value), outputs[i].name()));
  }

  remove_needless_nodes(edit, needless);
}

void export_values(const ImportedModel& imported, const ValueEdits& edits, GraphEdit& edit) {
  FoldedConstants folded;
  export_values(imported, edits, edit, folded);
}

void export_values(const ImportedModel& imported, const ValueEdits& edits, GraphEdit& edit, FoldedConstants& folded) {
  const auto needless = needless_nodes(edit);  // left to the clean-ups
  GraphWriter::Names names;
  std::unordered_map<Value, std::vector<std::string>, HashValue> further;  // more names of values that have several
  const ModelView view = edit.view();
  const auto offer = [&](const std::string& name) {
    const auto value = imported.values.find(name);
    if (value == imported.values.end()) return;
    if (!names.try_emplace(value->second, name).second) further[value->second].push_back(name);
  };
  for (const auto* input : view.inputs) offer(input->name());
  for (const auto* tensor : view.initializers) offer(tensor->name());
  for (const auto* node : view.nodes)
    for (const std::string& output : node->output())
      if (!output.empty()) offer(output);
  const auto name_of_value = [&](const Value& value) -> const std::string& {
    const auto found = names.find(value);
    check(found != names.end(), "a value that is edited has a name");
    return found->second;
  };
  /// Frees a name by renaming the result of its producer. Users of the value still refer to the name.
  const auto take_name = [&](const std::string& name) {
    const proto::NodeProto* producer = edit.producer(name);
    if (producer == nullptr) throw InputError(fmt::format("'{}' is not computed by a node", name));
    const std::string old = edit.fresh_name(name + "/before");
    edit.modify(*producer, [&](proto::NodeProto& copy) {
      for (auto& output : *copy.mutable_output())
        if (output == name) output = old;
    });
  };
  const auto use_instead = [&](const std::string& name, const std::string& by) {
    if (name == by || edit.is_pinned(name)) return;
    if (edit.is_graph_output(name)) {
      take_name(name);
      edit.add(identity_node(by, name));
    } else if (edit.can_replace_uses(name, by)) {
      edit.replace_uses(name, by);
    }
  };

  EditSink sink(edit);
  GraphWriter writer(sink, names);
  writer.compute_constants(folded);
  for (const auto& [value, by] : edits.rewritten) {
    take_name(name_of_value(value));
    if (!writer.has(by)) writer.reserve(by, name_of_value(value));
  }
  std::vector<Value> written;
  for (const auto& [value, by] : edits.rewritten) written.push_back(by);
  writer.look_ahead(written);
  for (const auto& [value, by] : edits.rewritten) {
    const std::string& name = name_of_value(value);
    writer.write(by, name);
    if (writer.name(by) != name) edit.add(identity_node(writer.name(by), name));
    for (const std::string& other : further[value]) use_instead(other, name);
  }
  std::unordered_map<Value, Value, HashValue> written_as;
  for (const auto& [value, by] : edits.rewritten) written_as.emplace(value, by);
  for (const auto& [value, by] : edits.merged) {
    // The value that it is merged into may be written as this very value, which then stays.
    const auto same = written_as.find(by);
    const bool stays = same != written_as.end() && same->second == value;
    const std::string& name = name_of_value(stays ? value : by);
    if (!stays) use_instead(name_of_value(value), name);
    for (const std::string& other : further[value]) use_instead(other, name);
  }
  remove_needless_nodes(edit, needless);
}

Model write_model(const Graph& graph, const WriteOptions& options) {
  proto::ModelProto proto;
  proto.set_ir_version(options.ir_version);
  proto.set_producer_name("taso");
  auto& opset = *proto.add_opset_import();
  opset.set_version(options.opset);
  proto::GraphProto& out = *proto.mutable_graph();
  out.set_name("graph");

  class ProtoSink final : public NodeSink {
   public:
    ProtoSink(proto::GraphProto& target, std::int64_t version) : graph_(target), version_(version) {}
    std::int64_t opset() const override { return version_; }
    std::string fresh_name(const std::string& base) override {
      std::string name = base;
      for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
      return name;
    }
    void add_node(std::unique_ptr<proto::NodeProto> node) override {
      graph_.mutable_node()->AddAllocated(node.release());
    }
    std::string add_constant(const Array& data) override {
      const std::string name = fresh_name(constant_base());
      *graph_.add_initializer() = write_tensor(data, name);
      return name;
    }

   private:
    proto::GraphProto& graph_;
    std::int64_t version_;
    std::unordered_set<std::string> names_;
  } sink(out, options.opset);

  const auto declare = [](proto::ValueInfoProto& info, const std::string& name, const Type& type) {
    if (!type.shape || type.element == ElementType::undefined)
      throw InputError(fmt::format("the type of '{}' is not known", name));
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx_data_type(type.element));
    for (const Dim& dim : *type.shape) {
      auto& entry = *tensor.mutable_shape()->add_dim();
      if (dim.is_static())
        entry.set_dim_value(dim.value());
      else
        entry.set_dim_param(dim.text());
    }
    tensor.mutable_shape();
  };
  GraphWriter::Names names;
  for (const Value& input : graph.inputs) {
    names.emplace(input, sink.fresh_name(input.node->as_input()->name));
    declare(*out.add_input(), names.at(input), input.type());
  }
  GraphWriter writer(sink, std::move(names));
  std::vector<std::string> output_names;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    output_names.push_back(sink.fresh_name(fmt::format("output{}", i)));
    if (!writer.has(graph.outputs[i])) writer.reserve(graph.outputs[i], output_names[i]);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    writer.write(graph.outputs[i], "t");
    if (writer.name(graph.outputs[i]) != output_names[i])
      sink.add_node(identity_node(writer.name(graph.outputs[i]), output_names[i]));
    declare(*out.add_output(), output_names[i], graph.outputs[i].type());
  }
  return Model(std::move(proto), {});
}

}  // namespace taso::onnx
