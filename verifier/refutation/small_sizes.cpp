#include "verifier/refutation/small_sizes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "verifier/refutation/symbol.h"

namespace taso::verifier {
namespace {

std::string text_at(const rules::Instance& instance, const rules::Assignment& assignment) {
  std::string text = instance.choice;
  for (std::size_t i = 0; i < instance.unknowns.size(); ++i)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", instance.unknowns[i].name, assignment.unknowns[i]);
  return text;
}

Verdict prove_at(const rules::ConcreteInstance& concrete, const rules::Instance& instance, unsigned effort) {
  std::vector<Tensor<Symbol>> inputs;
  for (std::size_t i = 0; i < concrete.inputs.size(); ++i) {
    std::vector<Symbol> data;
    for (std::int64_t k = 0; k < count(concrete.inputs[i]); ++k)
      data.push_back(Symbol::variable(fmt::format("{}[{}]", instance.inputs[i], k)));
    inputs.emplace_back(concrete.inputs[i], std::move(data));
  }
  const auto sides = rules::evaluate_sides<Symbol>(concrete, inputs);
  std::vector<std::pair<Symbol, Symbol>> pairs;
  for (std::size_t i = 0; i < sides.source.size(); ++i)
    for (std::size_t k = 0; k < sides.source[i].data.size(); ++k)
      pairs.emplace_back(sides.source[i].data[k], sides.target[i].data[k]);
  return prove_equal(pairs, effort);
}

}  // namespace

std::vector<rules::Assignment> small_assignments(const rules::Instance& instance, std::int64_t values,
                                                 std::uint64_t seed, std::size_t most_seen) {
  const rules::AssignmentSampler sampler(instance);
  Random random(seed);
  const auto with_reals = [&](std::vector<std::int64_t> unknowns) {
    rules::Assignment assignment{std::move(unknowns), {}};
    for (std::size_t i = 0; i < instance.real_variables.size(); ++i)
      assignment.reals.push_back(random.pick<double>({0.5, 2, -1, 3, 0.25}));
    return assignment;
  };
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < sampler.least().size() && combinations <= most_seen; ++i)
    combinations *= static_cast<std::size_t>(values);

  std::vector<rules::Assignment> result;
  if (combinations <= most_seen) {
    for (std::size_t code = 0; code < combinations; ++code) {
      std::vector<std::int64_t> unknowns = sampler.least();
      std::size_t rest = code;
      for (std::int64_t& value : unknowns) {
        value += static_cast<std::int64_t>(rest) % values;
        rest /= static_cast<std::size_t>(values);
      }
      if (sampler.admits(unknowns)) result.push_back(with_reals(std::move(unknowns)));
    }
  } else {
    std::set<std::vector<std::int64_t>> seen;
    for (std::size_t i = 0; i < 64; ++i)
      if (const auto assignment = sampler.sample(random, values))
        if (seen.insert(assignment->unknowns).second) result.push_back(with_reals(assignment->unknowns));
  }
  // If two values are too few for the hypotheses, a larger one may do.
  if (result.empty())
    if (auto assignment = sampler.sample(random, values + 1)) result.push_back(std::move(*assignment));
  random.shuffle(result);
  return result;
}

SmallSizes check_small_sizes(const rules::Instance& instance, const SmallSizesOptions& options) {
  SmallSizes result;
  const rules::Concretizer concretizer(instance);
  const auto count_verdict = [&](Verdict::Kind kind, const std::string& reason, const rules::Assignment& assignment) {
    result.instances = 1;
    if (kind == Verdict::proved) {
      ++result.proved;
      return;
    }
    const bool first_refuted = kind == Verdict::refuted && result.refuted == 0;
    ++(kind == Verdict::refuted ? result.refuted : result.unknown);
    if (first_refuted || result.reason.empty())
      result.reason = fmt::format("at {}: {}", text_at(instance, assignment), reason);
  };
  std::vector<std::pair<const rules::Assignment*, rules::ConcreteInstance>> subjects;
  const auto assignments = small_assignments(instance, options.values, options.seed);
  constexpr std::size_t looked_at = 100;
  for (std::size_t i = 0; i < assignments.size() && i < looked_at; ++i) {
    auto built = concretizer.at(assignments[i]);
    if (const auto* misfit = std::get_if<rules::Misfit>(&built)) {
      if (misfit->in_target) count_verdict(Verdict::refuted, misfit->reason, assignments[i]);
      continue;
    }
    auto& concrete = std::get<rules::ConcreteInstance>(built);
    if (concrete.work <= options.most_work) subjects.emplace_back(&assignments[i], std::move(concrete));
  }
  // The largest shows most; the others in any order.
  const auto largest = std::max_element(subjects.begin(), subjects.end(),
                                        [](const auto& a, const auto& b) { return a.second.work < b.second.work; });
  if (largest != subjects.end()) std::iter_swap(subjects.begin(), largest);
  for (std::size_t i = 0;
       i < subjects.size() && i < options.assignments && !options.stop.stop_requested() && result.unknown < 2; ++i) {
    const Verdict verdict = prove_at(subjects[i].second, instance, options.effort);
    count_verdict(verdict.kind, verdict.reason, *subjects[i].first);
  }
  return result;
}

SmallSizes check_small_sizes(const std::vector<rules::Instance>& instances, const SmallSizesOptions& options) {
  SmallSizes sum;
  if (instances.empty()) return sum;
  const std::size_t chosen = std::min(instances.size(), std::max<std::size_t>(options.in_all, 1));
  SmallSizesOptions each = options;
  each.assignments = std::min(options.assignments, std::max<std::size_t>(options.in_all / chosen, 1));
  // If Z3 gives up, it does so again and again.
  constexpr std::size_t most_unknown = 4;
  for (std::size_t i = 0; i < chosen && !options.stop.stop_requested() && sum.unknown < most_unknown; ++i) {
    const SmallSizes one = check_small_sizes(instances[i * instances.size() / chosen], each);
    if (!one.reason.empty() && (sum.reason.empty() || (one.refuted > 0 && sum.refuted == 0))) sum.reason = one.reason;
    sum.proved += one.proved;
    sum.refuted += one.refuted;
    sum.unknown += one.unknown;
    sum.instances += one.instances;
  }
  return sum;
}

}  // namespace taso::verifier
