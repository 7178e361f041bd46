// Passes that compute known values ahead of time.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "onnx/cleanup/passes.h"
#include "onnx/import/node_body.h"
#include "onnx/model/attributes.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx::cleanup {
namespace {

template <std::size_t N>
bool one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Nodes whose results tell a runtime where to compute in integers, or take more space than their operands.
bool stays(std::string_view op_type) {
  static constexpr std::array<std::string_view, 4> quantised = {"QuantizeLinear", "DequantizeLinear",
                                                                "DynamicQuantizeLinear", "Constant"};
  return one_of(quantised, op_type) || op_type.starts_with("QLinear");
}

bool repeats_itself(std::string_view op_type) {
  static constexpr std::array<std::string_view, 7> names = {"ConstantOfShape", "Expand",  "Tile",    "Range",
                                                            "OneHot",          "EyeLike", "Upsample"};
  return one_of(names, op_type);
}

/// Results that only repeat a few numbers are folded up to this many bytes.
constexpr std::size_t repetition_limit = 64;
/// Constants are computed by the operators' plain definitions, the same on every machine. This bounds the time.
constexpr double flops_limit = 1e8;

std::optional<std::size_t> bytes_of(const Type& type) {
  if (!type.shape || type.element == ElementType::undefined) return std::nullopt;
  const auto extents = static_extents(*type.shape);
  if (!extents) return std::nullopt;
  try {
    return static_cast<std::size_t>(count(*extents)) * size_of(type.element);
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

/// The bytes of constants that only this node uses.
std::size_t freed_bytes(const GraphEdit& edit, const proto::NodeProto& node) {
  std::size_t bytes = 0;
  std::set<std::string> seen;
  for (const std::string& input : node.input()) {
    if (input.empty() || !seen.insert(input).second) continue;
    const auto here = static_cast<std::size_t>(std::count(node.input().begin(), node.input().end(), input));
    if (edit.uses(input) == here) bytes += raw_bytes_of(*edit.constant(input)).value_or(0);
  }
  return bytes;
}

/// The work to compute a value from constants. One ONNX node may stand for several operators.
double flops_of(const Value& value) {
  double flops = 0;
  std::vector<const Node*> stack{value.node};
  std::unordered_set<const Node*> seen{value.node};
  while (!stack.empty()) {
    const Node& node = *stack.back();
    stack.pop_back();
    if (node.as_operator() == nullptr) continue;
    Shapes shapes;
    for (const Value& operand : node.inputs()) {
      shapes.push_back(operand.shape());
      if (seen.insert(operand.node).second) stack.push_back(operand.node);
    }
    flops += work_of(*node.as_operator(), shapes).flops;
  }
  return flops;
}

/// An upper bound of the same, in which a value that is used several times counts each time. Every bound is computed
/// once: in a long chain of constants each node asks for all nodes before it.
class MostFlops {
 public:
  double of(const Value& value) {
    std::vector<const Node*> stack{value.node};
    while (!stack.empty()) {
      const Node& node = *stack.back();
      const Operator* const op = node.as_operator();
      const std::size_t before = stack.size();
      double flops = 0;
      Shapes shapes;
      if (op != nullptr && !known_.contains(&node)) {
        for (const Value& operand : node.inputs()) {
          shapes.push_back(operand.shape());
          if (const auto known = known_.find(operand.node); known != known_.end())
            flops += known->second;
          else
            stack.push_back(operand.node);
        }
        if (stack.size() > before) continue;
        flops += work_of(*op, shapes).flops;
      }
      stack.pop_back();
      known_.try_emplace(&node, flops);
    }
    return known_.at(value.node);
  }

 private:
  std::unordered_map<const Node*, double> known_;
};

/// Host functions that, at worst, visit every combination of elements of their operands.
bool multiplies_elements(std::string_view op_type) {
  static constexpr std::array<std::string_view, 13> names = {
      "Einsum", "ConvTranspose", "ConvInteger", "MatMulInteger", "DeformConv",       "DFT", "STFT", "RNN",
      "GRU",    "LSTM",          "Attention",   "Resize",        "NonMaxSuppression"};
  return one_of(names, op_type);
}

double combinations(const GraphEdit& edit, const proto::NodeProto& node) {
  double product = 1;
  for (const std::string& input : node.input())
    if (!input.empty())
      product *= std::max<double>(static_cast<double>(raw_bytes_of(*edit.constant(input)).value_or(0)), 1);
  return product;
}

/// The bytes of the node's results; nothing if they are not known, or take too much work.
std::optional<std::size_t> result_bytes(const Context& context, const proto::NodeProto& node, MostFlops& most_flops) {
  std::size_t results = 0;
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    const Value& value = context.imported.values.at(output);
    const auto bytes = bytes_of(value.type());
    if (!bytes) return std::nullopt;
    results += *bytes;
    if (most_flops.of(value) > flops_limit && flops_of(value) > flops_limit) return std::nullopt;
  }
  return results;
}

bool worth_folding(const Context& context, const proto::NodeProto& node, MostFlops& most_flops) {
  const auto known = result_bytes(context, node, most_flops);
  if (!known) return false;
  const std::size_t results = *known;
  std::size_t operands = 0;
  for (const std::string& input : node.input())
    if (!input.empty()) operands += raw_bytes_of(*context.edit.constant(input)).value_or(0);
  if (operands > context.options.memory_limit || results > context.options.memory_limit) return false;
  if (multiplies_elements(node.op_type()) && combinations(context.edit, node) > flops_limit) return false;
  if (repeats_itself(node.op_type())) return results <= repetition_limit;
  return results <= context.options.fold_limit || results <= freed_bytes(context.edit, node);
}

void replace_by_constants(GraphEdit& edit, const proto::NodeProto& node, const std::vector<Array>& results) {
  const std::vector<std::string> outputs(node.output().begin(), node.output().end());
  edit.remove(node);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].empty() && edit.uses(outputs[i]) > 0) edit.add_constant(outputs[i], results[i]);
}

