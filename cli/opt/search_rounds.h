// Repeats the search, measuring the kernels of each result in between.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "search/search.h"

namespace taso::cli {

/// The operations that a round consists of.
struct SearchRounds {
  using Seconds = std::chrono::duration<double>;
  /// Searches within the given time, if there is a limit.
  std::function<search::SearchResult(const std::optional<Seconds>&)> look;
  /// Measures the unmeasured kernels of a graph; returns how many.
  std::function<std::size_t(const Graph&)> measure;
  /// Recomputes the costs of a result with the current prices.
  std::function<void(search::SearchResult&)> price;
  /// Whether to count unmeasured kernels as less than predicted from now on; empty if nothing can be measured.
  std::function<void(bool)> be_hopeful;
  /// Whether there is still time to measure what hope finds.
  std::function<bool()> may_hope;
  std::function<bool()> interrupted;
};

/// A result may rely on predicted prices. Measures those, searches again, and stops once the result uses measured
/// prices only. A kernel whose predicted price is too high would never be measured, so the last rounds are hopeful:
/// they count unmeasured kernels as less, until that leads to no new ones. Returns the best result of all rounds by the
/// final prices, with its costs at those prices. The time limit covers all rounds, without the measuring in between.
search::SearchResult search_in_rounds(std::optional<SearchRounds::Seconds> time, const SearchRounds& rounds);

}  // namespace taso::cli
