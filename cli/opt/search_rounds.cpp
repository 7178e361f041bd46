#include "cli/opt/search_rounds.h"

namespace taso::cli {
namespace {

using End = search::SearchResult::End;

search::ResultCost cost_of(const search::SearchResult& found) {
  return {found.cost_before, found.cost_after, found.run_before, found.run_after};
}

bool pays(const search::SearchResult& found) { return !found.steps.empty() && cost_of(found).excess() == 0; }

bool is_still_better(const search::SearchResult& earlier, const search::SearchResult& latest) {
  const bool was_cut_short = latest.end == End::time || latest.end == End::stopped;
  return search::is_preferred(cost_of(earlier), cost_of(latest), was_cut_short);
}

/// Hope during one round.
class Hope {
 public:
  Hope(const SearchRounds& rounds, bool is_on) : rounds_(is_on ? &rounds : nullptr) {
    if (rounds_ != nullptr) rounds_->be_hopeful(true);
  }
  ~Hope() {
    if (rounds_ != nullptr) rounds_->be_hopeful(false);
  }
  Hope(const Hope&) = delete;
  Hope& operator=(const Hope&) = delete;

 private:
  const SearchRounds* rounds_;
};

search::SearchResult look(const SearchRounds& rounds, std::optional<SearchRounds::Seconds> time, bool is_hopeful) {
  const Hope hope(rounds, is_hopeful);
  return rounds.look(time);
}

}  // namespace

search::SearchResult search_in_rounds(std::optional<SearchRounds::Seconds> time, const SearchRounds& rounds) {
  constexpr std::size_t most_rounds = 12;
  search::SearchResult best;
  bool is_hopeful = false;
  for (std::size_t round = 1;; ++round) {
    const auto start = std::chrono::steady_clock::now();
    search::SearchResult found = look(rounds, time, is_hopeful);
    const SearchRounds::Seconds taken = std::chrono::steady_clock::now() - start;
    if (time) *time -= taken;
    const End end = is_hopeful ? best.end : found.end;
    const bool has_news = !found.steps.empty() && rounds.measure(found.graph) > 0;
    if (has_news || is_hopeful) rounds.price(found);
    if (has_news && round > 1) rounds.price(best);
    if (is_hopeful) {
      // What each rule saved, and how far from the best regions are, was told by hopeful prices.
      found.trials = best.trials;
      found.gaps.clear();
      if (is_still_better(found, best)) best = std::move(found);
    } else if (round == 1 || !is_still_better(best, found)) {
      best = std::move(found);
    }
    best.end = rounds.interrupted() ? End::stopped : end;
    if (rounds.interrupted() || round == most_rounds) return best;
    if (!has_news) {
      const bool is_complete = end != End::time && end != End::stopped;
      if (is_hopeful || !rounds.be_hopeful || !rounds.may_hope() || !is_complete || (time && *time < taken))
        return best;
      is_hopeful = true;
      continue;
    }
    // A round that is cut short finds less than this one, unless this one found nothing that pays.
    if (time && *time < (pays(best) ? taken : SearchRounds::Seconds(0))) {
      if (!is_hopeful) best.end = End::time;
      return best;
    }
  }
}

}  // namespace taso::cli
