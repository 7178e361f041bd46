#include "cli/opt/annotate.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/model/annotation.h"
#include "onnx/model/proto.h"

namespace taso::cli {
namespace {

constexpr std::size_t most_names = 24;

/// The rules of a region in the order of their first use, then its clean-ups.
std::string rules_of_region(const Details& details, const ChangedRegion& region) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::size_t step : region.steps) add(details.applied.steps[step].rule);
  for (const std::string& pass : region.clean_ups) add("clean-up " + pass);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string origins_of(const Details& details, const ChangedRegion& region) {
  std::vector<std::string> names;
  for (const std::size_t node : region.before) {
    if (names.size() == most_names) {
      names.push_back(fmt::format("and {} more", region.before.size() - most_names));
      break;
    }
    const NodeDetails& one = details.before.nodes[node];
    names.push_back(one.name.empty() && !one.outputs.empty() ? one.outputs.front() : one.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::size_t annotate(onnx::Model& model, const Details& details) {
  std::unordered_map<std::string, const ChangedRegion*> changed;  // by the first result of a node
  for (const ChangedRegion& region : details.regions)
    for (const std::size_t node : region.after) {
      const NodeDetails& one = details.after.nodes[node];
      if (details.fates_after[node] != NodeFate::same && !one.outputs.empty())
        changed.emplace(one.outputs.front(), &region);
    }
  const bool has_metadata = onnx::nodes_have_metadata(model.proto());
  std::size_t count = 0;
  for (proto::NodeProto& node : *model.mutable_proto().mutable_graph()->mutable_node()) {
    const auto found = node.output_size() == 0 ? changed.end() : changed.find(node.output(0));
    if (found == changed.end()) continue;
    const std::string rules = rules_of_region(details, *found->second);
    const std::string from = origins_of(details, *found->second);
    std::vector<std::pair<std::string, std::string>> entries;
    if (!rules.empty()) entries.emplace_back("taso.rule", rules);
    if (!from.empty()) entries.emplace_back("taso.from", from);
    if (entries.empty()) continue;
    onnx::annotate(node, entries, has_metadata);
    ++count;
  }
  return count;
}

}  // namespace taso::cli
