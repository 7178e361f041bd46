#include "verifier/agreement/typical.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rules/instance/concrete.h"

namespace taso::verifier {
namespace {

/// The values to try for an unknown, best first.
std::vector<std::int64_t> usual_values(const rules::Instance& instance, const std::string& unknown) {
  const std::size_t dot = unknown.rfind('.');
  const std::string name = unknown.substr(0, dot);
  const auto input = std::find(instance.inputs.begin(), instance.inputs.end(), name);
  if (rules::is_made_up(unknown)) return {28, 16, 8};
  if (input == instance.inputs.end() || dot == std::string::npos) return {1, 2};
  const std::size_t axis = std::stoul(unknown.substr(dot + 1)),
                    rank = instance.nodes[static_cast<std::size_t>(input - instance.inputs.begin())].shapes[0].size();
  if (input == instance.inputs.begin()) return rank > 2 && axis < 2 ? Extents{1, 2} : Extents{56, 28, 16, 8};
  return rank > 2 && axis >= 2 ? Extents{3, 5, 2} : Extents{16, 8, 4};
}

/// The number of positions in at least one of the blocks: of cells between their bounds.
std::int64_t union_count(const std::vector<Block>& blocks, std::size_t axis, Block cell) {
  if (blocks.empty()) return 0;
  if (axis == cell.low.size()) {
    const bool inside =
        std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) { return block.contains(cell.low); });
    return inside ? cell.count() : 0;
  }
  std::set<std::int64_t> bounds;
  for (const Block& block : blocks) bounds.insert({block.low[axis], block.high[axis]});
  std::int64_t total = 0;
  for (auto low = bounds.begin(); std::next(low) != bounds.end(); ++low) {
    cell.low[axis] = *low;
    cell.high[axis] = *std::next(low);
    total += union_count(blocks, axis + 1, cell);
  }
  return total;
}

}  // namespace

std::optional<TypicalShare> typical_share(const rules::Instance& instance, const std::vector<Box>& boxes) {
  const rules::AssignmentSampler sampler(instance);
  Random random(1);
  std::optional<rules::Assignment> assignment;
  for (const std::int64_t bound : {1, 2, 3, 4, 6, 8})
    if ((assignment = sampler.sample(random, bound))) break;
  if (!assignment) return std::nullopt;
  for (std::size_t i = 0; i < instance.unknowns.size(); ++i)
    for (const std::int64_t value : usual_values(instance, instance.unknowns[i].name)) {
      const std::int64_t before = std::exchange(assignment->unknowns[i], value);
      if (sampler.admits(assignment->unknowns)) break;
      assignment->unknowns[i] = before;
    }
  const auto built = rules::Concretizer(instance).at(*assignment);
  const auto* concrete = std::get_if<rules::ConcreteInstance>(&built);
  if (concrete == nullptr) return std::nullopt;
  const auto& [node, output] = concrete->source[0];
  const Extents extents = extents_of(concrete->nodes[node].shapes[output]);
  const rules::Places places = rules::places_of(instance);
  std::vector<Block> blocks;
  for (const Box& box : boxes) {
    Block block =
        at(box, extents, [&](std::string_view name) { return assignment->unknowns[places.find(name)->second]; });
    if (!block.is_empty()) blocks.push_back(std::move(block));
  }
  TypicalShare typical;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    typical.sizes += fmt::format("{}{} {}", i == 0 ? "" : ", ", instance.inputs[i], ops::text_of(concrete->inputs[i]));
  typical.share = static_cast<double>(union_count(blocks, 0, {extents, extents})) / static_cast<double>(count(extents));
  return typical;
}

}  // namespace taso::verifier
