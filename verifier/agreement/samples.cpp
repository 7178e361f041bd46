#include "verifier/agreement/samples.h"

#include <algorithm>
#include <set>
#include <utility>

namespace taso::verifier {

std::vector<Sample> samples_of(const rules::Instance& instance, const SampleOptions& options,
                               const std::stop_token& stop) {
  const rules::AssignmentSampler sampler(instance);
  const rules::Concretizer concretizer(instance);
  Random random(options.seed);
  using Candidate = std::pair<rules::Assignment, rules::ConcreteInstance>;
  std::vector<Candidate> candidates;
  std::set<rules::Assignment> seen;
  constexpr std::int64_t bounds[] = {4, 6, 9, 5, 7, 12};  // small sizes find small differences, large ones the pattern
  for (std::size_t i = 0; i < 8 * options.sizes && candidates.size() < 3 * options.sizes; ++i) {
    if (stop.stop_requested()) return {};
    auto assignment = sampler.sample(random, bounds[i % std::size(bounds)]);
    if (!assignment || !seen.insert(*assignment).second) continue;
    auto built = concretizer.at(*assignment);
    auto* concrete = std::get_if<rules::ConcreteInstance>(&built);
    if (concrete == nullptr || concrete->work > options.most_work) continue;
    candidates.emplace_back(std::move(*assignment), std::move(*concrete));
  }
  const auto size_of = [](const Candidate& one) {
    const auto& [node, output] = one.second.source[0];
    return count(extents_of(one.second.nodes[node].shapes[output]));
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return size_of(a) > size_of(b); });
  // The largest outputs, and a few of the smallest.
  if (candidates.size() > options.sizes) {
    const auto small = static_cast<std::ptrdiff_t>(options.sizes / 4);
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(options.sizes) - small, candidates.end() - small);
  }
  std::vector<Sample> samples;
  for (auto& [assignment, concrete] : candidates) {
    if (stop.stop_requested()) return {};
    FieldAgreement field = agreement_in_field(concrete, options.inputs, random);
    std::vector<bool> different = field.equal;
    different.flip();
    BlockCounter counter(field.extents, different);
    samples.push_back({std::move(assignment), std::move(concrete), std::move(field), std::move(counter)});
  }
  return samples;
}

}  // namespace taso::verifier
