// Puts the branch that an If takes in its place, if the condition is known.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "onnx/cleanup/passes.h"
#include "onnx/import/branches.h"
#include "onnx/import/node_body.h"
#include "onnx/import/taken_branches.h"
#include "onnx/model/attributes.h"
#include "onnx/model/external_data.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx::cleanup {
namespace {

using Names = std::unordered_map<std::string, std::string>;

/// From this opset on Identity takes values of all types.
constexpr std::int64_t opset_of_general_identity = 16;

template <class Node, class Visit>
void for_each_subgraph(Node& node, Visit&& visit) {
  if constexpr (std::is_const_v<Node>) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g());
      for (const auto& graph : attribute.graphs()) visit(graph);
    }
  } else {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) visit(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) visit(graph);
    }
  }
}

/// Calls `visit` for the name of every value that the graph itself defines.
template <class Visit>
void for_each_definition(const proto::GraphProto& graph, Visit&& visit) {
  for (const auto& input : graph.input()) visit(input.name());
  for (const auto& tensor : graph.initializer()) visit(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) visit(tensor.values().name());
  for (const auto& node : graph.node())
    for (const std::string& output : node.output())
      if (!output.empty()) visit(output);
}

/// The names that the subgraphs of a graph's nodes define.
void collect_names_inside(const proto::GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const auto& node : graph.node())
    for_each_subgraph(node, [&](const proto::GraphProto& inner) {
      for_each_definition(inner, [&](const std::string& name) { names.insert(name); });
      collect_names_inside(inner, names);
    });
}

void rename(std::string& name, const Names& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

/// Renames all values that the subgraphs take from outside, at once.
void rename_captured(proto::NodeProto& node, const Names& names) {
  for_each_subgraph(node, [&](proto::GraphProto& graph) {
    Names visible = names;
    for_each_definition(graph, [&](const std::string& name) { visible.erase(name); });
    for (auto& inner : *graph.mutable_node()) {
      for (auto& input : *inner.mutable_input()) rename(input, visible);
      rename_captured(inner, visible);
    }
    for (auto& output : *graph.mutable_output()) rename(*output.mutable_name(), visible);
  });
}

class Inlining {
 public:
  Inlining(const Context& context, const proto::NodeProto& node, const proto::GraphProto& branch)
      : edit_(context.edit),
        imported_(context.imported),
        memory_limit_(context.options.memory_limit),
        branch_(branch),
        owner_(name_of(node)),
        results_(node.output().begin(), node.output().end()),
        opset_(opset_of(context.edit.model(), node)) {}

  /// Whether the main graph can express all of the branch.
  bool is_possible() const {
    if (branch_.output_size() < static_cast<int>(results_.size()) || branch_.input_size() > 0) return false;
    if (branch_.sparse_initializer_size() > 0 || branch_.quantization_annotation_size() > 0) return false;
    std::size_t external = 0;
    for (const auto& tensor : branch_.initializer())
      if (is_external(tensor)) external += raw_bytes_of(tensor).value_or(memory_limit_);
    if (external > memory_limit_) return false;
    return std::all_of(results_.begin(), results_.end(), [&](const std::string& result) {
      return result.empty() || opset_ >= opset_of_general_identity ||
             imported_.values.at(result).type().element != ElementType::undefined;
    });
  }

  /// Adds the contents of the branch. The node must have been removed.
  void run() {
    choose_names();
    for (const auto& tensor : branch_.initializer())
      edit_.add_constant(names_.at(tensor.name()), read_tensor(tensor, edit_.folder()));
    for (const auto& inner : branch_.node()) add_node(inner);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      std::string from = branch_.output(static_cast<int>(i)).name();
      rename(from, names_);
      if (results_[i].empty() || from == results_[i]) continue;
      auto identity = std::make_unique<proto::NodeProto>();
      identity->set_op_type("Identity");
      identity->set_name(edit_.fresh_name(results_[i] + "/Identity"));
      identity->add_input(from);
      identity->add_output(results_[i]);
      edit_.add(std::move(identity));
    }
  }

 private:
  /// A value that is a result of the If has its name, if a node of the branch computes it.
  void choose_names() {
    std::unordered_set<std::string> computed, inside;
    for (const auto& node : branch_.node()) computed.insert(node.output().begin(), node.output().end());
    collect_names_inside(branch_, inside);
    for (std::size_t i = 0; i < results_.size(); ++i)
      if (const std::string& name = branch_.output(static_cast<int>(i)).name();
          !results_[i].empty() && computed.contains(name) && !inside.contains(results_[i]))
        names_.emplace(name, results_[i]);
    for_each_definition(branch_, [&](const std::string& name) {
      if (!names_.contains(name)) names_.emplace(name, edit_.fresh_name(fmt::format("{}/{}", owner_, name)));
    });
  }

  void add_node(const proto::NodeProto& inner) {
    auto node = std::make_unique<proto::NodeProto>(inner);
    if (!node->name().empty()) node->set_name(edit_.fresh_name(fmt::format("{}/{}", owner_, node->name())));
    for (auto& input : *node->mutable_input()) rename(input, names_);
    for (auto& output : *node->mutable_output()) rename(output, names_);
    rename_captured(*node, names_);
    edit_.add(std::move(node));
  }

  GraphEdit& edit_;
  const ImportedModel& imported_;
  std::size_t memory_limit_;
  const proto::GraphProto& branch_;
  std::string owner_;                 // the first result of the If
  std::vector<std::string> results_;  // of the If
  std::int64_t opset_;
  Names names_;  // of the values of the branch: inside, and in the main graph
};

