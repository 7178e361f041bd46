// Searches that follow one another, with what was found measured in between.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "search/search.h"

namespace taso::cli {

/// What rounds are made of.
struct SearchRounds {
  using Seconds = std::chrono::duration<double>;
  /// Searches for so long, if there is a limit.
  std::function<search::SearchResult(const std::optional<Seconds>&)> look;
  /// Measures what nobody has measured yet of a graph; how many kernels that were.
  std::function<std::size_t(const Graph&)> measure;
  /// Says of something that was found what it costs with the prices of now.
  std::function<void(search::SearchResult&)> price;
  std::function<bool()> interrupted;
};

/// What is found with prices of which some are only predicted may be wrong about these: they are measured, and it is looked again,
/// until what is found rests on measurements alone. Of what all rounds found, the best by the prices of the end, with the costs
/// that it has by them. The time is for all rounds together, without the measuring in between.
search::SearchResult search_in_rounds(std::optional<SearchRounds::Seconds> time, const SearchRounds& rounds);

}  // namespace taso::cli
