#include "cli/details/model_details.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/plan/plan.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/text/operator_text.h"
#include "runtime/gpu/execution.h"
#include "runtime/pricing/figures.h"

namespace taso::cli {
namespace {

constexpr std::size_t longest_attribute = 120;

template <class Range>
std::string listed(const Range& range) {
  std::string text = "[";
  for (const auto& element : range) {
    if (text.size() > longest_attribute) return text + ", …]";
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "", element);
  }
  return text + "]";
}

std::string text_of_attribute(const proto::AttributeProto& attribute) {
  using Kind = proto::AttributeProto;
  switch (attribute.type()) {
    case Kind::FLOAT: return fmt::format("{}", attribute.f());
    case Kind::INT: return std::to_string(attribute.i());
    case Kind::STRING: return attribute.s().substr(0, longest_attribute);
    case Kind::FLOATS: return listed(attribute.floats());
    case Kind::INTS: return listed(attribute.ints());
    case Kind::STRINGS: return listed(attribute.strings());
    case Kind::TENSOR: return fmt::format("a tensor {}", listed(attribute.t().dims()));
    case Kind::GRAPH: return fmt::format("a graph of {} nodes", attribute.g().node_size());
    default: return "…";
  }
}

NodeDetails node_of(const proto::NodeProto& node) {
  NodeDetails details;
  details.name = node.name();
  details.op = onnx::is_default_domain(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
  details.inputs.assign(node.input().begin(), node.input().end());
  details.outputs.assign(node.output().begin(), node.output().end());
  for (const auto& attribute : node.attribute())
    details.attributes.emplace_back(attribute.name(), text_of_attribute(attribute));
  std::sort(details.attributes.begin(), details.attributes.end());
  details.is_constant = node.op_type() == "Constant";
  if (!details.is_constant) details.bytes = node.SerializeAsString();
  return details;
}

/// Matches the operators of a priced graph with the nodes that they come from.
class Owners {
 public:
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

  Owners(ModelDetails& model, const cost::WholeGraph& graph, const onnx::ImportedModel& imported)
      : graph_(graph), owner_(graph.nodes(), nobody), is_named_(graph.values(), false) {
    for (const auto& [name, value] : imported.values)
      if (const cost::PlanValue found = graph.find(value); found != cost::no_plan_value)
        is_named_[cost::place(found)] = true;
    // Nodes are sorted: what a node shares with an earlier one belongs to the earlier.
    for (std::size_t i = 0; i < model.nodes.size(); ++i)
      for (const std::string& name : model.nodes[i].outputs) {
        const auto value = imported.values.find(name);
        if (name.empty() || value == imported.values.end()) continue;
        model.nodes[i].is_priced = true;
        if (const cost::PlanValue found = graph.find(value->second); found != cost::no_plan_value)
          claim(graph.producer(found), i);
      }
  }

  std::size_t of(cost::PlanNode node) const { return owner_[cost::place(node)]; }

 private:
  /// A node of ONNX may be several operators here: those without a name belong to it as well.
  void claim(cost::PlanNode root, std::size_t owner) {
    std::vector<cost::PlanNode> open{root};
    while (!open.empty()) {
      const cost::PlanNode node = open.back();
      open.pop_back();
      if (owner_[cost::place(node)] != nobody) continue;
      owner_[cost::place(node)] = owner;
      for (std::size_t i = 0; i < graph_.operands(node); ++i) {
        const cost::PlanValue operand = graph_.operand(node, i);
        if (operand == cost::no_plan_value || is_named_[cost::place(operand)]) continue;
        open.push_back(graph_.producer(operand));
      }
    }
  }

  const cost::WholeGraph& graph_;
  std::vector<std::size_t> owner_;  // by node of the graph
  std::vector<bool> is_named_;      // by value
};

std::string text_of_node(const cost::WholeGraph& graph, cost::PlanNode node) {
  if (const Operator* op = graph.op(node)) return text_of(*op);
  if (const Opaque* opaque = graph.opaque(node)) return opaque->kind;
  return "";
}

KernelDetails kernel_of(const cost::WholeGraph& graph, const cost::Plan::Step& step, const pricing::Pricing& pricing) {
  const cost::Kernel& kernel = step.kernel;
  KernelDetails details;
  details.kind = std::string(cost::name_of(kernel.kind));
  std::vector<std::string> texts;
  for (const cost::PlanNode node : kernel.nodes)
    if (std::string text = text_of_node(graph, node); !text.empty()) texts.push_back(std::move(text));
  details.text = texts.empty() ? "change of image layout" : fmt::format("{}", fmt::join(texts, " → "));
  details.seconds = cost::in_units(cost::Objective::time, step.price);
  details.is_measured = pricing.times().measured(graph, kernel).has_value();
  if (!pricing.is_for_onnxruntime()) details.no_kernel = pricing::why_on_host(graph, kernel);
  details.bytes = kernel.bytes + kernel.weight_bytes;
  details.operations = 2 * kernel.batches * kernel.rows * kernel.columns * kernel.depth + kernel.operations;
  return details;
}

void add_times(ModelDetails& model, const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan,
               const pricing::Pricing& pricing) {
  const auto seconds = [](cost::Cost cost) { return cost::in_units(cost::Objective::time, cost); };
  try {
    if (pricing.is_for_onnxruntime()) throw InputError("it runs one operator after the other");
    const gpu::Timeline timeline = gpu::timeline_of(view, graph, plan, pricing.times().precision(), pricing.lanes());
    for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
      const gpu::Span& span = timeline.steps[i];
      model.kernels[i].lane = span.lane;
      model.kernels[i].begin = seconds(span.begin);
      model.kernels[i].end = seconds(span.end);
    }
    for (const gpu::Span& span : timeline.copies) {
      KernelDetails copy;
      copy.kind = "copy";
      copy.text = "copy of an output";
      copy.seconds = seconds(span.end - span.begin);
      copy.lane = span.lane;
      copy.begin = seconds(span.begin);
      copy.end = seconds(span.end);
      model.kernels.push_back(std::move(copy));
    }
    model.has_timeline = true;
  } catch (const InputError&) {  // a rank is not known, or another runtime runs it: one after the other
    double now = 0;
    for (KernelDetails& kernel : model.kernels) {
      kernel.begin = now;
      kernel.end = now += kernel.seconds;
    }
  }
}

}  // namespace

