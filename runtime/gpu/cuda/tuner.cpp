#include "runtime/gpu/cuda/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "cost/pricing/recorded_prices.h"
#include "ops/core/error.h"

namespace taso::gpu::cuda {

namespace {

constexpr std::size_t first_repetitions = 10, first_replays = 3;
constexpr std::size_t fewest_repetitions = 5, most_repetitions = 40, careful_replays = 7;
constexpr double careful_microseconds = 400;  ///< per graph
constexpr std::size_t most_rounds = 4;
constexpr double settled = 0.03;
constexpr double least_microseconds = 0.1;  ///< for calls that take almost no time compared with what runs before them
constexpr double most_for_code = 10'000;    ///< nanoseconds that fetching the code of a kernel takes at most

/// For the brief measurement: a variant that is slow alone is slow in a network.
constexpr Surroundings alone{Surroundings::Before::itself, false};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A quantile of sorted numbers, interpolated.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return quantile(numbers, 0.5);
}

/// The allowed relative distance (by norm) between results of two correct variants.
double tolerance(const cost::Call& call) {
  double most = 1e-9;
  for (const cost::Call::Operand& operand : call.written) {
    switch (operand.element) {
      case ElementType::float32: most = std::max(most, call.precision == cost::Precision::fp32 ? 1e-4 : 3e-3); break;
      case ElementType::float16: most = std::max(most, 5e-3); break;
      case ElementType::bfloat16: most = std::max(most, 4e-2); break;
      default: break;
    }
  }
  return most;
}

bool has_weights(const cost::Call& call) {
  return std::any_of(call.read.begin(), call.read.end(), [](const cost::Call::Operand& one) { return one.is_weight; });
}

/// Whether the operands, without weights, fill so much of the cache that what runs before makes a difference of about
/// 20 µs, which hides the cost of fetching code.
bool is_large(const cost::Call& call, std::size_t cache_bytes) {
  std::size_t bytes = 0;
  for (const auto* operands : {&call.read, &call.written})
    for (const cost::Call::Operand& operand : *operands)
      if (!operand.is_weight) bytes += span_bytes(operand);
  return static_cast<double>(bytes) > 0.4 * static_cast<double>(cache_bytes);
}

}  // namespace

Tuner::Tuner(Libraries& libraries, TuningLimits limits)
    : libraries_(libraries), limits_(limits), bench_(libraries.cache_bytes()) {}

std::vector<Tuner::Candidate> Tuner::candidates_of(Ways& ways) {
  std::vector<Candidate> list;
  for (PreparedCall& call : ways.calls) list.push_back({std::move(call), 0, 0, ""});
  return list;
}

void Tuner::set_up(const cost::Call& call, const std::vector<Candidate>& candidates) {
  std::size_t scratch = 0, workspace = 0;
  for (const Candidate& candidate : candidates) {
    scratch = std::max(scratch, candidate.call.scratch_bytes);
    workspace = std::max(workspace, candidate.call.workspace_bytes());
  }
  bench_.set_up(call, scratch, workspace);
}

/// Runs the candidate once, and finds the earlier ones that agree with it.
void Tuner::compare(Candidate& candidate, double allowed, std::size_t& groups) {
  bench_.run(candidate.call);
  if (!bench_.is_complete()) throw EnvironmentError("does not write all of its results");
  for (candidate.group = 0; candidate.group < groups; ++candidate.group)
    if (bench_.distance(candidate.group) <= allowed) return;
  if (bench_.keep() != groups) throw EnvironmentError("no two variants agree");
  ++groups;
}

/// Marks the candidates outside the largest group as wrong; of equally large groups, the earliest counts. Our own
/// kernels share their errors even if they cut the work differently, so results of libraries decide where there are
/// any. Returns whether all agree.
bool Tuner::tell_wrong_ones(std::vector<Candidate>& candidates) {
  std::map<std::size_t, std::size_t> members;
  for (const Candidate& candidate : candidates)
    if (candidate.trouble.empty()) members[candidate.group] += candidate.call.is_own ? 1 : candidates.size();
  std::size_t right = 0, most = 0;
  for (const auto& [group, count] : members) {
    if (count <= most) continue;
    most = count;
    right = group;
  }
  for (Candidate& candidate : candidates)
    if (candidate.trouble.empty() && candidate.group != right)
      candidate.trouble = "its result differs from that of most variants";
  return members.size() <= 1;
}

