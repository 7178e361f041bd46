#include "search/queue.h"

#include <algorithm>

#include "ops/core/error.h"

namespace taso::search {

void Queue::push(Waiting waiting) {
  check(waiting.match != nullptr, "a queued graph has a match");
  const auto id = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back(std::make_unique<Waiting>(std::move(waiting)));
  ++size_;
  cheapest_.push_back(id);
  std::push_heap(cheapest_.begin(), cheapest_.end(), order(true));
  nearest_.push_back(id);
  std::push_heap(nearest_.begin(), nearest_.end(), order(false));
  if (size_ > 2 * longest_) shorten();
}

void Queue::skip_taken(std::vector<std::uint32_t>& heap, bool by_cost) {
  while (!heap.empty() && is_taken(heap.front())) {
    std::pop_heap(heap.begin(), heap.end(), order(by_cost));
    heap.pop_back();
  }
}

Waiting Queue::pop(bool by_cost) {
  check(size_ > 0, "the queue is not empty");
  auto& heap = by_cost ? cheapest_ : nearest_;
  skip_taken(heap, by_cost);
  const std::uint32_t id = heap.front();
  std::pop_heap(heap.begin(), heap.end(), order(by_cost));
  heap.pop_back();
  --size_;
  Waiting top = *entries_[id];
  entries_[id]->match.reset();  // the other heap still compares it
  return top;
}

const GraphCost& Queue::lowest() {
  skip_taken(cheapest_, true);
  return entries_[cheapest_.front()]->cost;
}

void Queue::shorten() {
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t id : cheapest_)
    if (!is_taken(id)) kept.push_back(id);
  // In heaps ordered by "costs more", the cheapest come last.
  std::sort(kept.begin(), kept.end(), order(true));
  kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(std::min(longest_, kept.size())));
  std::sort(kept.begin(), kept.end());
  std::deque<std::unique_ptr<Waiting>> entries;
  for (const std::uint32_t id : kept) entries.push_back(std::move(entries_[id]));
  entries_ = std::move(entries);
  size_ = entries_.size();
  cheapest_.clear();
  for (std::uint32_t id = 0; id < size_; ++id) cheapest_.push_back(id);
  nearest_ = cheapest_;
  std::make_heap(cheapest_.begin(), cheapest_.end(), order(true));
  std::make_heap(nearest_.begin(), nearest_.end(), order(false));
}

}  // namespace taso::search
