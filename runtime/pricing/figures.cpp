#include "runtime/pricing/figures.h"

#include <algorithm>
#include <set>

#include "cost/plan/plan.h"
#include "cost/pricing/call.h"
#include "ops/core/error.h"
#include "runtime/gpu/execution.h"

namespace taso::pricing {

double Figures::of(cost::Objective objective) const {
  switch (objective) {
    case cost::Objective::time: return seconds;
    case cost::Objective::memory: return static_cast<double>(peak_bytes);
    case cost::Objective::launches: return static_cast<double>(launches);
  }
  return 0;
}

namespace {

void add_lanes(Figures& figures, const cost::WholeGraph& view, const Graph& graph, const cost::Plan& laid_out,
               const Pricing& pricing) {
  try {
    const gpu::Outlook outlook = gpu::look_ahead(view, graph, laid_out, pricing.times().precision(), pricing.lanes());
    figures.lanes = outlook.lanes;
    figures.concurrent_seconds = cost::in_units(cost::Objective::time, outlook.cost);
    figures.seconds = cost::in_units(cost::Objective::time, outlook.sequential);
    figures.copying = cost::in_units(cost::Objective::time, outlook.copies);
    // Repeated kernels take less than their prices.
    if (laid_out.cost > 0)
      figures.measured *= static_cast<double>(outlook.sequential - outlook.copies) / static_cast<double>(laid_out.cost);
  } catch (const InputError& error) {
    figures.no_lanes = error.what();
  }
}

}  // namespace

std::string why_on_host(const cost::GraphView& view, const cost::Kernel& kernel) {
  if (kernel.kind != cost::Kernel::Kind::opaque || cost::can_be_called(view, kernel)) return "";
  const Opaque* const opaque = view.opaque(kernel.main);
  if (opaque == nullptr || !opaque->body) return "unknown operator";
  if (const std::string obstacle = opaque->body->obstacle(); !obstacle.empty()) return obstacle;
  if (opaque->body->has_programs()) return "it contains graphs";
  for (std::size_t i = 0; i < view.operands(kernel.main); ++i) {
    const cost::PlanValue operand = view.operand(kernel.main, i);
    if (operand != cost::no_plan_value && view.extents(operand) == nullptr)
      return "the rank of an operand is not known";
  }
  return "no kernel";
}

Figures figures_of(const Graph& graph, const cost::DimensionSizes& sizes, const Pricing& pricing) {
  const cost::WholeGraph view(graph, sizes, cost::best_layout(graph, pricing.times(), sizes, pricing.threads()));
  const cost::Plan laid_out = cost::plan(view, pricing.times());
  Figures figures;
  for (std::uint32_t i = 0; i < view.nodes(); ++i)
    if (view.op(cost::PlanNode{i}) != nullptr && view.is_free(cost::PlanNode{i})) ++figures.work_on_weights;
  figures.layout = laid_out.layout;
  figures.seconds = cost::in_units(cost::Objective::time, laid_out.cost);
  figures.launches = laid_out.launches();
  figures.peak_bytes = laid_out.arena_bytes;
  for (const cost::Plan::Step& step : laid_out.steps) {
    figures.bytes_moved += step.kernel.bytes + step.kernel.weight_bytes;
    if (pricing.times().measured(view, step.kernel))
      figures.measured += cost::in_units(cost::Objective::time, step.price);
    if (step.kernel.kind != cost::Kernel::Kind::opaque || view.opaque(step.kernel.main) == nullptr) continue;
    figures.opaque.push_back({view.opaque(step.kernel.main)->serial, cost::in_units(cost::Objective::time, step.price),
                              pricing.is_for_onnxruntime() ? "" : why_on_host(view, step.kernel)});
  }
  if (!pricing.is_for_onnxruntime()) add_lanes(figures, view, graph, laid_out, pricing);
  return figures;
}

cost::DimensionSizes sizes_from(const Graph& graph, const std::map<std::string, Extents>& shapes) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  for (const Value& input : graph.inputs) {
    const auto given = shapes.find(input.node->as_input()->name);
    const auto& shape = input.type().shape;
    if (given == shapes.end() || !shape || shape->size() != given->second.size()) continue;
    for (std::size_t i = 0; i < shape->size(); ++i) {
      const auto names = (*shape)[i].symbols();
      if (names.size() == 1 && (*shape)[i] == Dim::symbol(names.front()))
        sizes.emplace(names.front(), std::max<std::int64_t>(given->second[i], 1));
    }
  }
  if (sizes.empty()) return {};
  return [sizes = std::move(sizes)](std::string_view name) {
    const auto found = sizes.find(name);
    return found == sizes.end() ? std::int64_t{1} : found->second;
  };
}

AssumedSizes assumed_sizes(const Graph& graph, const std::map<std::string, Extents>& shapes) {
  AssumedSizes assumed;
  const cost::DimensionSizes sizes = sizes_from(graph, shapes);
  std::set<std::string, std::less<>> told;
  std::set<std::string, std::less<>> given;
  for (const Value& input : graph.inputs) {
    const auto& shape = input.type().shape;
    if (!shape) continue;
    const bool is_given = shapes.contains(input.node->as_input()->name);
    for (const Dim& dim : *shape)
      for (const std::string& name : dim.symbols()) {
        told.insert(name);
        if (is_given) given.insert(name);
      }
  }
  for (const Value& input : graph.inputs) {
    if (!input.type().shape) continue;
    Extents extents;
    bool is_assumed = false;
    for (const Dim& dim : *input.type().shape) {
      for (const std::string& name : dim.symbols()) is_assumed = is_assumed || !given.contains(name);
      extents.push_back(dim.evaluate([&](std::string_view name) { return sizes ? sizes(name) : std::int64_t{1}; }));
    }
    if (is_assumed) assumed.inputs.emplace_back(input.node->as_input()->name, std::move(extents));
  }
  std::set<std::string, std::less<>> inside;
  for (const Node* node : graph.nodes())
    for (const Type& type : node->outputs()) {
      if (!type.shape) {
        ++assumed.unranked;
        continue;
      }
      for (const Dim& dim : *type.shape)
        for (const std::string& name : dim.symbols())
          if (!told.contains(name)) inside.insert(name);
    }
  assumed.inside = inside.size();
  return assumed;
}

}  // namespace taso::pricing
