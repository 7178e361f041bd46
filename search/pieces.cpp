#include "search/pieces.h"

#include <algorithm>
#include <unordered_map>

#include "ops/core/error.h"

namespace taso::search {

std::vector<std::vector<ComputationId>> pieces_of(const Program& program, std::size_t size) {
  check(size > 0, "a piece is not empty");
  std::vector<ComputationId> order;
  for (const ComputationId id : program.computations())
    if (program.store()[id].is_work()) order.push_back(id);

  // The number of values that cross each position: computed before it, used at or after it.
  std::unordered_map<ValueId, std::size_t> last_use;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const ValueId operand : program.store()[order[i]].operands)
      if (!program.store().weight_only(operand)) last_use[operand] = i;
  std::vector<std::ptrdiff_t> change(order.size() + 1, 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const ValueId result : program.results(order[i])) {
      const auto found = result == no_value ? last_use.end() : last_use.find(result);
      if (found == last_use.end()) continue;
      ++change[i + 1];
      --change[found->second + 1];
    }
  std::vector<std::ptrdiff_t> crossing(order.size() + 1, 0);
  for (std::size_t i = 1; i <= order.size(); ++i) crossing[i] = crossing[i - 1] + change[i];

  std::vector<std::vector<ComputationId>> pieces;
  const std::size_t least = std::max<std::size_t>(2 * size / 3, 1), most = std::max(4 * size / 3, least);
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = order.size();
    if (end - begin > most) {
      end = begin + least;
      for (std::size_t i = end; i <= begin + most; ++i)
        if (crossing[i] < crossing[end]) end = i;
    }
    pieces.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                        order.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return pieces;
}

}  // namespace taso::search
