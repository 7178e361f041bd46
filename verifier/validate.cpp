#include <algorithm>

#include <fmt/format.h>

#include "verifier/normal_form/normal_form.h"
#include "verifier/refutation/refute.h"
#include "verifier/refutation/small_sizes.h"
#include "verifier/verify.h"

namespace taso::verifier {
namespace {

/// Every so many of a long list, so that at most `most` are left.
std::vector<rules::Instance> some_of(const std::vector<rules::Instance>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<rules::Instance> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

}  // namespace

PropertyVerdict validate(const rules::Rule& property, const ValidateOptions& options, const std::stop_token& stop) {
  PropertyVerdict verdict;
  const auto [all, undecided] = rules::all_instances(property);
  verdict.instances = all.size() + undecided.size();
  if (!undecided.empty()) verdict.obstacle = undecided.front();
  if (all.empty() && !undecided.empty()) return verdict;
  if (all.empty() || !all.front().target_fits) {
    verdict.counterexample = "there are no ranks and axes at which both sides are well-formed\n";
    return verdict;
  }
  RefuteOptions refute_options;
  refute_options.seed = options.seed;
  refute_options.tries = options.random_shapes;
  refute_options.both_ways = true;
  refute_options.stop = stop;
  const std::vector<rules::Instance> tried = some_of(all, options.random_shapes / 4 + 1);
  const Refutation refutation = refute(tried, refute_options);
  verdict.random_shapes = refutation.tried;
  if (refutation.counterexample) {
    verdict.counterexample = text_of(*refutation.counterexample, tried[refutation.counterexample->instance]);
    return verdict;
  }
  SmallSizesOptions small_options;
  small_options.seed = options.seed;
  small_options.effort = options.effort / 10;
  small_options.assignments = 4;
  small_options.stop = stop;
  const SmallSizes small = check_small_sizes(some_of(all, 12), small_options);
  verdict.small_sizes = small.proved;
  verdict.small_sizes_open = small.unknown + small.refuted;  // refuted for functions that may be any
  NormalFormLimits limits;
  limits.stop = stop;
  for (const rules::Instance& instance : all) {
    if (stop.stop_requested()) break;
    const NormalFormResult result = prove_by_normal_form(instance, limits);
    if (result.kind == NormalFormResult::proved)
      ++verdict.proved;
    else if (verdict.obstacle.empty())
      verdict.obstacle = fmt::format("{} ({})", result.reason, instance.choice);
  }
  return verdict;
}

bool follows_from_others(std::size_t property, const std::vector<rules::Rule>& properties, const VerifyOptions& options,
                         const std::stop_token& stop) {
  std::vector<rules::Rule> others = properties;
  rules::Rule rule = others[property];
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(property));
  VerifyOptions without = options;
  without.abduce = false;
  without.second_opinion = false;
  const RuleVerdict verdict = verify(rule, rules::Properties(others), without, stop);
  return verdict.kind == RuleVerdict::Kind::proved && verdict.by_properties == verdict.instances;
}

}  // namespace taso::verifier