void Tuner::try_out(const cost::Call& call, std::vector<Candidate>& candidates, double seconds) {
  set_up(call, candidates);
  bench_.wake();
  const double allowed = tolerance(call);
  const auto begin = std::chrono::steady_clock::now();
  double best = 0;
  std::size_t groups = 0;
  for (Candidate& candidate : candidates) {
    if (best > 0 && seconds_since(begin) > seconds) {
      candidate.trouble = "not tried: out of time";
      continue;
    }
    try {
      compare(candidate, allowed, groups);
      const double estimate = bench_.estimate(candidate.call);
      if (best > 0 && estimate > 4 * best + 30) throw EnvironmentError("far slower than other variants");
      candidate.microseconds =
          std::max(median(bench_.time(candidate.call, first_repetitions, first_replays, alone)), least_microseconds);
      if (best == 0 || candidate.microseconds < best) best = candidate.microseconds;
    } catch (const EnvironmentError& error) {
      candidate.trouble = error.what();
    }
  }
  tell_wrong_ones(candidates);
}

std::vector<std::string> Tuner::ways(const cost::Call& call, std::size_t most) {
  constexpr std::size_t fewest = 3;  // if these do not agree, more are tried
  std::vector<Candidate> tried;
  Candidates candidates(libraries_, libraries_.admitted(lowerings(call)), {});
  for (std::size_t wanted = std::max(most, fewest);; wanted *= 2) {
    while (tried.size() < wanted) {
      std::optional<PreparedCall> next = candidates.next();
      if (!next) break;
      tried.push_back({std::move(*next), 0, 0, ""});
    }
    set_up(call, tried);
    std::size_t groups = 0;
    for (Candidate& candidate : tried) {
      try {
        candidate.trouble.clear();
        compare(candidate, tolerance(call), groups);
      } catch (const EnvironmentError& error) {
        candidate.trouble = error.what();
      }
    }
    if (tell_wrong_ones(tried) || tried.size() < wanted) break;
  }
  std::vector<std::string> choices;
  for (const Candidate& candidate : tried)
    if (candidate.trouble.empty() && choices.size() < most) choices.push_back(candidate.call.choice);
  return choices;
}

std::vector<std::string> Tuner::brief_choices(std::span<const cost::Call> calls) {
  // Compiling takes most of the time, so only the tilings that promise most are compiled, all in parallel, and engines
  // that a library compiles for a second are left out.
  constexpr std::size_t most_own = 2, most_tried = 4;
  constexpr double seconds_each = 0.03;
  std::vector<std::vector<Lowering>> promising;
  for (const cost::Call& call : calls) {
    std::vector<Lowering>& few = promising.emplace_back(libraries_.admitted(lowerings(call)));
    std::size_t own = 0;
    std::erase_if(few, [&](const Lowering& one) { return is_own(one) && ++own > most_own; });
    libraries_.expect(few);
  }
  std::vector<std::string> choices;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Candidates candidates(libraries_, std::move(promising[i]), {}, Libraries::Effort::brief);
    std::vector<Candidate> tried;
    while (tried.size() < most_tried) {
      std::optional<PreparedCall> next = candidates.next();
      if (!next) break;
      tried.push_back({std::move(*next), 0, 0, ""});
    }
    choices.emplace_back();
    if (tried.empty()) continue;
    try_out(calls[i], tried, seconds_each);
    double best = std::numeric_limits<double>::infinity();
    for (const Candidate& candidate : tried) {
      if (!candidate.trouble.empty() || candidate.microseconds >= best) continue;
      best = candidate.microseconds;
      choices.back() = candidate.call.choice;
    }
  }
  return choices;
}

Measurement Tuner::measure_carefully(const Candidate& candidate, const Surroundings& surroundings) {
  const auto wanted = static_cast<std::size_t>(std::ceil(careful_microseconds / candidate.microseconds));
  const std::size_t repetitions = std::clamp(wanted, fewest_repetitions, most_repetitions);
  Measurement result;
  result.is_settled = false;
  result.choice = candidate.call.choice;
  bench_.wake();
  std::vector<double> before, times;
  for (std::size_t round = 0; round < most_rounds && !result.is_settled; ++round) {
    before = std::move(times);
    times = bench_.time(candidate.call, repetitions, careful_replays, surroundings);
    if (before.empty()) continue;
    const double now = median(times), then = median(before);
    result.is_settled = std::abs(now - then) <= settled * std::min(now, then);
  }
  times.insert(times.end(), before.begin(), before.end());
  std::sort(times.begin(), times.end());
  const double middle = std::max(quantile(times, 0.5), least_microseconds);
  result.nanoseconds = middle * 1000;
  result.spread = (quantile(times, 0.75) - quantile(times, 0.25)) / 2 / middle;
  return result;
}

