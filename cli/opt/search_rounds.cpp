#include "cli/opt/search_rounds.h"

#include <algorithm>

namespace taso::cli {
namespace {

using End = search::SearchResult::End;

/// How much slower the result is than the input graph; 0 if it is not.
cost::Cost excess(const search::SearchResult& found) {
  return std::max<cost::Cost>(found.cost_after - found.cost_before, 0) +
         search::RunPreference(found.run_before, 0).excess(found.run_after);
}

/// By the simulated run time, if it is known.
cost::Cost cost_of(const search::SearchResult& found) {
  return found.run_before == search::RunTime() ? found.cost_after : search::RunPreference::weighed(found.run_after);
}

bool pays(const search::SearchResult& found) { return !found.steps.empty() && excess(found) == 0; }

bool was_cut_short(const search::SearchResult& found) { return found.end == End::time || found.end == End::stopped; }

/// Whether the result of an earlier round is preferred. A search that ran to its end had reasons to reject results that
/// are only slightly better.
bool is_still_better(const search::SearchResult& earlier, const search::SearchResult& latest) {
  constexpr cost::Cost least_part = 1000;
  if (excess(earlier) != excess(latest)) return excess(earlier) < excess(latest);
  const cost::Cost least_gain = was_cut_short(latest) ? 0 : cost_of(latest) / least_part;
  return cost_of(earlier) < cost_of(latest) - least_gain;
}

}  // namespace

search::SearchResult search_in_rounds(std::optional<SearchRounds::Seconds> time, const SearchRounds& rounds) {
  constexpr std::size_t most_rounds = 12;
  search::SearchResult best;
  for (std::size_t round = 1;; ++round) {
    const auto start = std::chrono::steady_clock::now();
    search::SearchResult found = rounds.look(time);
    const SearchRounds::Seconds taken = std::chrono::steady_clock::now() - start;
    if (time) *time -= taken;
    const End end = found.end;
    const bool has_news = !found.steps.empty() && rounds.measure(found.graph) > 0;
    if (has_news) rounds.price(found);
    if (has_news && round > 1) rounds.price(best);
    if (round == 1 || !is_still_better(best, found)) best = std::move(found);
    best.end = rounds.interrupted() ? End::stopped : end;
    if (!has_news || rounds.interrupted() || round == most_rounds) return best;
    // A round that is cut short finds less than this one, unless this one found nothing that pays.
    if (time && *time < (pays(best) ? taken : SearchRounds::Seconds(0))) {
      best.end = End::time;
      return best;
    }
  }
}

}  // namespace taso::cli