void add_types(ModelDetails& model, const onnx::ImportedModel& imported) {
  for (const auto& [name, value] : imported.values) model.types.emplace(name, text_of(value.type()));
}

ModelDetails details_of(const onnx::ModelView& view, const onnx::ImportedModel& imported,
                        const std::map<std::string, Extents>& shapes, const pricing::Pricing& pricing) {
  ModelDetails model;
  for (const proto::NodeProto* node : view.nodes) model.nodes.push_back(node_of(*node));
  for (const proto::ValueInfoProto* input : view.inputs) model.inputs.push_back(input->name());
  for (const auto& output : view.model->graph().output()) model.outputs.push_back(output.name());
  add_types(model, imported);

  const Graph& graph = imported.graph;
  const cost::DimensionSizes sizes = pricing::sizes_from(graph, shapes);
  const cost::WholeGraph whole(graph, sizes, cost::best_layout(graph, pricing.times(), sizes, pricing.threads()));
  const cost::Plan plan = cost::plan(whole, pricing.times());
  const Owners owners(model, whole, imported);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    KernelDetails kernel = kernel_of(whole, plan.steps[i], pricing);
    for (const cost::PlanNode node : plan.steps[i].kernel.nodes)
      if (const std::size_t owner = owners.of(node); owner != Owners::nobody) kernel.nodes.push_back(owner);
    std::sort(kernel.nodes.begin(), kernel.nodes.end());
    kernel.nodes.erase(std::unique(kernel.nodes.begin(), kernel.nodes.end()), kernel.nodes.end());
    for (const std::size_t node : kernel.nodes) model.nodes[node].kernels.push_back(i);
    model.kernels.push_back(std::move(kernel));
  }
  for (NodeDetails& node : model.nodes) node.is_free = node.is_priced && node.kernels.empty();
  add_times(model, whole, graph, plan, pricing);
  return model;
}

}  // namespace taso::cli
