#include "cli/opt/coverage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/table.h"
#include "cost/plan/objective.h"
#include "onnx/lowering/lowering.h"
#include "onnx/model/proto.h"
#include "ops/core/element_type.h"

namespace taso::cli {
namespace {

using Producers = std::unordered_map<std::string, const proto::NodeProto*>;

bool has_rank(const std::string& name, const onnx::ImportedModel& imported) {
  const auto value = imported.values.find(name);
  return value == imported.values.end() || value->second.type().shape.has_value();
}

/// The node that loses the rank first, on the way to a value of unknown rank: "Slice 'x'". Empty if an input has none.
std::string where_rank_is_lost(std::string name, const Producers& producers, const onnx::ImportedModel& imported) {
  for (std::size_t steps = 0; steps <= producers.size(); ++steps) {
    const auto producer = producers.find(name);
    if (producer == producers.end()) return "";
    const proto::NodeProto& node = *producer->second;
    const auto lost = std::find_if(node.input().begin(), node.input().end(), [&](const std::string& input) {
      return !input.empty() && !has_rank(input, imported);
    });
    if (lost == node.input().end()) return fmt::format("{} '{}'", node.op_type(), name);
    name = *lost;
  }
  return "";
}

/// The first operand of unknown rank comes from here: "the rank of the input 'x' is unknown".
std::string unknown_rank(const std::string& name, const Producers& producers, const onnx::ImportedModel& imported) {
  const std::string place = where_rank_is_lost(name, producers, imported);
  if (!place.empty()) return fmt::format("rank unknown after {}", place);
  return producers.contains(name) ? "rank unknown: an input has none"
                                  : fmt::format("rank unknown: the input '{}' has none", name);
}

struct Reason {
  std::string text;
  bool is_open = false;  ///< a size or rank is not known
};

Reason reason_of(const proto::NodeProto& node, const Producers& producers, const onnx::ImportedModel& imported) {
  if (!onnx::is_default_domain(node.domain())) return {"not part of ONNX"};
  if (!onnx::is_lowered(node.op_type())) return {"taso has no model of it"};
  bool is_open = false;
  for (const std::string& name : node.input())
    if (const auto value = imported.values.find(name); !name.empty() && value != imported.values.end()) {
      const std::optional<Shape>& shape = value->second.type().shape;
      is_open = is_open || !shape || !static_extents(*shape);
    }
  for (const std::string& name : node.input()) {
    const auto value = imported.values.find(name);
    if (name.empty() || value == imported.values.end()) continue;
    const Type& type = value->second.type();
    if (!type.shape) return {unknown_rank(name, producers, imported), true};
    if (type.element == ElementType::undefined) return {"type unknown"};
    // Indices and shapes are integers even where the data is not, so only the first operand counts.
    if (!is_floating(type.element))
      return {fmt::format("taso models it for floating point, not {}", ops::name_of(type.element))};
    break;
  }
  return is_open ? Reason{"not with these open sizes or attributes", true}
                 : Reason{"not with these attributes or operands"};
}

std::string percent_of(double part, double whole) {
  const double share = whole > 0 ? 100 * part / whole : 0;
  return fmt::format("{:.{}f} %", share, share < 9.95 && share > 0 ? 1 : 0);
}

/// "3 Cast (taso models it for floating point, not int64); 2 Add (rank unknown after Slice 'x')": the first groups, by
/// their reasons.
std::string listed(const std::vector<OpaqueGroup>& groups, std::string OpaqueGroup::*reason) {
  constexpr std::size_t most_kinds = 8;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  std::size_t left_out = 0, kinds = 0;
  for (const OpaqueGroup& group : groups) {
    if (kinds++ >= most_kinds) {
      left_out += group.count;
      continue;
    }
    const auto known =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == group.*reason; });
    auto& list = known == reasons.end() ? reasons.emplace_back(group.*reason, std::vector<std::string>{}) : *known;
    list.second.push_back(fmt::format("{} {}", with_commas(group.count), on_one_line(group.op)));
  }
  std::vector<std::string> parts;
  for (const auto& [why, operators] : reasons)
    parts.push_back(fmt::format("{} ({})", fmt::join(operators, ", "), on_one_line(why)));
  return fmt::format("{}{}", fmt::join(parts, "; "),
                     left_out > 0 ? fmt::format("; and {} others", with_commas(left_out)) : "");
}

}  // namespace

namespace {

/// What the user can do if operators are opaque because sizes are open: as the rank of a value is not known, sizes for
/// the check and for prices do not help.
std::string advice_on_sizes(const onnx::ModelView& view, const onnx::ImportedModel& imported) {
  std::vector<std::string> open;
  for (const proto::ValueInfoProto* input : view.inputs)
    if (const auto value = imported.values.find(input->name()); value != imported.values.end()) {
      const std::optional<Shape>& shape = value->second.type().shape;
      if (!shape || !static_extents(*shape)) open.push_back(fmt::format("'{}'", on_one_line(input->name())));
    }
  constexpr std::size_t most_named = 4;
  if (open.empty()) return "";
  if (open.size() > most_named) open.resize(most_named);
  return fmt::format("more may be understood with fixed sizes: --overwrite-input-shape sets them (open: {})",
                     fmt::join(open, ", "));
}

}  // namespace

