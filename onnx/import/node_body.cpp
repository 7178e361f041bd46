#include "onnx/import/node_body.h"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/export/rewiring.h"
#include "onnx/import/branches.h"
#include "onnx/import/foreign_text.h"
#include "onnx/import/view.h"
#include "onnx/lowering/lowering.h"
#include "onnx/model/attributes.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_content.h"
#include "onnx/model/tensor_data.h"
#include "ops/graph/foreign_node.h"
#include "ops/graph/plain_function.h"

namespace taso::onnx {
namespace {

bool is_random(const proto::NodeProto& node) {
  static constexpr std::array<std::string_view, 6> names = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                                            "RandomUniformLike", "Multinomial",      "Bernoulli"};
  return std::find(names.begin(), names.end(), node.op_type()) != names.end();
}

[[noreturn]] void refuse_to_run(const proto::NodeProto& node, std::string_view obstacle) {
  throw InputError(fmt::format("{} cannot be run: {}", node.op_type(), obstacle));
}

class NodeBody final : public OpaqueBody, public ForeignNode {
 public:
  NodeBody(const proto::NodeProto& node, std::int64_t opset, std::filesystem::path folder, std::string obstacle,
           Constants constants = {})
      : node_(&node),
        opset_(opset),
        folder_(std::move(folder)),
        constants_(std::move(constants)),
        obstacle_(std::move(obstacle)) {
    if (obstacle_.empty() && !has_subgraph(node) && node.op_type() != "Constant")
      function_ = PlainFunction{node.op_type(), opset_, read_attributes(node, folder_), constants_};
  }

  const std::string& foreign_text() const override {
    std::call_once(has_text_, [&] { text_ = text_of_foreign(*node_, opset_, folder_, constants_); });
    return text_;
  }
  BodyParts parts() const { return {*node_, opset_, folder_, constants_}; }

  std::string obstacle() const override { return obstacle_; }
  std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const override {
    if (!obstacle_.empty()) refuse_to_run(*node_, obstacle_);
    return run_node(*node_, opset_, folder_, inputs);
  }
  std::optional<PlainMovement> movement() const override {
    if (!is_default_domain(node_->domain()) || opset_ < 7 || !has_operands()) return std::nullopt;
    if (node_->op_type() == "Cast" || node_->op_type() == "CastLike")
      return PlainMovement{PlainMovement::Kind::cast, 0};
    if (node_->op_type() == "Expand") return PlainMovement{PlainMovement::Kind::expand, 0};
    if (node_->op_type() != "Gather") return std::nullopt;
    PlainMovement gather{PlainMovement::Kind::gather, 0};
    for (const auto& attribute : node_->attribute())
      if (attribute.name() == "axis") gather.axis = attribute.i();
    return gather;
  }
  const PlainFunction* function() const override { return function_ ? &*function_ : nullptr; }
  bool is_deterministic() const override { return onnx::is_deterministic(*node_, opset_); }
  bool has_programs() const override { return has_subgraph(*node_); }
  bool same(const OpaqueBody& other) const override {
    const auto* node = dynamic_cast<const NodeBody*>(&other);
    return node != nullptr && node->opset_ == opset_ && node->node_->op_type() == node_->op_type() &&
           node->node_->domain() == node_->domain() && has_attributes_of(*node);
  }
  std::optional<OperandPairs> agreement(const OpaqueBody& other) const override {
    const auto* node = dynamic_cast<const NodeBody*>(&other);
    if (node == nullptr || node->opset_ != opset_) return std::nullopt;
    const auto names = rewiring_of(content_of(*node_, folder_), content_of(*node->node_, node->folder_));
    if (!names) return std::nullopt;
    const auto ours = places_of_operands(*node_), theirs = places_of_operands(*node->node_);
    OperandPairs pairs;
    for (const auto& [name, other_name] : *names) {
      const auto place = ours.find(name), other_place = theirs.find(other_name);
      if (place == ours.end() || other_place == theirs.end()) return std::nullopt;
      pairs.emplace_back(place->second, other_place->second);
    }
    return pairs;
  }

