#include "onnx/export/edit.h"

#include <algorithm>
#include <queue>

#include <fmt/format.h>

#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "ops/core/array.h"

namespace taso::onnx {
namespace {

void collect_names(const proto::GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const auto& info : graph.value_info()) names.insert(info.name());  // a new value must not inherit an old type
  for (const auto& node : graph.node()) {
    names.insert(node.name());
    names.insert(node.input().begin(), node.input().end());
    names.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_names(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) collect_names(inner, names);
    }
  }
}

/// The names of the values that nodes and initializers of this graph define.
void collect_values(const proto::GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
}

template <class Item, class Keep>
void keep_if(google::protobuf::RepeatedPtrField<Item>& items, Keep&& keep) {
  int kept = 0;
  for (int i = 0; i < items.size(); ++i)
    if (keep(items[i])) items.SwapElements(kept++, i);
  items.DeleteSubrange(kept, items.size() - kept);
}

void rename_captured(proto::GraphProto& graph, const std::string& from, const std::string& to);

void rename_in_attributes(proto::NodeProto& node, const std::string& from, const std::string& to) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_captured(*attribute.mutable_g(), from, to);
    for (auto& inner : *attribute.mutable_graphs()) rename_captured(inner, from, to);
  }
}

/// Whether this scope defines the name itself.
bool defines(const proto::GraphProto& graph, const std::string& name) {
  const auto named = [&](const auto& item) { return item.name() == name; };
  if (std::any_of(graph.input().begin(), graph.input().end(), named)) return true;
  if (std::any_of(graph.initializer().begin(), graph.initializer().end(), named)) return true;
  const auto& sparse = graph.sparse_initializer();
  if (std::any_of(sparse.begin(), sparse.end(), [&](const auto& tensor) { return named(tensor.values()); }))
    return true;
  return std::any_of(graph.node().begin(), graph.node().end(), [&](const proto::NodeProto& node) {
    return std::find(node.output().begin(), node.output().end(), name) != node.output().end();
  });
}

void rename_captured(proto::GraphProto& graph, const std::string& from, const std::string& to) {
  if (defines(graph, from)) return;
  for (auto& node : *graph.mutable_node()) {
    for (auto& input : *node.mutable_input())
      if (input == from) input = to;
    rename_in_attributes(node, from, to);
  }
  for (auto& output : *graph.mutable_output())
    if (output.name() == from) output.set_name(to);
}

template <class Predicate>
bool any_subgraph(const proto::NodeProto& node, Predicate&& predicate) {
  return std::any_of(node.attribute().begin(), node.attribute().end(), [&](const proto::AttributeProto& attribute) {
    return (attribute.has_g() && predicate(attribute.g())) ||
           std::any_of(attribute.graphs().begin(), attribute.graphs().end(), predicate);
  });
}

/// Whether this scope, or one inside it, uses the name from outside.
bool captures(const proto::GraphProto& graph, const std::string& name) {
  if (defines(graph, name)) return false;
  const auto uses = [&](const proto::NodeProto& node) {
    return std::find(node.input().begin(), node.input().end(), name) != node.input().end() ||
           any_subgraph(node, [&](const proto::GraphProto& inner) { return captures(inner, name); });
  };
  return std::any_of(graph.node().begin(), graph.node().end(), uses) ||
         std::any_of(graph.output().begin(), graph.output().end(), [&](const auto& out) { return out.name() == name; });
}

/// Whether the outer name `from` is used in a scope where `to` means something else.
bool hides(const proto::GraphProto& graph, const std::string& from, const std::string& to) {
  if (defines(graph, from)) return false;
  if (defines(graph, to)) return captures(graph, from);
  return std::any_of(graph.node().begin(), graph.node().end(), [&](const proto::NodeProto& node) {
    return any_subgraph(node, [&](const proto::GraphProto& inner) { return hides(inner, from, to); });
  });
}

}  // namespace

