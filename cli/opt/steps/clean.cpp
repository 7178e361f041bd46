#include <fmt/format.h>

#include "cli/opt/certificate.h"
#include "cli/opt/steps/steps.h"
#include "onnx/cleanup/fused_attention.h"
#include "onnx/import/view.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

/// Null if the model cannot be imported; then there are no figures either.
std::shared_ptr<const onnx::ImportedModel> imported(const onnx::GraphEdit& edit) {
  try {
    return edit.imported();
  } catch (const InputError&) {
    return nullptr;
  }
}

std::optional<pricing::Figures> figures_of(const OptRun& run, const onnx::ImportedModel* imported) {
  if (imported == nullptr) return std::nullopt;
  return pricing::figures_of(imported->graph, pricing::sizes_from(imported->graph, run.shapes), run.pricing);
}

/// Caches the figures: a graph of 100,000 operators takes a second each time.
template <class Find>
std::optional<pricing::Figures> known(const OptRun& run, KnownFigures& figures, const Find& find) {
  if (figures.measured != run.pricing.measured()) figures = {find(), run.pricing.measured()};
  return figures.figures;
}

std::optional<Coverage> coverage_in(const OptRun& run, const Candidate& candidate) {
  if (!candidate.cleaned) return std::nullopt;
  Coverage coverage = coverage_of(candidate.edit->view(), *candidate.cleaned);
  if (run.options.is_for_onnxruntime()) coverage.runs_on = "ONNX Runtime";
  return coverage;
}

std::size_t nodes_in(const proto::GraphProto& graph);

/// One, and those of the node's subgraphs.
std::size_t nodes_in(const proto::NodeProto& node) {
  std::size_t count = 1;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) count += nodes_in(attribute.g());
    for (const auto& inner : attribute.graphs()) count += nodes_in(inner);
  }
  return count;
}

std::size_t nodes_in(const proto::GraphProto& graph) {
  std::size_t count = 0;
  for (const auto& node : graph.node()) count += nodes_in(node);
  return count;
}

std::size_t nodes_in(const onnx::ModelView& view) {
  std::size_t count = 0;
  for (const proto::NodeProto* node : view.nodes) count += nodes_in(*node);
  return count;
}

}  // namespace

onnx::CleanupOptions clean_ups_of(const OptSettings& options) {
  onnx::CleanupOptions cleaning;
  cleaning.disabled = options.disabled_passes;
  cleaning.fold_limit = options.fold_limit;
  return cleaning;
}

Candidate clean(const OptRun& run) {
  Candidate cleaned;
  cleaned.edit = std::make_unique<onnx::GraphEdit>(run.model);
  std::vector<onnx::CleanupAction> actions;
  cleaned.passes = onnx::clean_up(*cleaned.edit, clean_ups_of(run.options), &actions);
  cleaned.clean_ups = steps_of(actions);
  cleaned.cleaned_nodes = nodes_in(cleaned.edit->view());
  cleaned.cleaned = imported(*cleaned.edit);
  cleaned.coverage = coverage_in(run, cleaned);
  return cleaned;
}

void use_own_operators(const OptRun& run, Candidate& candidate) {
  if (run.own_operators == nullptr) return;
  const std::vector<std::string> results = run.own_operators->use(*candidate.edit, run.model);
  if (results.empty()) return;
  std::vector<onnx::CleanupAction> actions;
  for (const std::string& result : results) actions.push_back({onnx::fused_attention_pass, result});
  // What only the replaced nodes used.
  onnx::CleanupOptions weights_only = clean_ups_of(run.options);
  for (const onnx::CleanupPass& pass : onnx::cleanup_passes())
    if (pass.name != "unused-weights") weights_only.disabled.emplace(pass.name);
  const auto more = onnx::clean_up(*candidate.edit, weights_only, &actions);
  for (std::size_t i = 0; i < more.size(); ++i) candidate.passes[i].count += more[i].count;
  for (rules::CleanupStep& step : steps_of(actions)) candidate.clean_ups_after.push_back(std::move(step));
  candidate.passes.push_back({onnx::fused_attention_pass, results.size()});
  candidate.after = {};
}

Candidate leave_as_it_is(const OptRun& run, const Candidate& given_up, const std::string& reason) {
  Candidate plain;
  plain.edit = std::make_unique<onnx::GraphEdit>(run.model);
  plain.is_untouched = true;
  plain.cleaned_nodes = nodes_in(plain.edit->view());
  plain.passes = given_up.passes;
  for (onnx::CleanupCount& pass : plain.passes) pass.count = 0;
  plain.cleaned = imported(*plain.edit);
  plain.coverage = coverage_in(run, plain);
  plain.search = given_up.search;
  plain.in_runtime = given_up.in_runtime;
  plain.check = onnx::CheckResult{true, onnx::CheckResult::Scope::unchanged, 0, 0,
                                  fmt::format("no clean-up was kept: {}", reason)};
  return plain;
}

Candidate clean_again(const OptRun& run, const Candidate& found) {
  Candidate cleaned = clean(run);
  use_own_operators(run, cleaned);
  cleaned.search = found.search;
  cleaned.confirmed = found.confirmed;
  cleaned.in_runtime = found.in_runtime;
  return cleaned;
}

Candidate give_up(const OptRun& run, const Candidate& found, const std::string& reason) {
  Candidate cleaned = clean_again(run, found);
  cleaned.search->give_up(reason);
  return cleaned;
}

std::optional<pricing::Figures> figures_before(const OptRun& run, Candidate& candidate) {
  return known(run, candidate.before, [&] { return figures_of(run, candidate.cleaned.get()); });
}

std::optional<pricing::Figures> figures_after(const OptRun& run, Candidate& candidate) {
  if (candidate.cleaned && !candidate.is_improved()) return figures_before(run, candidate);
  return known(run, candidate.after, [&] { return figures_of(run, imported(*candidate.edit).get()); });
}

}  // namespace taso::cli