 private:
  /// Whether its first two operands, or the only one, are present: a kernel reads them.
  bool has_operands() const {
    return node_->input_size() > 0 && !node_->input(0).empty() && (node_->input_size() < 2 || !node_->input(1).empty());
  }
  bool has_attributes_of(const NodeBody& other) const {
    // In the same folder, equal names mean equal data.
    if (folder_ == other.folder_) return attribute_bytes(*node_) == attribute_bytes(*other.node_);
    return attribute_bytes(content_of(*node_, folder_)) == attribute_bytes(content_of(*other.node_, other.folder_));
  }

  const proto::NodeProto* node_;
  std::int64_t opset_;
  std::filesystem::path folder_;
  Constants constants_;
  std::optional<PlainFunction> function_;
  mutable std::once_flag has_text_;
  mutable std::string text_;  // made when it is needed
  std::string obstacle_;      // found while the model is there: it may define functions under ONNX's names
};

/// The node as a graph of our operators, now that the operands are known.
std::optional<Graph> lower_for(const LoweringCall& prototype, const std::vector<std::optional<Array>>& inputs,
                               std::shared_ptr<Pool> pool, std::vector<runtime::Fact>& facts) {
  LoweringCall call = prototype;
  Graph graph{std::move(pool), {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    call.inputs.emplace_back();
    call.facts.push_back(nullptr);
    if (!inputs[i]) continue;
    facts[i] = runtime::Fact{Type{inputs[i]->type(), shape_of(inputs[i]->extents())}, std::nullopt, inputs[i]};
    call.inputs[i] = graph.pool->input(std::to_string(i), facts[i].type);
    call.facts[i] = &facts[i];
    graph.inputs.push_back(call.inputs[i]);
  }
  const Lowered lowered = lower(call);
  if (!lowered) return std::nullopt;
  graph.outputs = *lowered;
  return graph;
}

/// Whether the node is a dropout with a training mode input: training draws random numbers.
bool may_train(const proto::NodeProto& node) {
  return node.op_type() == "Dropout" && node.input_size() > 2 && !node.input(2).empty();
}

using OpsetOf = std::function<std::int64_t(const proto::NodeProto&)>;

std::string obstacle_of(const proto::NodeProto& node, const OpsetOf& opset_of);

/// Why the value of a constant cannot be read; empty if it can.
std::string obstacle_of_constant(const proto::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "sparse_value") return "a sparse constant";
    if (attribute.name() == "value_string" || attribute.name() == "value_strings") return "a constant of string";
    if (attribute.has_t() && element_type_from_onnx(attribute.t().data_type()) == ElementType::undefined)
      return fmt::format("a constant of {}", data_type_name(attribute.t().data_type()));
  }
  return "";
}

/// Why a branch cannot run; empty if it can.
std::string obstacle_inside(const proto::GraphProto& branch, const OpsetOf& opset_of) {
  if (branch.sparse_initializer_size() > 0) return "a sparse constant inside";
  for (const auto& tensor : branch.initializer())
    if (element_type_from_onnx(tensor.data_type()) == ElementType::undefined)
      return fmt::format("a constant of {} inside", data_type_name(tensor.data_type()));
  for (const auto& node : branch.node()) {
    if (node.op_type() == "Constant" && is_default_domain(node.domain()))
      if (const std::string obstacle = obstacle_of_constant(node); !obstacle.empty()) return obstacle + " inside";
    std::string obstacle = obstacle_of(node, opset_of);
    // The caller sees only the If, not whether a node inside draws random numbers.
    if (obstacle.empty() && may_train(node)) obstacle = "it may draw random numbers";
    if (obstacle.empty()) continue;
    return branches_of(node) ? obstacle : fmt::format("{} inside: {}", node.op_type(), obstacle);
  }
  return "";
}

