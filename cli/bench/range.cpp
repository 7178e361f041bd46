#include "cli/bench/range.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cli/bench/rounding.h"
#include "cli/console/exit_code.h"

namespace taso::cli {
namespace {

/// A result and the share of its elements that are lost.
struct Lost {
  Value value;
  double share = 0;
};

std::string name_of(const Value& value, const ValueNames& names) {
  const auto name = names.find(value);
  std::string text = name == names.end() ? "a result" : fmt::format("'{}'", on_one_line(name->second));
  if (const Operator* const op = value.node->as_operator())
    text += fmt::format(" of {}", ops::name_of(*op));
  else if (const Opaque* const opaque = value.node->as_opaque())
    text += fmt::format(" of {}", opaque->kind);
  return text;
}

}  // namespace

std::string range_trouble(const Graph& graph, const std::vector<Array>& inputs, cost::Precision precision,
                          const ValueNames& names, const runtime::InterpreterOptions& options) {
  if (precision != cost::Precision::fp16) return "";
  Graph all{graph.pool, graph.inputs, {}};
  for (const Node* node : graph.nodes())
    if (node->as_operator() != nullptr || node->as_opaque() != nullptr)
      for (std::size_t i = 0; i < node->outputs().size(); ++i)
        if (node->outputs()[i].element == ElementType::float32) all.outputs.push_back(node->output(i));
  const std::vector<Array> results = runtime::interpret(all, inputs, options);
  std::size_t overflowing = 0, vanishing = 0;
  std::optional<Lost> beyond, below;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::size_t lost_above = 0, lost_below = 0, numbers = 0;
    for (const float value : results[i].values<float>()) {
      if (!std::isfinite(value) || value == 0) continue;
      ++numbers;
      const float kept = rounded(value, precision);
      lost_above += std::isfinite(kept) ? 0 : 1;
      lost_below += kept == 0 ? 1 : 0;
    }
    if (numbers == 0) continue;
    const auto share = [&](std::size_t lost) { return static_cast<double>(lost) / static_cast<double>(numbers); };
    if (lost_above > 0 && overflowing++ == 0) beyond = Lost{all.outputs[i], share(lost_above)};
    // Every result has a few elements near zero.
    if (share(lost_below) > 0.5 && vanishing++ == 0) below = Lost{all.outputs[i], share(lost_below)};
  }
  std::string text;
  if (beyond)
    text += fmt::format("{} of {} results have elements beyond 65,504, first {} ({:.0f} % of it)", overflowing,
                        results.size(), name_of(beyond->value, names), 100 * beyond->share);
  if (below)
    text += fmt::format("{}{} of {} results vanish below 3e-8, first {} ({:.0f} % of it)", text.empty() ? "" : "; ",
                        vanishing, results.size(), name_of(below->value, names), 100 * below->share);
  return text;
}

}  // namespace taso::cli
