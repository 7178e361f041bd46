#include "onnx/export/edit.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include <fmt/format.h>

#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "ops/core/array.h"

namespace taso::onnx {
namespace {

template <class Names>
void collect_names(const proto::GraphProto& graph, Names& names) {
  for (const auto& input : graph.input()) names.try_emplace(input.name());
  for (const auto& output : graph.output()) names.try_emplace(output.name());
  for (const auto& tensor : graph.initializer()) names.try_emplace(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.try_emplace(tensor.values().name());
  for (const auto& info : graph.value_info()) names.try_emplace(info.name());  // a new value must not inherit its type
  for (const auto& node : graph.node()) {
    names.try_emplace(node.name());
    for (const std::string& input : node.input()) names.try_emplace(input);
    for (const std::string& output : node.output()) names.try_emplace(output);
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

/// Takes the items out of a list of a message, so that none is copied.
template <class Item>
std::vector<std::unique_ptr<Item>> taken_from(google::protobuf::RepeatedPtrField<Item>& list) {
  std::vector<std::unique_ptr<Item>> items(static_cast<std::size_t>(list.size()));
  for (std::size_t i = items.size(); i-- > 0;) items[i].reset(list.ReleaseLast());
  return items;
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
  slot_by_node_.reserve(nodes);
  collect_names(graph, names_);
  for (const auto& input : graph.input()) names_[input.name()].is_input = true;
  for (const auto& output : graph.output()) names_[output.name()].is_output = true;
  for (const auto& annotation : graph.quantization_annotation()) {
    names_[annotation.tensor_name()].is_pinned = true;
    for (const auto& entry : annotation.quant_parameter_tensor_names()) names_[entry.value()].is_pinned = true;
  }
  weights_.reserve(weights);
  for (const auto& tensor : graph.initializer()) {
    if (Name& name = names_[tensor.name()]; name.weight == none) name.weight = weights_.size();
    weights_.push_back({&tensor, nullptr});
  }
  slots_.reserve(static_cast<std::size_t>(graph.node_size()));
  for (const auto& node : graph.node()) {
    slots_.push_back({&node, nullptr});
    link(slots_.size() - 1);
  }
}

GraphEdit::~GraphEdit() = default;

const GraphEdit::Name& GraphEdit::find(const std::string& name) const {
  static const Name unknown;
  const auto found = names_.find(name);
  return found == names_.end() ? unknown : found->second;
}

void GraphEdit::link(std::size_t slot) {
  const proto::NodeProto& node = *slots_[slot].node;
  slot_by_node_.emplace(&node, slot);
  for (const std::string& output : node.output())
    if (!output.empty()) names_[output].producer = slot;
  for (const std::string& input : node.input())
    if (!input.empty()) names_[input].uses.push_back(slot);
  for (const std::string& name : captured_names(node)) names_[name].uses.push_back(slot);
}

void GraphEdit::unlink(std::size_t slot) {
  const proto::NodeProto& node = *slots_[slot].node;
  for (const std::string& output : node.output())
    if (!output.empty() && names_[output].producer == slot) names_[output].producer = none;
  const auto drop = [&](const std::string& name) {
    if (name.empty()) return;
    auto& slots = names_[name].uses;
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
  const std::size_t slot = find(name).producer;
  return slot == none ? nullptr : slots_[slot].node;
}

const proto::TensorProto* GraphEdit::initializer(const std::string& name) const {
  const std::size_t weight = find(name).weight;
  return weight == none ? nullptr : weights_[weight].tensor;
}

const proto::TensorProto* GraphEdit::constant(const std::string& name) const {
  const Name& found = find(name);
  if (found.weight != none)
    return found.is_input && model().ir_version() >= 4 ? nullptr : weights_[found.weight].tensor;
  const proto::NodeProto* node = found.producer == none ? nullptr : slots_[found.producer].node;
  if (node == nullptr || node->op_type() != "Constant" || !is_default_domain(node->domain())) return nullptr;
  if (opset_of(model(), *node) == 0) return nullptr;
  for (const auto& attribute : node->attribute())
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  return nullptr;
}

std::vector<const proto::NodeProto*> GraphEdit::consumers(const std::string& name) const {
  std::vector<std::size_t> slots = find(name).uses;
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
  Name& found = names_[name];
  check(found.weight != none, "the initializer exists");
  weights_[found.weight].tensor = nullptr;  // an owned tensor stays until the end: views may point to it
  found.weight = none;
  if (model().ir_version() < 4) found.is_input = false;
  if (uses(found) > 0 || found.is_input) changes();
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
  link(slot);
  const auto comes_later = [&](const std::string& name) {
    const std::size_t producer = find(name).producer;
    return producer != none && producer > slot;
  };
  const auto captured = captured_names(node);
  out_of_order_ = out_of_order_ || std::any_of(node.input().begin(), node.input().end(), comes_later) ||
                  std::any_of(captured.begin(), captured.end(), comes_later);
  return node;
}

const proto::NodeProto& GraphEdit::add(std::unique_ptr<proto::NodeProto> node) {
  names_.try_emplace(node->name());
  slots_.push_back({node.get(), std::move(node)});
  link(slots_.size() - 1);
  out_of_order_ = true;
  changes();
  return *slots_.back().node;
}

void GraphEdit::add_constant(const std::string& name, const Array& data) {
  Name& entry = names_[name];
  added_.push_back(name);
  changes();
  // Below IR 4 an initializer must also be an input, and a graph output needs a node that computes it.
  if (model().ir_version() < 4 || entry.is_output) {
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
  check(entry.weight == none, "a new constant has a new name");
  auto tensor = std::make_unique<proto::TensorProto>(write_tensor(data, name));
  entry.weight = weights_.size();
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
  if (names_.try_emplace(base).second) return base;
  int& number = last_numbers_[base];  // names never become free again
  std::string name;
  do name = fmt::format("{}_{}", base, ++number);
  while (!names_.try_emplace(name).second);
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
      if (!output.empty())
        for (const std::size_t user : find(output).uses) {
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

std::shared_ptr<const ImportedModel> GraphEdit::imported() const {
  if (!imported_) imported_ = std::make_shared<ImportedModel>(import_model(view()));
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
    if (is_graph_input(input.name())) view.inputs.push_back(&input);
  for (const std::size_t slot : order()) view.nodes.push_back(slots_[slot].node);
  for (const Weight& weight : weights_)
    if (weight.tensor != nullptr) view.initializers.push_back(weight.tensor);
  return view;
}

namespace {

/// An operator of ONNX Runtime may be the first of its domain in the model.
void import_domain_of_onnxruntime(proto::ModelProto& model) {
  const auto is_of_it = [](const proto::NodeProto& node) { return node.domain() == onnxruntime_domain; };
  const auto& nodes = model.graph().node();
  if (opset_of(model, onnxruntime_domain) > 0 || std::none_of(nodes.begin(), nodes.end(), is_of_it)) return;
  auto& opset = *model.add_opset_import();
  opset.set_domain(std::string(onnxruntime_domain));
  opset.set_version(onnxruntime_opset);
}

}  // namespace

/// Applies the edit to the model, or to a copy of it. `take` returns a new node or weight, to be owned by the message.
template <class Edit, class Take>
void GraphEdit::apply(Edit& edit, Model& model, const Take& take) {
  auto& graph = *model.mutable_proto().mutable_graph();
  const bool declares_types = graph.value_info_size() > 0;
  std::unordered_set<std::string> before;
  if (declares_types) collect_values(graph, before);

  // The first slots and weights are those of the message, in its order.
  auto nodes = taken_from(*graph.mutable_node());
  for (const std::size_t slot : edit.order()) {
    auto& added = edit.slots_[slot].owned;
    graph.mutable_node()->AddAllocated(added ? take(added) : nodes[slot].release());
  }
  import_domain_of_onnxruntime(model.mutable_proto());
  auto tensors = taken_from(*graph.mutable_initializer());
  for (std::size_t i = 0; i < edit.weights_.size(); ++i) {
    auto& weight = edit.weights_[i];
    if (weight.tensor == nullptr) continue;
    if (weight.owned) model.note_new_weight(weight.owned->name());
    graph.mutable_initializer()->AddAllocated(weight.owned ? take(weight.owned) : tensors[i].release());
  }

  keep_if(*graph.mutable_input(), [&](const auto& input) { return edit.is_graph_input(input.name()); });
  if (!declares_types) return;
  // Drop declared types of values that no longer exist.
  std::unordered_set<std::string> after;
  collect_values(graph, after);
  keep_if(*graph.mutable_value_info(),
          [&](const auto& info) { return after.contains(info.name()) || !before.contains(info.name()); });
}

Model GraphEdit::commit(std::unique_ptr<GraphEdit> edit, Model model) {
  check(edit->proto_ == &model.proto(), "an edit is committed to the model that it was made for");
  if (edit->changed_) apply(*edit, model, [](auto& added) { return added.release(); });
  return model;
}

Model GraphEdit::edited_copy(const Model& model) const {
  check(proto_ == &model.proto(), "an edit is applied to the model that it was made for");
  Model copy = model.copy();
  if (changed_) apply(*this, copy, []<class Item>(const std::unique_ptr<Item>& added) { return new Item(*added); });
  return copy;
}

void GraphEdit::forget_imported() const {
  imported_.reset();
  forgotten_.clear();
}

}  // namespace taso::onnx