GraphEdit::GraphEdit(const Model& model) : proto_(&model.proto()), folder_(model.folder()) {
  const auto& graph = model.proto().graph();
  const auto nodes = static_cast<std::size_t>(graph.node_size());
  const auto weights = static_cast<std::size_t>(graph.initializer_size());
  names_.reserve(2 * nodes + weights);
  uses_.reserve(nodes + weights);
  slot_by_node_.reserve(nodes);
  slot_by_output_.reserve(nodes);
  weight_by_name_.reserve(weights);
  collect_names(graph, names_);
  for (const auto& input : graph.input()) graph_inputs_.insert(input.name());
  for (const auto& output : graph.output()) graph_outputs_.insert(output.name());
  for (const auto& annotation : graph.quantization_annotation()) {
    pinned_.insert(annotation.tensor_name());
    for (const auto& entry : annotation.quant_parameter_tensor_names()) pinned_.insert(entry.value());
  }
  for (const auto& tensor : graph.initializer()) {
    weight_by_name_.emplace(tensor.name(), weights_.size());
    weights_.push_back({&tensor, nullptr});
  }
  slots_.reserve(static_cast<std::size_t>(graph.node_size()));
  for (const auto& node : graph.node()) {
    slots_.push_back({&node, nullptr});
    link(slots_.size() - 1);
  }
}

GraphEdit::~GraphEdit() = default;

void GraphEdit::link(std::size_t slot) {
  const proto::NodeProto& node = *slots_[slot].node;
  slot_by_node_.emplace(&node, slot);
  for (const std::string& output : node.output())
    if (!output.empty()) slot_by_output_[output] = slot;
  for (const std::string& input : node.input())
    if (!input.empty()) uses_[input].push_back(slot);
  for (const std::string& name : captured_names(node)) uses_[name].push_back(slot);
}

void GraphEdit::unlink(std::size_t slot) {
  const proto::NodeProto& node = *slots_[slot].node;
  for (const std::string& output : node.output())
    if (const auto found = slot_by_output_.find(output); found != slot_by_output_.end() && found->second == slot)
      slot_by_output_.erase(found);
  const auto drop = [&](const std::string& name) {
    if (name.empty()) return;
    auto& slots = uses_[name];
    slots.erase(std::find(slots.begin(), slots.end(), slot));
  };
  for (const std::string& input : node.input()) drop(input);
  for (const std::string& name : captured_names(node)) drop(name);
}

std::size_t GraphEdit::slot_of(const proto::NodeProto& node) const {
  const auto found = slot_by_node_.find(&node);
  check(found != slot_by_node_.end(), "the node is part of the edit");
  return found->second;
}

const proto::NodeProto* GraphEdit::producer(const std::string& name) const {
  const auto found = slot_by_output_.find(name);
  return found == slot_by_output_.end() ? nullptr : slots_[found->second].node;
}

const proto::TensorProto* GraphEdit::initializer(const std::string& name) const {
  const auto found = weight_by_name_.find(name);
  return found == weight_by_name_.end() ? nullptr : weights_[found->second].tensor;
}

const proto::TensorProto* GraphEdit::constant(const std::string& name) const {
  if (const proto::TensorProto* tensor = initializer(name))
    return is_graph_input(name) && model().ir_version() >= 4 ? nullptr : tensor;
  const proto::NodeProto* node = producer(name);
  if (node == nullptr || node->op_type() != "Constant" || !is_default_domain(node->domain())) return nullptr;
  if (opset_of(model(), *node) == 0) return nullptr;
  for (const auto& attribute : node->attribute())
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  return nullptr;
}

std::size_t GraphEdit::uses(const std::string& name) const {
  const auto found = uses_.find(name);
  return (found == uses_.end() ? 0 : found->second.size()) + (is_graph_output(name) ? 1 : 0) + pinned_.count(name);
}

std::vector<const proto::NodeProto*> GraphEdit::consumers(const std::string& name) const {
  const auto found = uses_.find(name);
  if (found == uses_.end()) return {};
  std::vector<std::size_t> slots = found->second;
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  std::vector<const proto::NodeProto*> nodes;
  for (const std::size_t slot : slots) nodes.push_back(slots_[slot].node);
  return nodes;
}

void GraphEdit::remove(const proto::NodeProto& node) {
  const std::size_t slot = slot_of(node);
  // Without a node that nothing uses everything else is imported as before. Only those that pass a value on say
  // something of it too.
  const bool passes_on = node.op_type() == "Identity" || node.op_type() == "Dropout";
  const auto is_used = [&](const std::string& output) { return !output.empty() && uses(output) > 0; };
  if (passes_on || std::any_of(node.output().begin(), node.output().end(), is_used)) changes();
  for (const std::string& output : node.output()) forget(output);
  unlink(slot);
  slots_[slot].node = nullptr;
  if (slots_[slot].owned) discarded_.push_back(std::move(slots_[slot].owned));
  changed_ = true;
}

