// Edits of a model, kept beside it. The message that was read stays unchanged until the edits are committed, so that
// both can be compared, and untouched parts are written exactly as they were read.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/import/import.h"
#include "onnx/import/view.h"
#include "onnx/model/model.h"

namespace taso::onnx {

class GraphEdit {
 public:
  /// Starts without changes. The model must outlive the edit, or be passed to commit().
  explicit GraphEdit(const Model& model);
  GraphEdit(const GraphEdit&) = delete;
  GraphEdit& operator=(const GraphEdit&) = delete;
  ~GraphEdit();

  /// The model as edited so far; stays valid until the next edit.
  ModelView view() const;
  /// The graph of the model as edited so far. Imported once, until an edit changes what is computed.
  std::shared_ptr<const ImportedModel> imported() const;
  const proto::ModelProto& model() const { return *proto_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Calls `visit` for each present node, in its form at that moment; nodes added meanwhile are not visited.
  template <class Visit>
  void for_each_node(Visit&& visit) {
    for (const std::size_t slot : order())
      if (const proto::NodeProto* now = slots_[slot].node) visit(*now);
  }
  bool changed() const { return changed_; }

  bool is_graph_input(const std::string& name) const { return find(name).is_input; }
  bool is_graph_output(const std::string& name) const { return find(name).is_output; }
  /// Whether the model uses the name outside of nodes, in a quantization annotation: then it must stay.
  bool is_pinned(const std::string& name) const { return find(name).is_pinned; }
  /// The node that computes a value; null if none does.
  const proto::NodeProto* producer(const std::string& name) const;
  const proto::TensorProto* initializer(const std::string& name) const;
  /// How many times a value is used: by operands, by subgraphs that capture it, as a graph output.
  std::size_t uses(const std::string& name) const { return uses(find(name)); }
  /// The nodes that use the value, each once, in order.
  std::vector<const proto::NodeProto*> consumers(const std::string& name) const;
  /// The data of an initializer or Constant node that cannot be overridden; null otherwise.
  const proto::TensorProto* constant(const std::string& name) const;

  /// The present form of a node of an earlier view; null if it was removed.
  const proto::NodeProto* current(const proto::NodeProto& node) const { return slots_[slot_of(node)].node; }
  void remove(const proto::NodeProto& node);
  /// Below IR 4 this also removes the entry among the graph's inputs: there such an input is a constant like any other.
  void remove_initializer(const std::string& name);
  /// Replaces a node by a copy that `change` modifies; the given node is then no longer part of the edit.
  template <class Change>
  const proto::NodeProto& modify(const proto::NodeProto& node, Change&& change) {
    proto::NodeProto& copy = begin_modify(node);
    change(copy);
    return end_modify(copy);
  }
  /// Adds a node at any place; view() and commit() put the nodes in order.
  const proto::NodeProto& add(std::unique_ptr<proto::NodeProto> node);
  /// Adds a constant of that name, in the form that the model's version allows.
  void add_constant(const std::string& name, const Array& data);
  /// Removes added constants that nothing uses any more.
  void remove_unused_additions();
  /// Whether replace_uses is valid: no subgraph that uses `from` has a value `to` of its own.
  bool can_replace_uses(const std::string& from, const std::string& to) const;
  /// Makes every user of `from` use `to`, including subgraphs; graph outputs keep their names.
  void replace_uses(const std::string& from, const std::string& to);
  /// A name derived from `base` that nothing in the model has.
  std::string fresh_name(const std::string& base);

  /// The edited model. `model` must be the one that this edit was made for, not a copy. The edit is consumed.
  static Model commit(std::unique_ptr<GraphEdit> edit, Model model);
  /// The same as a copy; the model and the edit stay as they are.
  Model edited_copy(const Model& model) const;
  /// Frees the graph that imported() keeps.
  void forget_imported() const;

 private:
  struct Slot {
    const proto::NodeProto* node = nullptr;   // null when removed
    std::unique_ptr<proto::NodeProto> owned;  // set for nodes that do not belong to the message
  };
  struct Weight {
    const proto::TensorProto* tensor = nullptr;
    std::unique_ptr<proto::TensorProto> owned;
  };
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  /// What a name stands for at present. One table with everything saves most of the searches by name.
  struct Name {
    std::size_t producer = none;    // the slot of the node that computes it
    std::size_t weight = none;      // the place of the initializer
    std::vector<std::size_t> uses;  // the slots of the nodes that use it, once per use
    bool is_input = false, is_output = false;
    bool is_pinned = false;  // the model uses it outside of nodes
  };

  const Name& find(const std::string& name) const;
  static std::size_t uses(const Name& name) {
    return name.uses.size() + (name.is_output ? 1 : 0) + (name.is_pinned ? 1 : 0);
  }
  void link(std::size_t slot);
  void unlink(std::size_t slot);
  std::size_t slot_of(const proto::NodeProto& node) const;
  proto::NodeProto& begin_modify(const proto::NodeProto& node);
  const proto::NodeProto& end_modify(proto::NodeProto& node);
  std::vector<std::size_t> order() const;
  void changes();
  void forget(const std::string& name);
  template <class Edit, class Take>
  static void apply(Edit& edit, Model& model, const Take& take);

  const proto::ModelProto* proto_;
  std::filesystem::path folder_;
  std::vector<Slot> slots_;
  std::vector<Weight> weights_;
  std::vector<std::unique_ptr<proto::NodeProto>> discarded_;               // nodes that earlier views may point to
  std::unordered_map<const proto::NodeProto*, std::size_t> slot_by_node_;  // includes earlier forms of a node
  std::unordered_map<std::string, Name> names_;        // every name there is or was, also in subgraphs
  std::vector<std::string> added_;                     // constants
  std::unordered_map<std::string, int> last_numbers_;  // of fresh names, by what they are made of
  mutable std::shared_ptr<ImportedModel> imported_;    // null if it has to be imported again
  mutable std::vector<std::string> forgotten_;         // names that it has and the model has no longer
  bool changed_ = false;
  bool out_of_order_ = false;
};

}  // namespace taso::onnx
