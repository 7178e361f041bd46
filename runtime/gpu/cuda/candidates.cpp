#include "runtime/gpu/cuda/candidates.h"

#include <algorithm>
#include <chrono>

#include "ops/core/error.h"

namespace taso::gpu::cuda {

namespace {

/// If our own kernel does the call too, libraries rarely win beyond their own first suggestions.
constexpr std::size_t most_beside_own = 16;

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Candidates::Candidates(Libraries& libraries, std::vector<Lowering> lowerings, const Alignments& alignments,
                       Libraries::Effort effort) {
  constexpr int with_clusters = 90;  // needed by our own kernels for products
  const auto is_one_of_ours = [](const Lowering& lowering) {
    return is_own(lowering) && lowering.launches.size() == 1;
  };
  has_own_ = libraries.capability() >= with_clusters && std::any_of(lowerings.begin(), lowerings.end(), is_one_of_ours);
  for (Lowering& lowering : lowerings) {
    // With little effort they take the place of engines that are compiled.
    if (has_own_ && lowering.is_makeshift && effort == Libraries::Effort::full) continue;
    Way way;
    bool is_possible = !lowering.launches.empty();
    for (const Launch& launch : lowering.launches) {
      std::string reason;
      std::vector<Option> options;
      try {
        for (Alternative& alternative : libraries.alternatives(launch, alignments, reason, effort))
          options.push_back({std::move(alternative), nullptr, false});
      } catch (const EnvironmentError& error) {
        reason = error.what();
      }
      if (has_own_ && options.size() > most_beside_own) options.erase(options.begin() + most_beside_own, options.end());
      if (options.empty()) {
        is_possible = false;
        reason_ += (reason_.empty() ? "" : "; ") + lowering.name + ": " + reason;
        break;
      }
      most_ = std::max(most_, options.size());
      way.options.push_back(std::move(options));
    }
    if (!is_possible) continue;
    way.lowering = std::move(lowering);
    ways_.push_back(std::move(way));
  }
}

bool Candidates::prepare(Option& option) {
  if (option.prepared) return true;
  if (option.is_refused) return false;
  try {
    option.prepared = option.alternative.prepare();
    return true;
  } catch (const EnvironmentError& error) {
    option.is_refused = true;
    if (reason_.empty()) reason_ = error.what();
    return false;
  }
}

std::optional<std::size_t> Candidates::first_that_works(std::vector<Option>& options) {
  for (std::size_t i = 0; i < options.size(); ++i)
    if (prepare(options[i])) return i;
  return std::nullopt;
}

std::optional<PreparedCall> Candidates::made(Way& way, std::size_t launch, std::size_t rank) {
  PreparedCall call;
  call.scratch_bytes = static_cast<std::size_t>(way.lowering.scratch_bytes);
  std::vector<std::string> identities;
  for (std::size_t i = 0; i < way.options.size(); ++i) {
    std::optional<std::size_t> pick = i == launch ? rank : first_that_works(way.options[i]);
    if (!pick || !prepare(way.options[i][*pick])) return std::nullopt;
    // This combination was already tried when an earlier launch was varied.
    if (i == launch && launch > 0 && first_that_works(way.options[i]) == rank) return std::nullopt;
    call.launches.push_back(way.options[i][*pick].prepared);
    identities.push_back(way.options[i][*pick].alternative.identity);
  }
  call.choice = choice_of(way.lowering.name, identities);
  call.is_own = is_own(way.lowering);
  return call;
}

std::optional<PreparedCall> Candidates::next() {
  while (rank_ < most_) {
    for (; way_ < ways_.size(); ++way_, launch_ = 0) {
      Way& way = ways_[way_];
      if (only_own_ && !is_own(way.lowering)) continue;
      while (launch_ < way.options.size()) {
        const std::size_t launch = launch_++;
        if (rank_ >= way.options[launch].size()) continue;
        if (std::optional<PreparedCall> call = made(way, launch, rank_)) return call;
      }
    }
    ++rank_;
    way_ = launch_ = 0;
  }
  return std::nullopt;
}

Ways ways_of(Libraries& libraries, std::vector<Lowering> lowerings, const Alignments& alignments, double seconds) {
  lowerings = libraries.admitted(std::move(lowerings));
  libraries.expect(lowerings);  // our own kernels compile in parallel
  Ways ways;
  Candidates candidates(libraries, std::move(lowerings), alignments);
  const double limit = candidates.has_own() ? seconds / 3 : seconds;
  double spent = 0;  // in libraries
  for (;;) {
    const double before = now_in_seconds();
    std::optional<PreparedCall> next = candidates.next();
    if (!next) break;
    if (!next->is_own) spent += now_in_seconds() - before;
    ways.calls.push_back(std::move(*next));
    if (spent <= limit) continue;
    if (!candidates.has_own()) break;
    candidates.leave_out_libraries();
  }
  ways.reason = candidates.reason();
  return ways;
}

}  // namespace taso::gpu::cuda
