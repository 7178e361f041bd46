// From a model through the search and back to a model, and a comparison of both.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "cost/pricing/roofline.h"
#include "onnx/export/edit.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "runtime/host/interpreter.h"
#include "search/search.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

struct Optimised {
  onnx::Model model;
  search::SearchResult result;
};

/// Nothing if the result cannot be expressed with the model's values, or not at its opset.
inline std::optional<Optimised> optimise(onnx::Model model, const std::vector<rules::Rule>& rules,
                                         const search::SearchOptions& options) {
  auto edit = std::make_unique<onnx::GraphEdit>(model);
  const onnx::ImportedModel imported = onnx::import_model(edit->view());
  std::unordered_set<Value, HashValue> named;
  for (const auto& [name, value] : imported.values) named.insert(value);
  search::SearchOptions with_names = options;
  with_names.is_named = [&](const Value& value) { return named.contains(value); };
  search::SearchResult result = search::search(imported.graph, rules, cost::Roofline(), with_names);
  if (!result.replacements.complete) return std::nullopt;
  try {
    onnx::export_values(imported, {result.replacements.rewritten, result.replacements.merged}, *edit);
  } catch (const InputError&) {
    return std::nullopt;
  }
  return Optimised{onnx::GraphEdit::commit(std::move(edit), std::move(model)), std::move(result)};
}

inline std::vector<Array> run(const onnx::Model& model, std::uint64_t seed) {
  const onnx::ImportedModel imported = onnx::import_model(onnx::view_of(model));
  Random random(seed);
  std::vector<Array> inputs;
  for (const Value& input : imported.graph.inputs)
    inputs.push_back(whole_array(random, extents_of(input.shape())).cast(input.type().element));
  return runtime::interpret(imported.graph, inputs, {1, true});
}

inline std::string difference(const onnx::Model& before, const onnx::Model& after, std::uint64_t seed) {
  const auto expected = run(before, seed), given = run(after, seed);
  if (expected.size() != given.size()) return "another number of outputs";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].extents() != given[i].extents()) return "another shape";
    const auto a = expected[i].doubles(), b = given[i].doubles();
    double scale = 1;
    for (const double value : a)
      if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
    for (std::size_t k = 0; k < a.size(); ++k)
      if (std::isfinite(a[k]) && std::abs(a[k]) < 1e100 && !(std::abs(a[k] - b[k]) <= 1e-9 * scale))
        return "output " + std::to_string(i) + " at " + std::to_string(k) + ": " + std::to_string(a[k]) + " became " +
               std::to_string(b[k]);
  }
  return {};
}

}  // namespace taso::test
