// Changes to a model, laid over it: the message that was read stays as it is until the edits are committed, so that the
// two can be compared, and what nobody touched comes out as it went in.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx/import/import.h"
#include "onnx/import/view.h"
#include "onnx/model/model.h"

namespace taso::onnx {

class GraphEdit {
 public:
  /// Starts with no change. The model must outlive the edit, or be handed to commit().
  explicit GraphEdit(const Model& model);
  GraphEdit(const GraphEdit&) = delete;
  GraphEdit& operator=(const GraphEdit&) = delete;
  ~GraphEdit();

  /// The model as edited so far; stays valid until the next edit.
  ModelView view() const;
  /// The graph of the model as edited so far. Imported once, until an edit changes what is computed.
  std::shared_ptr<const Imported> imported() const;
  const proto::ModelProto& model() const { return *proto_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Calls `visit` for each node that is there now, in its form at the time; nodes added meanwhile are not visited.
  template <class Visit>
  void for_each_node(Visit&& visit) {
    for (const proto::NodeProto* node : view().nodes)
      if (const proto::NodeProto* now = current(*node)) visit(*now);
  }
  bool changed() const { return changed_; }

  bool is_graph_input(const std::string& name) const { return graph_inputs_.contains(name); }
  bool is_graph_output(const std::string& name) const { return graph_outputs_.contains(name); }
  /// Whether the model speaks of that name outside of nodes, in a quantization annotation: then it has to stay.
  bool is_pinned(const std::string& name) const { return pinned_.contains(name); }
  /// The node that computes a value; null if none does.
  const proto::NodeProto* producer(const std::string& name) const;
  const proto::TensorProto* initializer(const std::string& name) const;
  /// How often a value is used: by operands, by subgraphs that capture it, as graph output.
  std::size_t uses(const std::string& name) const;
  /// The nodes that use it, each once, in order.
  std::vector<const proto::NodeProto*> consumers(const std::string& name) const;
  /// An initializer or Constant node whose data nobody can override.
  const proto::TensorProto* constant(const std::string& name) const;

  /// What a node of an earlier view has become; null if it was removed.
  const proto::NodeProto* current(const proto::NodeProto& node) const { return slots_[slot_of(node)].node; }
  void remove(const proto::NodeProto& node);
  /// Below IR 4 the entry among the graph's inputs goes with it: there such an input is a constant like any other.
  void remove_initializer(const std::string& name);
  /// A copy that may be changed through `change`; the node given is then no longer part of the edit.
  template <class Change>
  const proto::NodeProto& modify(const proto::NodeProto& node, Change&& change) {
    proto::NodeProto& copy = begin_modify(node);
    change(copy);
    return end_modify(copy);
  }
  /// A new node; it may stand anywhere, the order is put right by view() and commit().
  const proto::NodeProto& add(std::unique_ptr<proto::NodeProto> node);
  /// A new constant under that name, in the form that the model's version allows there.
  void add_constant(const std::string& name, const Array& data);
  /// Takes back the constants that were added and that nothing uses by now.
  void remove_unused_additions();
  /// Whether replace_uses would keep its meaning: no subgraph that uses `from` has a value `to` of its own.
  bool can_replace_uses(const std::string& from, const std::string& to) const;
  /// Whoever used `from` uses `to`, subgraphs included; graph outputs keep their names.
  void replace_uses(const std::string& from, const std::string& to);
  /// A name that nothing in the model has, made from `base`.
  std::string fresh_name(const std::string& base);

  /// The edited model. `model` must be the very one that this edit was made for, not a copy; the edit is used up.
  static Model commit(std::unique_ptr<GraphEdit> edit, Model model);

 private:
  struct Slot {
    const proto::NodeProto* node = nullptr;   // null when removed
    std::unique_ptr<proto::NodeProto> owned;  // set for nodes that are not the message's own
  };
  struct Weight {
    const proto::TensorProto* tensor = nullptr;
    std::unique_ptr<proto::TensorProto> owned;
  };

  void link(std::size_t slot);
  void unlink(std::size_t slot);
  std::size_t slot_of(const proto::NodeProto& node) const;
  proto::NodeProto& begin_modify(const proto::NodeProto& node);
  const proto::NodeProto& end_modify(proto::NodeProto& node);
  std::vector<std::size_t> order() const;
  void changes();
  void forget(const std::string& name);

  const proto::ModelProto* proto_;
  std::filesystem::path folder_;
  std::vector<Slot> slots_;
  std::vector<Weight> weights_;
  std::vector<std::unique_ptr<proto::NodeProto>> discarded_;               // what earlier views may still point to
  std::unordered_map<const proto::NodeProto*, std::size_t> slot_by_node_;  // earlier forms of a node too
  std::unordered_map<std::string, std::size_t> slot_by_output_;
  std::unordered_map<std::string, std::size_t> weight_by_name_;
  std::unordered_map<std::string, std::vector<std::size_t>> uses_;  // name → slots, once per use
  std::unordered_set<std::string> graph_inputs_, graph_outputs_;
  std::vector<std::string> added_;                     // constants
  std::unordered_set<std::string> pinned_;             // names that the model uses outside of nodes
  std::unordered_set<std::string> names_;              // every name there is or was, also in subgraphs
  std::unordered_map<std::string, int> last_numbers_;  // of fresh names, by what they are made of
  mutable std::shared_ptr<Imported> imported_;         // null if it has to be imported again
  mutable std::vector<std::string> forgotten_;         // names that it has and the model has no longer
  bool changed_ = false;
  bool out_of_order_ = false;
};

}  // namespace taso::onnx