Measurement Tuner::measure(const cost::Call& call, const Alignments& alignments) {
  Measurement none;
  try {
    Ways ways = ways_of(libraries_, lowerings(call), alignments);
    none.trouble = ways.reason;
    std::vector<Candidate> candidates = candidates_of(ways);
    if (candidates.empty()) {
      if (none.trouble.empty()) none.trouble = "no variant works";
      return none;
    }
    try_out(call, candidates, limits_.seconds_to_try);
    std::vector<const Candidate*> finalists;
    for (const Candidate& candidate : candidates)
      if (candidate.trouble.empty()) finalists.push_back(&candidate);
    if (finalists.empty()) {
      none.trouble = candidates.front().trouble;
      return none;
    }
    std::stable_sort(finalists.begin(), finalists.end(),
                     [](const Candidate* a, const Candidate* b) { return a->microseconds < b->microseconds; });
    const double limit = limits_.slowest_finalist * finalists.front()->microseconds;
    std::erase_if(finalists, [limit](const Candidate* one) { return one->microseconds > limit; });
    if (finalists.size() > limits_.finalists) finalists.resize(limits_.finalists);
    return measure_in_network(call, finalists);
  } catch (const EnvironmentError& error) {
    none.trouble = error.what();
    return none;
  }
}

Measurement Tuner::measure_in_network(const cost::Call& call, const std::vector<const Candidate*>& finalists) {
  using Before = Surroundings::Before;
  const Surroundings itself{Before::itself, false}, warm{Before::itself, true}, stranger{Before::stranger, false};
  Measurement best;
  const Candidate* winner = nullptr;
  for (const Candidate* one : finalists) {
    Measurement result = measure_carefully(*one, Surroundings());
    // A difference that fetching code cannot make up for cannot win, and long kernels take long to measure.
    if (winner != nullptr && result.nanoseconds > best.nanoseconds + most_for_code) continue;
    result.again_nanoseconds = measure_carefully(*one, itself).nanoseconds;
    result.stranger_nanoseconds =
        is_large(call, libraries_.cache_bytes()) ? result.nanoseconds : measure_carefully(*one, stranger).nanoseconds;
    if (winner != nullptr && cost::cost_of(result) >= cost::cost_of(best)) continue;
    best = result;
    winner = one;
  }
  best.warm_nanoseconds = has_weights(call) ? measure_carefully(*winner, warm).nanoseconds : best.again_nanoseconds;
  return best;
}

Tuner::Candidate Tuner::candidate_of(const cost::Call& call, const std::string& choice) {
  Candidate candidate{libraries_.prepare(call, {}, choice), 0, 0, ""};
  bench_.set_up(call, candidate.call.scratch_bytes, candidate.call.workspace_bytes());
  // Some libraries load their kernels at the first launch, which a capture forbids.
  bench_.run(candidate.call);
  candidate.microseconds = std::max(bench_.estimate(candidate.call), least_microseconds);
  return candidate;
}

Measurement Tuner::measure_choice(const cost::Call& call, const std::string& choice) {
  const Candidate candidate = candidate_of(call, choice);
  return measure_in_network(call, {&candidate});
}

double Tuner::time_choice(const cost::Call& call, const std::string& choice, const Surroundings& surroundings) {
  const Candidate candidate = candidate_of(call, choice);
  return measure_carefully(candidate, surroundings).nanoseconds;
}

std::vector<Measurement> Tuner::measure_all(const cost::Call& call) {
  constexpr double patience = 600;
  std::vector<Measurement> all;
  Measurement none;
  try {
    Ways ways = ways_of(libraries_, lowerings(call), {}, patience);
    none.trouble = ways.reason;
    std::vector<Candidate> candidates = candidates_of(ways);
    if (candidates.empty()) return {none};
    try_out(call, candidates, patience);
    for (const Candidate& candidate : candidates) {
      Measurement one;
      one.nanoseconds = candidate.microseconds * 1000;
      one.choice = candidate.call.choice;
      one.trouble = candidate.trouble;
      all.push_back(std::move(one));
    }
  } catch (const EnvironmentError& error) {
    none.trouble = error.what();
    all.push_back(std::move(none));
  }
  return all;
}

}  // namespace taso::gpu::cuda