/// Nodes that depend on constants only, and that share results or constants.
struct Cluster {
  std::vector<const proto::NodeProto*> nodes;  ///< operands first
  std::size_t made = 0;                        ///< bytes of the results that other nodes use
  std::size_t freed = 0;                       ///< bytes of constants that nothing else uses
};

/// Finds nodes that constant folding left because, one by one, each would enlarge the file.
class Clusters {
 public:
  explicit Clusters(const Context& context) : context_(context) {
    GraphEdit& edit = context.edit;
    edit.for_each_node([&](const proto::NodeProto& node) {
      if (can_fold(node)) add(node);
    });
  }

  std::vector<Cluster> all() {
    std::unordered_map<std::size_t, std::size_t> place;
    std::vector<Cluster> clusters;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto [found, is_new] = place.try_emplace(root(i), clusters.size());
      if (is_new) clusters.emplace_back();
      Cluster& cluster = clusters[found->second];
      cluster.nodes.push_back(nodes_[i]);
      for (const std::string& output : nodes_[i]->output())
        if (!output.empty() && context_.edit.uses(output) > uses_[output])
          cluster.made += *bytes_of(context_.imported.values.at(output).type());
    }
    for (const auto& [name, user] : first_user_)
      if (const proto::TensorProto* tensor = context_.edit.constant(name);
          tensor != nullptr && context_.edit.uses(name) == uses_[name])
        clusters[place.at(root(user))].freed += raw_bytes_of(*tensor).value_or(0);
    return clusters;
  }

 private:
  /// Constants up to this size do not connect nodes: many nodes share an axis or a number.
  static constexpr std::size_t tiny = 64;

  bool can_fold(const proto::NodeProto& node) {
    const GraphEdit& edit = context_.edit;
    if (stays(node.op_type()) || !is_deterministic(node, opset_of(edit.model(), node))) return false;
    std::size_t operands = 0;
    double product = 1;
    for (const std::string& name : node.input()) {
      if (name.empty()) continue;
      std::optional<std::size_t> bytes;
      if (computed_.contains(name))
        bytes = bytes_of(context_.imported.values.at(name).type());
      else if (edit.constant(name) != nullptr)
        bytes = raw_bytes_of(*edit.constant(name));
      if (!bytes) return false;
      operands += *bytes;
      product *= static_cast<double>(std::max<std::size_t>(*bytes, 1));
    }
    const auto results = result_bytes(context_, node, most_flops_);
    const std::size_t most = context_.options.memory_limit;
    return results && operands <= most && *results <= most &&
           !(multiplies_elements(node.op_type()) && product > flops_limit);
  }

  void add(const proto::NodeProto& node) {
    const std::size_t place = nodes_.size();
    nodes_.push_back(&node);
    parent_.push_back(place);
    for (const std::string& name : node.input()) {
      if (name.empty()) continue;
      ++uses_[name];
      const proto::TensorProto* const constant = context_.edit.constant(name);
      if (constant != nullptr && raw_bytes_of(*constant).value_or(0) <= tiny) continue;
      const auto [user, is_new] = first_user_.try_emplace(name, place);
      if (!is_new) parent_[root(place)] = root(user->second);
      if (const auto maker = computed_.find(name); maker != computed_.end()) parent_[root(place)] = root(maker->second);
    }
    for (const std::string& name : node.output())
      if (!name.empty()) computed_.emplace(name, place);
  }

  std::size_t root(std::size_t place) {
    while (parent_[place] != place) place = parent_[place] = parent_[parent_[place]];
    return place;
  }

  const Context& context_;
  MostFlops most_flops_;
  std::vector<const proto::NodeProto*> nodes_;
  std::vector<std::size_t> parent_;
  std::unordered_map<std::string, std::size_t> computed_, first_user_, uses_;  // uses: by these nodes
};

