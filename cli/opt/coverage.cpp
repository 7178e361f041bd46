#include "cli/opt/coverage.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/table.h"
#include "onnx/lowering/lowering.h"
#include "onnx/model/proto.h"
#include "ops/core/element_type.h"

namespace taso::cli {
namespace {

std::string reason_of(const proto::NodeProto& node, const onnx::ImportedModel& imported) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return "not part of ONNX";
  if (!onnx::is_lowered(node.op_type())) return "not modelled";
  for (const std::string& name : node.input()) {
    const auto value = imported.values.find(name);
    if (name.empty() || value == imported.values.end()) continue;
    const Type& type = value->second.type();
    if (!type.shape) return "of unknown rank";
    if (type.element == ElementType::undefined) return "of unknown type";
    // Indices and shapes are integers even where the data is not, so only the first operand counts.
    if (!is_floating(type.element)) return fmt::format("on {}", ops::name_of(type.element));
    break;
  }
  return "in this form";
}

}  // namespace

Coverage coverage_of(const onnx::ModelView& view, const onnx::ImportedModel& imported) {
  Coverage coverage;
  for (const proto::NodeProto* node : view.nodes) {
    if (node->op_type() == "Constant" || node->output().empty()) continue;
    const auto is_named = [](const std::string& name) { return !name.empty(); };
    const auto output = std::find_if(node->output().begin(), node->output().end(), is_named);
    if (output == node->output().end()) continue;
    ++coverage.operators;
    const auto value = imported.values.find(*output);
    if (value == imported.values.end()) continue;
    // A node that only passes on an operand counts as understood, whatever computes that operand.
    const bool passes = std::any_of(node->input().begin(), node->input().end(), [&](const std::string& name) {
      const auto operand = imported.values.find(name);
      return operand != imported.values.end() && operand->second == value->second;
    });
    if (passes || value->second.node->as_opaque() == nullptr) {
      ++coverage.understood;
      continue;
    }
    const bool own = node->domain().empty() || node->domain() == "ai.onnx";
    ++coverage.opaque[reason_of(*node, imported)][own ? node->op_type() : node->domain() + "." + node->op_type()];
  }
  return coverage;
}

std::string text_of(const Coverage& coverage) {
  constexpr std::size_t most_kinds = 8;
  std::string text =
      fmt::format("understood {} of {} operators", with_commas(coverage.understood), with_commas(coverage.operators));
  std::vector<std::string> reasons;
  std::size_t kinds = 0, left_out = 0;
  for (const auto& [reason, counts] : coverage.opaque) {
    std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> shown;
    for (const auto& [name, count] : sorted) {
      if (kinds < most_kinds)
        shown.push_back(fmt::format("{} {}", with_commas(count), on_one_line(name)));
      else
        left_out += count;
      ++kinds;
    }
    if (!shown.empty()) reasons.push_back(fmt::format("{} ({})", fmt::join(shown, ", "), reason));
  }
  if (!reasons.empty()) text += fmt::format("; opaque: {}", fmt::join(reasons, "; "));
  if (left_out > 0) text += fmt::format("; and {} others", with_commas(left_out));
  return text;
}

}  // namespace taso::cli
