#include "runtime/gpu/known_weights.h"

namespace taso::gpu {

std::optional<KnownWeights::Found> KnownWeights::find(const std::shared_ptr<Pool>& pool, const Weight& weight) const {
  const auto entry = entries_.find(weight);
  if (entry == entries_.end() || entry->second.pool.lock() != pool) return std::nullopt;
  std::shared_ptr<const WeightBlock> block = entry->second.block.lock();
  if (!block) return std::nullopt;
  return Found{std::move(block), entry->second.offset};
}

void KnownWeights::add(const std::shared_ptr<Pool>& pool, const std::vector<Placed>& placed,
                       const std::shared_ptr<const WeightBlock>& block) {
  std::erase_if(entries_, [](const auto& one) { return one.second.pool.expired() || one.second.block.expired(); });
  if (!block) return;
  for (const Placed& one : placed) entries_.insert_or_assign(one.weight, Entry{pool, block, one.offset});
}

}  // namespace taso::gpu