std::string obstacle_of(const proto::NodeProto& node, const OpsetOf& opset_of) {
  const std::int64_t opset = opset_of(node);
  if (!is_default_domain(node.domain())) return fmt::format("operator of domain '{}'", node.domain());
  if (opset == 0) return "operator that the model defines itself";
  if (opset < 7) return "opset before 7";
  if (const auto branches = branches_of(node)) {
    std::string obstacle = obstacle_inside(*branches->then_branch, opset_of);
    return obstacle.empty() ? obstacle_inside(*branches->else_branch, opset_of) : obstacle;
  }
  if (has_subgraph(node)) return "control flow";
  if (is_random(node)) return "random operator";
  if (is_lowered(node.op_type()) || runtime::find_host_function(node.domain(), node.op_type()) != nullptr) return "";
  return "operator not covered";
}

}  // namespace

std::string obstacle_of(const proto::ModelProto& model, const proto::NodeProto& node) {
  return obstacle_of(node, [&](const proto::NodeProto& inner) { return opset_of(model, inner); });
}

std::string obstacle_of(const proto::NodeProto& node, std::int64_t opset) {
  return obstacle_of(node, [opset](const proto::NodeProto&) { return opset; });
}

bool is_deterministic(const proto::NodeProto& node, std::int64_t opset) {
  return !has_subgraph(node) && !may_train(node) && obstacle_of(node, opset).empty();
}

std::vector<Array> run_node(const proto::NodeProto& node, std::int64_t opset, const std::filesystem::path& folder,
                            const std::vector<std::optional<Array>>& inputs,
                            const runtime::InterpreterOptions& options) {
  if (const std::string obstacle = obstacle_of(node, opset); !obstacle.empty()) refuse_to_run(node, obstacle);
  if (const auto branches = branches_of(node)) return run_branches(*branches, node, opset, folder, inputs, options);
  const runtime::Attributes attributes = read_attributes(node, folder);
  const std::size_t outputs = outputs_of(node);
  const auto pool = std::make_shared<Pool>();
  std::vector<runtime::Fact> facts(inputs.size());
  const LoweringCall call{*pool, node.op_type(), opset, attributes, {}, {}, outputs};
  if (const auto graph = lower_for(call, inputs, pool, facts)) {
    std::vector<Array> operands;
    for (const auto& input : inputs)
      if (input) operands.push_back(*input);
    return runtime::interpret(*graph, operands, options);
  }
  const runtime::HostFunction function = runtime::find_host_function(node.domain(), node.op_type());
  if (function == nullptr) {
    std::vector<std::string> types;
    for (const auto& input : inputs)
      types.push_back(input ? text_of(Type{input->type(), shape_of(input->extents())}) : "nothing");
    throw InputError(fmt::format("{} cannot be run on {}", node.op_type(), fmt::join(types, ", ")));
  }
  std::vector<Array> results = function(runtime::HostCall{node.op_type(), opset, attributes, inputs, outputs});
  if (results.size() < outputs)
    throw InputError(fmt::format("{} has {} results, not {}", node.op_type(), results.size(), outputs));
  return results;
}

std::shared_ptr<const OpaqueBody> make_body(const proto::ModelProto& model, const proto::NodeProto& node,
                                            std::filesystem::path folder, Constants constants) {
  return std::make_shared<NodeBody>(node, opset_of(model, node), std::move(folder), obstacle_of(model, node),
                                    std::move(constants));
}

std::shared_ptr<const OpaqueBody> make_body(const proto::NodeProto& node, std::int64_t opset,
                                            std::filesystem::path folder) {
  return std::make_shared<NodeBody>(node, opset, std::move(folder), obstacle_of(node, opset));
}

std::optional<BodyParts> parts_of(const OpaqueBody& body) {
  const auto* const node = dynamic_cast<const NodeBody*>(&body);
  return node != nullptr ? std::optional(node->parts()) : std::nullopt;
}

}  // namespace taso::onnx
