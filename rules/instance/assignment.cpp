#include "rules/instance/assignment.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

// A side without a value is worse than any distance.
constexpr std::int64_t undefined = 1000;

std::int64_t clipped(std::int64_t distance) { return std::clamp<std::int64_t>(distance, 1, undefined - 1); }

std::int64_t first_guess(Random& random, std::int64_t least, std::int64_t bound) {
  // Small, so that evaluation is cheap and people can follow; mostly above 1, where little is true by chance.
  static constexpr std::int64_t steps[] = {0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4};
  static constexpr std::int64_t from_zero[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 1};
  const std::size_t choice = random.below(std::size(steps));
  return least + std::min((least > 0 ? steps : from_zero)[choice], std::max<std::int64_t>(bound - least, 0));
}

double random_real(Random& random) {
  // Few binary digits, so that doubles are exact; both signs, and both sides of 1.
  return random.pick<double>({0.5, 0.25, 2, 1.5, 3, 0.125, -1, -0.5, 0.75, 5});
}

}  // namespace

Places places_of(const Instance& instance) {
  Places places;
  for (std::size_t i = 0; i < instance.unknowns.size(); ++i) places.emplace(instance.unknowns[i].name, i);
  return places;
}

CompiledRequirement::CompiledRequirement(const Requirement& requirement, const Places& places)
    : kind(requirement.kind), left(requirement.left, places), right(requirement.right, places) {}

bool CompiledRequirement::holds(std::span<const std::int64_t> values) const { return violation(values) == 0; }

std::int64_t CompiledRequirement::violation(std::span<const std::int64_t> values) const {
  const auto a = left.evaluate(values), b = right.evaluate(values);
  if (!a || !b) return undefined;
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(*b, *a, &difference)) difference = std::numeric_limits<std::int64_t>::max();
  switch (kind) {
    case Requirement::Kind::equal:
      return *a == *b ? 0 : clipped(difference < 0 ? -std::max(difference, -undefined) : difference);
    case Requirement::Kind::not_equal: return *a == *b ? 1 : 0;
    case Requirement::Kind::at_least: return *a >= *b ? 0 : clipped(difference);
    case Requirement::Kind::divides: {
      if (*a <= 0) return undefined;
      const std::int64_t rest = (*b % *a + *a) % *a;
      return rest == 0 ? 0 : clipped(std::min(rest, *a - rest));
    }
  }
  return undefined;
}

AssignmentSampler::AssignmentSampler(const Instance& instance)
    : reals_(instance.real_variables.size()), hypotheses_of_(instance.unknowns.size()) {
  const Places places = places_of(instance);
  for (const Unknown& unknown : instance.unknowns) least_.push_back(unknown.least);
  for (const Requirement& hypothesis : instance.hypotheses) {
    CompiledRequirement compiled(hypothesis, places);
    std::set<std::size_t> mentioned;
    for (const Dim& side : {hypothesis.left, hypothesis.right})
      for (const std::string& name : side.symbols()) mentioned.insert(places.find(name)->second);
    if (mentioned.empty()) {
      contradictory_ |= !compiled.holds({});
      continue;
    }
    for (const std::size_t unknown : mentioned) hypotheses_of_[unknown].push_back(hypotheses_.size());
    hypotheses_.push_back(std::move(compiled));
    unknowns_of_.emplace_back(mentioned.begin(), mentioned.end());
  }
}

bool AssignmentSampler::admits(std::span<const std::int64_t> unknowns) const {
  check(unknowns.size() == least_.size(), "each unknown has a value");
  if (contradictory_) return false;
  for (std::size_t i = 0; i < least_.size(); ++i)
    if (unknowns[i] < least_[i]) return false;
  return std::all_of(hypotheses_.begin(), hypotheses_.end(),
                     [&](const CompiledRequirement& hypothesis) { return hypothesis.holds(unknowns); });
}

std::int64_t AssignmentSampler::violation_around(std::size_t unknown, std::span<const std::int64_t> values) const {
  std::int64_t sum = 0;
  for (const std::size_t hypothesis : hypotheses_of_[unknown]) sum += hypotheses_[hypothesis].violation(values);
  return sum;
}

// Picks a hypothesis that fails, and gives one of its unknowns the value with the smallest violation; now and then any
// value, to escape dead ends.
bool AssignmentSampler::repair(std::vector<std::int64_t>& values, Random& random, std::int64_t bound) const {
  const std::size_t steps = 30 + 10 * values.size();
  std::vector<std::size_t> failing;
  for (std::size_t step = 0; step < steps; ++step) {
    failing.clear();
    for (std::size_t i = 0; i < hypotheses_.size(); ++i)
      if (!hypotheses_[i].holds(values)) failing.push_back(i);
    if (failing.empty()) return true;
    const std::vector<std::size_t>& choices = unknowns_of_[random.pick(failing)];
    const std::size_t unknown = random.pick(choices);
    if (random.chance(0.15)) {
      values[unknown] = first_guess(random, least_[unknown], bound);
      continue;
    }
    const std::int64_t before = values[unknown], greatest = least_[unknown] + 3 * bound;
    std::vector<std::int64_t> best;
    std::int64_t best_violation = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t value = least_[unknown]; value <= greatest; ++value) {
      if (value == before) continue;
      values[unknown] = value;
      const std::int64_t violation = violation_around(unknown, values);
      if (violation > best_violation) continue;
      if (violation < best_violation) best.clear();
      best_violation = violation;
      best.push_back(value);
    }
    // Among equally good values choose a small one, but not always the smallest.
    best.resize(std::min<std::size_t>(best.size(), 3));
    values[unknown] = random.pick(best);
  }
  return false;
}

std::optional<Assignment> AssignmentSampler::sample(Random& random, std::int64_t bound) const {
  if (contradictory_) return std::nullopt;
  // No tensor is that large, and sums of such numbers overflow.
  constexpr std::int64_t beyond_any_tensor = std::int64_t{1} << 40;
  if (std::any_of(least_.begin(), least_.end(), [](std::int64_t least) { return least > beyond_any_tensor; }))
    return std::nullopt;
  constexpr int attempts = 30;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Assignment assignment;
    for (const std::int64_t least : least_) assignment.unknowns.push_back(first_guess(random, least, bound));
    if (!repair(assignment.unknowns, random, bound)) continue;
    for (std::size_t i = 0; i < reals_; ++i) assignment.reals.push_back(random_real(random));
    return assignment;
  }
  return std::nullopt;
}

std::vector<Assignment> AssignmentSampler::samples(std::size_t count, std::uint64_t seed, std::int64_t bound) const {
  Random random(seed);
  std::set<Assignment> seen;
  std::vector<Assignment> result;
  for (std::size_t attempt = 0; attempt < 2 * count && result.size() < count; ++attempt) {
    auto assignment = sample(random, bound);
    if (!assignment) break;
    if (seen.insert(*assignment).second) result.push_back(std::move(*assignment));
  }
  return result;
}

}  // namespace taso::rules