using Inside = std::unordered_set<std::string>;  // names that enclosing branches define

std::optional<bool> condition_of(const Decisions& decisions, const proto::NodeProto& node, const Inside& inside) {
  if (node.input_size() != 1 || inside.contains(node.input(0))) return std::nullopt;
  const auto decided = decisions.find(&node);
  return decided == decisions.end() ? std::nullopt : std::optional(decided->second);
}

const proto::GraphProto& taken(const Branches& branches, bool condition) {
  return condition ? *branches.then_branch : *branches.else_branch;
}

/// Whether all that the branch does is known from outside: the conditions of all Ifs inside, and there are no loops.
/// Otherwise the check could not follow.
bool is_determined(const Decisions& decisions, const proto::GraphProto& branch, Inside inside) {
  for_each_definition(branch, [&](const std::string& name) { inside.insert(name); });
  return std::all_of(branch.node().begin(), branch.node().end(), [&](const proto::NodeProto& node) {
    if (!has_subgraph(node)) return true;
    const auto branches = branches_of(node);
    const auto condition = branches ? condition_of(decisions, node, inside) : std::nullopt;
    return condition && is_determined(decisions, taken(*branches, *condition), inside);
  });
}

/// The branch that is taken whatever the inputs are; null if that is not known.
const proto::GraphProto* taken_branch(const Context& context, const Decisions& decisions,
                                      const proto::NodeProto& node) {
  const auto branches = branches_of(node);
  // The check runs a node that changes, so it must be able to.
  if (!branches || !obstacle_of(context.edit.model(), node).empty()) return nullptr;
  const auto condition = condition_of(decisions, node, {});
  if (!condition || !is_determined(decisions, taken(*branches, *condition), {})) return nullptr;
  return &taken(*branches, *condition);
}

}  // namespace

void dead_branches(const Context& context) {
  const ModelView view = context.edit.view();
  if (std::none_of(view.nodes.begin(), view.nodes.end(), [](const auto* node) { return branches_of(*node); })) return;
  const Decisions decisions = decided_branches(view, [](const std::string&) { return true; });
  context.edit.for_each_node([&](const proto::NodeProto& node) {
    const proto::GraphProto* const branch = taken_branch(context, decisions, node);
    if (branch == nullptr) return;
    Inlining inlining(context, node, *branch);
    if (!inlining.is_possible()) return;
    context.done.push_back(name_of(node));
    context.edit.remove(node);
    inlining.run();
  });
}

}  // namespace taso::onnx::cleanup