/// Computes all results of a cluster; nothing if one cannot be computed here.
std::optional<std::unordered_map<std::string, Array>> results_of(const Context& context, const Cluster& cluster) {
  const GraphEdit& edit = context.edit;
  std::unordered_map<std::string, Array> known;
  try {
    const ArrayLimit limit(4 * context.options.memory_limit);
    for (const proto::NodeProto* node : cluster.nodes) {
      std::vector<std::optional<Array>> operands;
      for (const std::string& name : node->input()) {
        operands.emplace_back();
        if (name.empty()) continue;
        const auto found = known.find(name);
        operands.back() = found != known.end() ? found->second : read_tensor(*edit.constant(name), edit.folder());
      }
      const std::vector<Array> results =
          run_node(*node, opset_of(edit.model(), *node), edit.folder(), operands, {.threads = 1, .plain = true});
      for (int i = 0; i < node->output_size(); ++i)
        if (!node->output(i).empty()) known.insert_or_assign(node->output(i), results[static_cast<std::size_t>(i)]);
    }
  } catch (const InputError&) {
    return std::nullopt;
  }
  return known;
}

/// The result of a node whose contents are known numbers although its operands are not constants.
std::optional<Array> known_contents(const runtime::Fact& fact) {
  if (!fact.content || !fact.type.shape || fact.type.shape->size() > 1) return std::nullopt;
  if (fact.type.element != ElementType::int64 && fact.type.element != ElementType::int32) return std::nullopt;
  const auto numbers = static_extents(*fact.content);
  if (!numbers) return std::nullopt;
  const Extents extents = fact.type.shape->empty() ? Extents{} : Extents{static_cast<std::int64_t>(numbers->size())};
  if (count(extents) != static_cast<std::int64_t>(numbers->size())) return std::nullopt;
  return Array::of<std::int64_t>(extents, *numbers).cast(fact.type.element);
}

}  // namespace

void shape_arithmetic(const Context& context) {
  GraphEdit& edit = context.edit;
  edit.for_each_node([&](const proto::NodeProto& node) {
    if (stays(node.op_type()) || !is_deterministic(node, opset_of(edit.model(), node))) return;
    // If all operands are constant, constant folding handles the node.
    const bool constant = std::all_of(node.input().begin(), node.input().end(), [&](const std::string& name) {
      return name.empty() || edit.constant(name) != nullptr;
    });
    if (constant || node.output_size() != 1 || edit.uses(node.output(0)) == 0) return;
    const auto known = context.imported.facts.find(node.output(0));
    const auto result = known == context.imported.facts.end() ? std::nullopt : known_contents(known->second);
    if (!result) return;
    context.done.push_back(name_of(node));
    replace_by_constants(edit, node, {*result});
  });
}

void constant_folding(const Context& context) {
  GraphEdit& edit = context.edit;
  MostFlops most_flops;
  edit.for_each_node([&](const proto::NodeProto& node) {
    const std::int64_t opset = opset_of(edit.model(), node);
    if (stays(node.op_type()) || !is_deterministic(node, opset)) return;
    const bool constant = std::all_of(node.input().begin(), node.input().end(), [&](const std::string& name) {
      return name.empty() || (edit.constant(name) != nullptr && raw_bytes_of(*edit.constant(name)).has_value());
    });
    if (!constant || !worth_folding(context, node, most_flops)) return;
    std::vector<Array> results;
    try {
      const ArrayLimit limit(4 * context.options.memory_limit);  // for what the node computes on the way
      std::vector<std::optional<Array>> operands;
      for (const std::string& name : node.input()) {
        operands.emplace_back();
        if (!name.empty()) operands.back() = read_tensor(*edit.constant(name), edit.folder());
      }
      results = run_node(node, opset, edit.folder(), operands, {.threads = 1, .plain = true});
    } catch (const InputError&) {
      return;  // not computable here: left to the runtime
    }
    context.done.push_back(name_of(node));
    replace_by_constants(edit, node, results);
  });
}

void cluster_folding(const Context& context) {
  GraphEdit& edit = context.edit;
  for (const Cluster& cluster : Clusters(context).all()) {
    const std::size_t growth = cluster.made > cluster.freed ? cluster.made - cluster.freed : 0;
    if (growth > context.growth_left) continue;
    const auto results = results_of(context, cluster);
    if (!results) continue;
    context.growth_left -= growth;
    for (auto node = cluster.nodes.rbegin(); node != cluster.nodes.rend(); ++node) {
      context.done.push_back(name_of(**node));
      std::vector<Array> own;
      for (const std::string& output : (*node)->output()) own.push_back(output.empty() ? Array() : results->at(output));
      replace_by_constants(edit, **node, own);
    }
  }
}

}  // namespace taso::onnx::cleanup
