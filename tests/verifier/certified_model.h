// Rewritten models with their certificates, made as taso-opt makes them.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>

#include "cost/pricing/roofline.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "search/search.h"
#include "verifier/replay/replay.h"
#include "verifier/replay/replay_certificate.h"

namespace taso::test {

/// A model, the optimised model, and the certificate.
struct CertifiedModel {
  onnx::Model before, after;
  rules::RewriteCertificate certificate;
};

/// Nothing if the graph, or its rewritten form, cannot be expressed in ONNX.
inline std::optional<CertifiedModel> certify(const Graph& graph, const std::vector<rules::Rule>& rules,
                                             const search::SearchOptions& options) {
  std::optional<onnx::Model> model;
  try {
    model.emplace(onnx::write_model(graph));
    model->validate();
  } catch (const InputError&) {
    return std::nullopt;
  }
  CertifiedModel result{model->copy(), model->copy(), {}};
  onnx::CleanupOptions cleaning;
  rules::RewriteCertificate& certificate = result.certificate;
  certificate.fold_limit = cleaning.fold_limit;
  auto edit = std::make_unique<onnx::GraphEdit>(*model);
  std::vector<onnx::CleanupAction> actions;
  onnx::clean_up(*edit, cleaning, &actions);
  for (const onnx::CleanupAction& action : actions) certificate.before.push_back({std::string(action.pass), action.at});
  {
    const onnx::ImportedModel imported = onnx::import_model(edit->view());
    std::unordered_set<Value, HashValue> named;
    for (const auto& [name, value] : imported.values) named.insert(value);
    search::SearchOptions with_names = options;
    with_names.is_named = [&](const Value& value) { return named.contains(value); };
    const search::SearchResult found = search::search(imported.graph, rules, cost::Roofline(), with_names);
    if (!found.replacements.complete) return std::nullopt;
    try {
      onnx::export_values(imported, {found.replacements.rewritten, found.replacements.merged}, *edit);
    } catch (const InputError&) {
      return std::nullopt;
    }
    certificate.steps = found.steps;
    const verifier::Replay replay(imported.graph);
    for (const auto& [name, value] : imported.values)
      if (const auto number = replay.number_of(value)) certificate.names.emplace_back(*number, name);
  }
  cleaning.disabled = {"batch-norm",  "dead-branches", "initial-state",   "neutral-operand",
                       "round-trips", "sequences",     "shape-arithmetic"};
  actions.clear();
  onnx::clean_up(*edit, cleaning, &actions);
  for (const onnx::CleanupAction& action : actions) certificate.after.push_back({std::string(action.pass), action.at});
  result.after = onnx::GraphEdit::commit(std::move(edit), std::move(*model));
  return result;
}

}  // namespace taso::test