void GraphEdit::remove_initializer(const std::string& name) {
  const auto found = weight_by_name_.find(name);
  check(found != weight_by_name_.end(), "the initializer exists");
  weights_[found->second].tensor = nullptr;  // an owned tensor stays until the end: views may point to it
  weight_by_name_.erase(found);
  if (model().ir_version() < 4) graph_inputs_.erase(name);
  if (uses(name) > 0 || is_graph_input(name)) changes();
  forget(name);
  changed_ = true;
}

proto::NodeProto& GraphEdit::begin_modify(const proto::NodeProto& node) {
  const std::size_t slot = slot_of(node);
  auto copy = std::make_unique<proto::NodeProto>(node);
  unlink(slot);
  if (slots_[slot].owned) discarded_.push_back(std::move(slots_[slot].owned));
  slots_[slot].node = copy.get();
  slots_[slot].owned = std::move(copy);
  slot_by_node_.emplace(slots_[slot].node, slot);
  changes();
  return *slots_[slot].owned;
}

const proto::NodeProto& GraphEdit::end_modify(proto::NodeProto& node) {
  const std::size_t slot = slot_of(node);
  names_.insert(node.output().begin(), node.output().end());
  link(slot);
  const auto comes_later = [&](const std::string& name) {
    const auto found = slot_by_output_.find(name);
    return found != slot_by_output_.end() && found->second > slot;
  };
  const auto captured = captured_names(node);
  out_of_order_ = out_of_order_ || std::any_of(node.input().begin(), node.input().end(), comes_later) ||
                  std::any_of(captured.begin(), captured.end(), comes_later);
  return node;
}

const proto::NodeProto& GraphEdit::add(std::unique_ptr<proto::NodeProto> node) {
  names_.insert(node->output().begin(), node->output().end());
  names_.insert(node->name());
  slots_.push_back({node.get(), std::move(node)});
  link(slots_.size() - 1);
  out_of_order_ = true;
  changes();
  return *slots_.back().node;
}

void GraphEdit::add_constant(const std::string& name, const Array& data) {
  names_.insert(name);
  added_.push_back(name);
  changes();
  // Below IR 4 an initializer must also be an input, and a graph output needs a node that computes it.
  if (model().ir_version() < 4 || is_graph_output(name)) {
    auto node = std::make_unique<proto::NodeProto>();
    node->set_op_type("Constant");
    node->add_output(name);
    auto* attribute = node->add_attribute();
    attribute->set_name("value");
    attribute->set_type(proto::AttributeProto::TENSOR);
    *attribute->mutable_t() = write_tensor(data, name);
    add(std::move(node));
    return;
  }
  check(!weight_by_name_.contains(name), "a new constant has a new name");
  auto tensor = std::make_unique<proto::TensorProto>(write_tensor(data, name));
  weight_by_name_.emplace(name, weights_.size());
  weights_.push_back({tensor.get(), std::move(tensor)});
}

void GraphEdit::remove_unused_additions() {
  for (const std::string& name : added_) {
    if (uses(name) > 0) continue;
    if (initializer(name) != nullptr) {
      remove_initializer(name);
    } else if (const proto::NodeProto* node = producer(name); node != nullptr && node->op_type() == "Constant") {
      remove(*node);
    }
  }
}

bool GraphEdit::can_replace_uses(const std::string& from, const std::string& to) const {
  const auto users = consumers(from);
  return std::none_of(users.begin(), users.end(), [&](const proto::NodeProto* node) {
    return any_subgraph(*node, [&](const proto::GraphProto& graph) { return hides(graph, from, to); });
  });
}

void GraphEdit::replace_uses(const std::string& from, const std::string& to) {
  for (const proto::NodeProto* node : consumers(from))
    modify(*node, [&](proto::NodeProto& copy) {
      for (auto& input : *copy.mutable_input())
        if (input == from) input = to;
      rename_in_attributes(copy, from, to);
    });
}

std::string GraphEdit::fresh_name(const std::string& base) {
  if (names_.insert(base).second) return base;
  int& number = last_numbers_[base];  // names never become free again
  std::string name;
  do name = fmt::format("{}_{}", base, ++number);
  while (!names_.insert(name).second);
  return name;
}

