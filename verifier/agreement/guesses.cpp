#include "verifier/agreement/guesses.h"

#include <algorithm>
#include <map>
#include <set>

namespace taso::verifier {
namespace {

constexpr std::size_t references = 4;    // samples whose blocks are generalised
constexpr std::size_t most_blocks = 24;  // of one reference
constexpr std::size_t most_equal = 3;    // bounds that are equal at every sample
constexpr std::size_t most_choices = 6;  // bounds for one end of one interval
constexpr std::size_t most_tests = 60'000;

/// A bound and its value at each sample, within the output.
struct KnownBound {
  Dim bound;
  Extents values;
};

std::vector<KnownBound> known_bounds(const rules::Instance& instance, const std::vector<Dim>& bounds,
                                     const std::vector<Sample>& samples, std::size_t axis) {
  const rules::Places places = rules::places_of(instance);
  std::vector<KnownBound> known;
  std::map<Extents, std::size_t> equal;
  for (const Dim& bound : bounds) {
    const rules::CompiledDim compiled(bound, places);
    Extents values;
    for (const Sample& sample : samples) {
      const auto value = compiled.evaluate(sample.assignment.unknowns);
      if (!value) break;
      values.push_back(std::clamp<std::int64_t>(*value, 0, sample.field.extents[axis]));
    }
    if (values.size() == samples.size() && equal[values]++ < most_equal) known.push_back({bound, std::move(values)});
  }
  return known;
}

}  // namespace

std::vector<Guess> guesses_of(const rules::Instance& instance, const std::vector<std::vector<Dim>>& bounds,
                              const std::vector<Sample>& samples) {
  std::vector<std::vector<KnownBound>> known;
  for (std::size_t axis = 0; axis < bounds.size(); ++axis)
    known.push_back(known_bounds(instance, bounds[axis], samples, axis));
  std::vector<Guess> guesses;
  std::set<std::vector<const KnownBound*>> tried;
  for (std::size_t reference = 0; reference < std::min(references, samples.size()); ++reference)
    for (const Block& block : maximal_blocks(samples[reference].field, most_blocks)) {
      // For each axis the bounds that are the block's at this sample: low, high, low, high, …
      std::vector<std::vector<const KnownBound*>> choices;
      std::size_t combinations = 1;
      for (std::size_t axis = 0; axis < known.size(); ++axis)
        for (const std::int64_t end : {block.low[axis], block.high[axis]}) {
          auto& fitting = choices.emplace_back();
          for (const KnownBound& one : known[axis])
            if (one.values[reference] == end && fitting.size() < most_choices) fitting.push_back(&one);
          combinations *= fitting.size();
        }
      for (std::size_t number = 0; number < combinations && tried.size() < most_tests; ++number) {
        std::vector<const KnownBound*> chosen;
        std::size_t rest = number;
        for (const auto& fitting : choices) {
          chosen.push_back(fitting[rest % fitting.size()]);
          rest /= fitting.size();
        }
        if (!tried.insert(chosen).second) continue;
        Guess guess;
        for (std::size_t axis = 0; axis < known.size(); ++axis)
          guess.box.axes.push_back({chosen[2 * axis]->bound, chosen[2 * axis + 1]->bound});
        for (std::size_t i = 0; i < samples.size(); ++i) {
          Block here;
          for (std::size_t axis = 0; axis < known.size(); ++axis) {
            here.low.push_back(chosen[2 * axis]->values[i]);
            here.high.push_back(std::max(here.low.back(), chosen[2 * axis + 1]->values[i]));
          }
          if (samples[i].different.count(here) > 0) break;
          guess.blocks.push_back(std::move(here));
        }
        if (guess.blocks.size() == samples.size()) guesses.push_back(std::move(guess));
      }
    }
  return guesses;
}

}  // namespace taso::verifier