Coverage coverage_of(const onnx::ModelView& view, const onnx::ImportedModel& imported) {
  Coverage coverage;
  bool is_open = false;
  Producers producers;
  for (const proto::NodeProto* node : view.nodes)
    for (const std::string& name : node->output()) producers.emplace(name, node);
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
    const Opaque* const opaque = value->second.node->as_opaque();
    if (passes || opaque == nullptr) {
      ++coverage.understood;
      continue;
    }
    const std::string op =
        onnx::is_default_domain(node->domain()) ? node->op_type() : node->domain() + "." + node->op_type();
    const Reason reason = reason_of(*node, producers, imported);
    is_open = is_open || reason.is_open;
    coverage.opaque.push_back({op, *output, reason.text, opaque->serial});
  }
  if (is_open) coverage.advice = advice_on_sizes(view, imported);
  return coverage;
}

void add_work(Coverage& coverage, const pricing::Figures& figures) {
  std::unordered_map<std::uint64_t, const pricing::Figures::OpaqueWork*> work;
  for (const pricing::Figures::OpaqueWork& one : figures.opaque) work.emplace(one.serial, &one);
  coverage.seconds = figures.seconds;
  std::set<std::uint64_t> counted;  // merged nodes run once
  for (Coverage::Opaque& one : coverage.opaque) {
    const auto found = work.find(one.serial);
    one.seconds = found != work.end() && counted.insert(one.serial).second ? found->second->seconds : 0;
    one.no_kernel = found != work.end() ? found->second->no_kernel : "";
  }
}

std::vector<OpaqueGroup> groups_of(const Coverage& coverage) {
  std::map<std::tuple<std::string, std::string, std::string>, OpaqueGroup> groups;
  for (const Coverage::Opaque& one : coverage.opaque) {
    OpaqueGroup& group = groups[{one.reason, one.op, one.no_kernel}];
    group.op = one.op;
    group.reason = one.reason;
    group.no_kernel = one.no_kernel;
    group.seconds += one.seconds;
    group.at.push_back(one.at);
    ++group.count;
  }
  std::vector<OpaqueGroup> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(), [](const OpaqueGroup& a, const OpaqueGroup& b) {
    return std::pair(a.seconds, a.count) > std::pair(b.seconds, b.count);
  });
  return sorted;
}

std::string text_of(const Coverage& coverage) {
  const std::vector<OpaqueGroup> groups = groups_of(coverage);
  std::string text =
      fmt::format("understood {} of {} operators", with_commas(coverage.understood), with_commas(coverage.operators));
  if (!groups.empty()) text += fmt::format("; opaque: {}", listed(groups, &OpaqueGroup::reason));
  std::vector<OpaqueGroup> on_host;
  double seconds = 0;
  for (const OpaqueGroup& group : groups) {
    if (group.no_kernel.empty()) continue;
    on_host.push_back(group);
    seconds += group.seconds;
  }
  if (!on_host.empty())
    text += fmt::format("\non the host: {}, {} of the predicted time ({})", listed(on_host, &OpaqueGroup::no_kernel),
                        percent_of(seconds, coverage.seconds), cost::text_of_seconds(seconds));
  return coverage.advice.empty() ? text : text + "\n" + coverage.advice;
}

std::string table_of(const Coverage& coverage) {
  Table table{{{"operator", "count", "time", "share", "runs on", "not understood because", "for example"}}, 1, 4};
  for (const OpaqueGroup& group : groups_of(coverage))
    table.rows.push_back(
        {on_one_line(group.op), with_commas(group.count), cost::text_of_seconds(group.seconds),
         percent_of(group.seconds, coverage.seconds),
         group.no_kernel.empty() ? coverage.runs_on : fmt::format("host: {}", on_one_line(group.no_kernel)),
         on_one_line(group.reason), on_one_line(group.at.front())});
  std::string text =
      fmt::format("understood {} of {} operators", with_commas(coverage.understood), with_commas(coverage.operators));
  double opaque = 0;
  for (const Coverage::Opaque& one : coverage.opaque) opaque += one.seconds;
  if (coverage.seconds > 0)
    text += fmt::format(", {} of the predicted time of {}", percent_of(coverage.seconds - opaque, coverage.seconds),
                        cost::text_of_seconds(coverage.seconds));
  text += "\n";
  if (!coverage.opaque.empty()) text += "\n" + table.text();
  return coverage.advice.empty() ? text : text + "\n" + coverage.advice + "\n";
}

}  // namespace taso::cli
