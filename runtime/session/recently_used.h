// Things that are made on first use. The last ones used are kept.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace taso::runtime {

/// Several threads may use one.
template <class Key, class Thing>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t most) : most_(most) {}

  /// `make` returns a shared pointer.
  template <class Make>
  std::shared_ptr<const Thing> find(const Key& key, const Make& make) {
    const std::lock_guard lock(guard_);
    const auto found = std::find_if(made_.begin(), made_.end(), [&](const auto& one) { return one.first == key; });
    if (found != made_.end())
      made_.splice(made_.begin(), made_, found);
    else
      made_.emplace_front(key, make());
    if (made_.size() > most_) made_.pop_back();
    return made_.front().second;
  }

 private:
  const std::size_t most_;
  std::mutex guard_;
  std::list<std::pair<Key, std::shared_ptr<const Thing>>> made_;  // last used first
};

}  // namespace taso::runtime
