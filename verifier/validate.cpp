#include <algorithm>

#include <fmt/format.h>

#include "verifier/membership.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/refutation/refute.h"
#include "verifier/refutation/small_sizes.h"
#include "verifier/verify.h"

namespace taso::verifier {
namespace {

/// An evenly spaced sample of at most `most` instances.
std::vector<rules::Instance> some_of(const std::vector<rules::Instance>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<rules::Instance> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

/// Validates a law. `functions` says which operators stand for any function of their class, `tried` which rules are
/// tried with numbers.
PropertyVerdict validate_as(const rules::Rule& property, const std::vector<rules::Rule>& tried,
                            const std::vector<AnyFunction>& functions, const ValidateOptions& options,
                            const std::stop_token& stop) {
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
  refute_options.tries = std::max<std::size_t>(options.random_shapes / tried.size(), 1);
  refute_options.both_ways = true;
  refute_options.stop = stop;
  for (const rules::Rule& one : tried) {
    const std::vector<rules::Instance> some =
        some_of(tried.size() == 1 ? all : rules::all_instances(one).made, refute_options.tries / 4 + 1);
    const Refutation refutation = refute(some, refute_options);
    verdict.random_shapes += refutation.tried;
    if (!refutation.counterexample) continue;
    verdict.counterexample = text_of(*refutation.counterexample, some[refutation.counterexample->instance]);
    if (tried.size() > 1) verdict.counterexample = fmt::format("{}:\n{}", one.name, verdict.counterexample);
    return verdict;
  }
  SmallSizesOptions small_options;
  small_options.seed = options.seed;
  small_options.effort = options.effort / 10;
  small_options.assignments = 4;
  small_options.stop = stop;
  const SmallSizes small = check_small_sizes(some_of(all, 12), small_options);
  verdict.small_sizes = small.proved;
  verdict.small_sizes_open = small.unknown + small.refuted;  // refuted: for some function of the class
  NormalFormLimits limits;
  limits.stop = stop;
  limits.any_functions = functions;
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

bool uses(const std::vector<rules::PatternPtr>& patterns, std::string_view op) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const rules::PatternPtr& pattern) {
    return pattern->op == op || uses(pattern->operands, op);
  });
}

/// A member of the class for each variable, which occurs nowhere else in the law; nothing if there is none. Members
/// that are uninterpreted in Z3 come first: what Z3 proves of them also holds for any function.
std::optional<std::vector<const rules::Signature*>> stand_ins(const rules::Rule& law) {
  std::vector<const rules::Signature*> chosen;
  for (const rules::FunctionVariable& variable : law.functions) {
    std::vector<const rules::Signature*> members = rules::members_of(law, variable);
    const auto is_uninterpreted = [](const rules::Signature* member) {
      return member->name == "erf" || member->name == "exp" || member->name == "tanh" || member->name == "pow";
    };
    std::stable_partition(members.begin(), members.end(), is_uninterpreted);
    const auto found = std::find_if(members.begin(), members.end(), [&](const rules::Signature* member) {
      return !uses(law.source, member->name) && !uses(law.target, member->name) &&
             std::find(chosen.begin(), chosen.end(), member) == chosen.end();
    });
    if (found == members.end()) return std::nullopt;
    chosen.push_back(*found);
  }
  return chosen;
}

AnyFunction any_function_of(const rules::FunctionVariable& variable, const rules::Signature& stand_in) {
  AnyFunction any;
  any.stand_in = *rules::kind_named(stand_in.name);
  for (const rules::FunctionClass* of : rules::classes_of(variable)) {
    any.keeps_zero |= of->trait == Trait::keeps_zero;
    any.rises |= of->trait == Trait::rising;
    any.is_linear |= of->trait == Trait::linear;
  }
  return any;
}

}  // namespace

void PropertyVerdict::add(const PropertyVerdict& other) {
  instances += other.instances;
  proved += other.proved;
  small_sizes += other.small_sizes;
  small_sizes_open += other.small_sizes_open;
  random_shapes += other.random_shapes;
  if (obstacle.empty()) obstacle = other.obstacle;
  if (counterexample.empty()) counterexample = other.counterexample;
}

PropertyVerdict validate(const rules::Rule& property, const ValidateOptions& options, const std::stop_token& stop) {
  if (property.functions.empty()) return validate_as(property, {property}, {}, options, stop);
  const std::vector<rules::Rule> members = rules::expanded(property);
  PropertyVerdict verdict;
  const auto chosen = is_proved_once(property) ? stand_ins(property) : std::nullopt;
  if (chosen) {
    std::vector<AnyFunction> functions;
    for (std::size_t i = 0; i < chosen->size(); ++i)
      functions.push_back(any_function_of(property.functions[i], *(*chosen)[i]));
    verdict = validate_as(rules::with_members(property, *chosen), members, functions, options, stop);
    verdict.is_proved_once = true;
  } else {
    for (const rules::Rule& member : members) {
      PropertyVerdict one = validate_as(member, {member}, {}, options, stop);
      if (!one.counterexample.empty()) one.counterexample = fmt::format("{}:\n{}", member.name, one.counterexample);
      verdict.add(one);
    }
  }
  for (const rules::Rule& member : members) verdict.members.push_back(member.name);
  return verdict;
}

bool follows_from_others(std::size_t property, const std::vector<rules::Rule>& properties, const VerifyOptions& options,
                         const std::stop_token& stop) {
  std::vector<rules::Rule> others;
  for (std::size_t i = 0; i < properties.size(); ++i)
    if (i != property)
      for (rules::Rule& other : rules::expanded(properties[i])) others.push_back(std::move(other));
  VerifyOptions without = options;
  without.abduce = false;
  without.second_opinion = false;
  const rules::Properties known(others);
  const std::vector<rules::Rule> all = rules::expanded(properties[property]);
  return std::all_of(all.begin(), all.end(), [&](const rules::Rule& rule) {
    const RuleVerdict verdict = verify(rule, known, without, stop);
    return verdict.kind == RuleVerdict::Kind::proved && verdict.by_properties == verdict.instances;
  });
}

}  // namespace taso::verifier