/// The slots in an order in which every node comes after its operands; the present order if that already holds.
std::vector<std::size_t> GraphEdit::order() const {
  std::vector<std::size_t> alive;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].node != nullptr) alive.push_back(slot);
  if (!out_of_order_) return alive;

  std::vector<std::size_t> waiting(slots_.size(), 0);
  std::vector<std::vector<std::size_t>> followers(slots_.size());
  for (const std::size_t slot : alive)
    for (const std::string& output : slots_[slot].node->output())
      if (const auto users = uses_.find(output); !output.empty() && users != uses_.end())
        for (const std::size_t user : users->second) {
          followers[slot].push_back(user);
          ++waiting[user];
        }
  // New nodes have the highest slots. They are due as soon as an original node waits for them.
  std::vector<std::size_t> due(slots_.size());
  for (const std::size_t slot : alive) due[slot] = slot;
  const auto original = static_cast<std::size_t>(model().graph().node_size());
  for (auto slot = alive.rbegin(); slot != alive.rend(); ++slot) {
    if (*slot < original) continue;
    for (const std::size_t follower : followers[*slot]) due[*slot] = std::min(due[*slot], due[follower]);
  }
  const auto later = [&](std::size_t a, std::size_t b) {
    return std::pair(due[a], a < original) > std::pair(due[b], b < original);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> ready(later);
  for (const std::size_t slot : alive)
    if (waiting[slot] == 0) ready.push(slot);
  std::vector<std::size_t> sorted;
  while (!ready.empty()) {
    const std::size_t slot = ready.top();
    ready.pop();
    sorted.push_back(slot);
    for (const std::size_t follower : followers[slot])
      if (--waiting[follower] == 0) ready.push(follower);
  }
  check(sorted.size() == alive.size(), "edits make no cycle");
  return sorted;
}

void GraphEdit::changes() {
  changed_ = true;
  imported_.reset();
  forgotten_.clear();
}

void GraphEdit::forget(const std::string& name) {
  if (imported_ && !name.empty()) forgotten_.push_back(name);
}

std::shared_ptr<const Imported> GraphEdit::imported() const {
  if (!imported_) imported_ = std::make_shared<Imported>(import_model(view()));
  for (const std::string& name : forgotten_) {
    imported_->values.erase(name);
    imported_->facts.erase(name);
  }
  forgotten_.clear();
  return imported_;
}

ModelView GraphEdit::view() const {
  ModelView view{proto_, folder_, {}, {}, {}};
  for (const auto& input : proto_->graph().input())
    if (graph_inputs_.contains(input.name())) view.inputs.push_back(&input);
  for (const std::size_t slot : order()) view.nodes.push_back(slots_[slot].node);
  for (const Weight& weight : weights_)
    if (weight.tensor != nullptr) view.initializers.push_back(weight.tensor);
  return view;
}

Model GraphEdit::commit(std::unique_ptr<GraphEdit> edit, Model model) {
  check(edit->proto_ == &model.proto(), "an edit is committed to the model that it was made for");
  if (!edit->changed_) return model;
  auto& graph = *model.mutable_proto().mutable_graph();
  const auto order = edit->order();
  std::unordered_set<std::string> before;
  collect_values(graph, before);

  std::unordered_map<const proto::NodeProto*, proto::NodeProto*> nodes;
  while (graph.node_size() > 0) {
    proto::NodeProto* node = graph.mutable_node()->ReleaseLast();
    nodes.emplace(node, node);
  }
  for (const std::size_t slot : order) {
    Slot& entry = edit->slots_[slot];
    graph.mutable_node()->AddAllocated(entry.owned ? entry.owned.release() : nodes.extract(entry.node).mapped());
  }
  for (const auto& [key, node] : nodes) delete node;

  std::unordered_map<const proto::TensorProto*, proto::TensorProto*> tensors;
  while (graph.initializer_size() > 0) {
    proto::TensorProto* tensor = graph.mutable_initializer()->ReleaseLast();
    tensors.emplace(tensor, tensor);
  }
  for (Weight& weight : edit->weights_) {
    if (weight.tensor == nullptr) continue;
    if (weight.owned) model.note_new_weight(weight.owned->name());
    graph.mutable_initializer()->AddAllocated(weight.owned ? weight.owned.release()
                                                           : tensors.extract(weight.tensor).mapped());
  }
  for (const auto& [key, tensor] : tensors) delete tensor;

  keep_if(*graph.mutable_input(), [&](const auto& input) { return edit->graph_inputs_.contains(input.name()); });
  // Drop declared types of values that no longer exist.
  std::unordered_set<std::string> after;
  collect_values(graph, after);
  keep_if(*graph.mutable_value_info(),
          [&](const auto& info) { return after.contains(info.name()) || !before.contains(info.name()); });
  return model;
}

}  // namespace taso::onnx
