#include "verifier/verify.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/rule_text.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/proof/abduce.h"
#include "verifier/proof/deadline.h"
#include "verifier/proof/definedness.h"
#include "verifier/proof/entailment.h"
#include "verifier/proof/proof.h"
#include "verifier/refutation/refute.h"
#include "verifier/refutation/small_sizes.h"

namespace taso::verifier {
namespace {

std::string witness_text(const rules::Instance& instance, const rules::Assignment& assignment) {
  const rules::Places places = rules::places_of(instance);
  const auto number = [&](const Dim& dim) {
    const auto value = rules::CompiledDim(dim, places).evaluate(assignment.unknowns);
    return value ? std::to_string(*value) : "?";
  };
  std::string text;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    text += fmt::format("{}{}[", i ? ", " : "", instance.inputs[i]);
    const Shape& shape = instance.nodes[i].shapes[0];
    for (std::size_t k = 0; k < shape.size(); ++k) text += (k ? ", " : "") + number(shape[k]);
    text += "]";
  }
  const std::set<std::string> inputs(instance.inputs.begin(), instance.inputs.end());
  const auto is_attribute = [&](const std::string& name) {
    return !rules::is_made_up(name) && !inputs.contains(name.substr(0, name.rfind('.')));
  };
  std::map<std::string, std::string> attributes;
  for (std::size_t i = 0; i < instance.unknowns.size(); ++i)
    if (is_attribute(instance.unknowns[i].name))
      attributes[instance.unknowns[i].name] = std::to_string(assignment.unknowns[i]);
  for (const auto& [name, dim] : instance.determined)
    if (is_attribute(name)) attributes[name] = number(dim);
  for (const auto& [name, value] : attributes) text += fmt::format(", {} = {}", name, value);
  return text;
}

/// Instances leave out pooling with `ceil`: its shape is not a polynomial.
bool rounds_up(const std::vector<rules::PatternPtr>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [](const rules::PatternPtr& pattern) {
    return rounds_up(pattern->operands) ||
           std::any_of(pattern->attributes.begin(), pattern->attributes.end(), [](const auto& attribute) {
             const rules::Term& term = *attribute.second;
             return attribute.first == "ceil" && (term.kind != rules::Term::Kind::boolean || term.integer != 0);
           });
  });
}

/// Whether it computes with ranks, or with lists whose length is a rank.
bool computes_with_ranks(const rules::Term& term) {
  static const std::set<std::string_view> of_numbers{"+", "-", "*", "/", "%", "same"};
  const bool is_plain = term.kind != rules::Term::Kind::call || of_numbers.contains(term.name) ||
                        (term.name == "dim" && term.operands[1]->kind == rules::Term::Kind::integer);
  return !is_plain || std::any_of(term.operands.begin(), term.operands.end(),
                                  [](const rules::TermPtr& operand) { return computes_with_ranks(*operand); });
}
bool computes_with_ranks(const std::vector<rules::PatternPtr>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [](const rules::PatternPtr& pattern) {
    return computes_with_ranks(pattern->operands) ||
           std::any_of(pattern->attributes.begin(), pattern->attributes.end(),
                       [](const auto& attribute) { return computes_with_ranks(*attribute.second); });
  });
}
bool computes_with_ranks(const rules::Rule& rule) {
  // Comparing a shape with another fixes a rank, but computes nothing with it.
  const auto in_side = [](const rules::TermPtr& side) {
    return side && !(side->kind == rules::Term::Kind::call && (side->name == "shape" || side->name == "rank")) &&
           computes_with_ranks(*side);
  };
  const auto in_condition = [&](const rules::Condition& condition) {
    return in_side(condition.left) || in_side(condition.right);
  };
  return computes_with_ranks(rule.source) || computes_with_ranks(rule.target) ||
         std::any_of(rule.conditions.begin(), rule.conditions.end(), in_condition);
}

class Verification {
 public:
  Verification(const rules::Rule& rule, const rules::Properties& properties, const VerifyOptions& options,
               const std::stop_token& stop)
      : rule_(rule), properties_(properties), options_(options), deadline_(options.time_limit, stop) {}

  /// Numbers that overflow leave the rule undecided.
  RuleVerdict run(const std::vector<rules::Condition>& extra) {
    try {
      return decide_all(extra);
    } catch (const ShapeError& error) {
      RuleVerdict unknown;
      unknown.instances = instances_.size();
      unknown.reason = error.what();
      return unknown;
    }
  }

  std::vector<std::vector<rules::Condition>> conditions() const {
    try {
      return conceivable_conditions(rule_, instances_, properties_, options_.seed);
    } catch (const ShapeError&) {
      return {};
    }
  }
  bool is_over() const { return deadline_.is_over(); }

 private:
  static constexpr std::size_t quick_tries = 24, thorough_tries = 2000;
  static constexpr const char* rounding_up = "the number of windows is rounded up, which the verifier does not model";

  RuleVerdict decide_all(const std::vector<rules::Condition>& extra) {
    rules::InstanceOptions instance_options;
    instance_options.extra = extra;
    rules::InstanceList all = rules::all_instances(rule_, instance_options);
    instances_ = std::move(all.made);
    if (!all.undecided.empty()) open_ = all.undecided.front();
    const auto fits = [](const rules::Instance& instance) { return instance.target_fits; };
    if (std::none_of(instances_.begin(), instances_.end(), fits)) {
      if (!open_.empty()) {
        verdict_.reason = open_;
        return std::move(verdict_);
      }
      if (instances_.empty() && !beyond(extra).empty()) {
        verdict_.reason = fmt::format("it applies only to ranks and lengths above {}, which are not tried",
                                      rules::greatest_rank(rule_));
        return std::move(verdict_);
      }
      if (rounds_up(rule_.source) || rounds_up(rule_.target)) {
        verdict_.reason = rounding_up;
        return std::move(verdict_);
      }
      verdict_.kind = RuleVerdict::Kind::refuted;
      verdict_.reason = instances_.empty() ? "there are no ranks and axes at which its source is well-formed"
                                           : "its target is never well-formed, or never has the source's shape";
      verdict_.counterexample = verdict_.reason + "\n";
      return std::move(verdict_);
    }
    verdict_.instances = instances_.size();
    if (look_for_counterexample(quick_tries)) return std::move(verdict_);
    if (!check_witnesses()) return std::move(verdict_);
    if (open_.empty() && (rounds_up(rule_.source) || rounds_up(rule_.target))) open_ = rounding_up;
    for (std::size_t i = 0; i < instances_.size() && open_.empty(); ++i)
      if (is_possible_[i]) decide(i);
    // Last, in the remaining time: a second opinion must not take time from the first.
    for (std::size_t i = 0; i < instances_.size() && open_.empty() && !deadline_.is_over(); ++i)
      if (is_possible_[i]) ask_for_second_opinion(i);
    if (open_.empty()) look_beyond(extra);
    if (open_.empty()) {
      verdict_.kind = RuleVerdict::Kind::proved;
      verdict_.properties.assign(used_.begin(), used_.end());
      return std::move(verdict_);
    }
    if (options_.thorough && look_for_counterexample(thorough_tries)) return std::move(verdict_);
    verdict_.kind = RuleVerdict::Kind::unknown;
    verdict_.reason = deadline_.is_over() ? "the time limit was reached" : open_;
    return std::move(verdict_);
  }

  std::vector<rules::Instance> beyond(const std::vector<rules::Condition>& extra) const {
    constexpr std::size_t greatest_rank = 7, count = 24;
    rules::InstanceOptions instance_options;
    instance_options.extra = extra;
    instance_options.greatest_rank = greatest_rank;
    return computes_with_ranks(rule_) ? rules::instances_beyond(rule_, instance_options, count, options_.seed)
                                      : std::vector<rules::Instance>();
  }

  /// A rule is proved for the ranks and lengths that were tried, and used only there. Still, a rule that is false
  /// beyond them because it computes with them is not called proved.
  void look_beyond(const std::vector<rules::Condition>& extra) {
    const std::vector<rules::Instance> more = beyond(extra);
    if (more.empty()) return;
    RefuteOptions refute_options;
    refute_options.seed = options_.seed;
    refute_options.tries = 4 * more.size();
    refute_options.shrink = false;
    refute_options.stop = deadline_.token();
    const Refutation refutation = refute(more, refute_options);
    if (refutation.counterexample) {
      open_ = fmt::format("it is false beyond the ranks and lengths that are proved: {}",
                          more[refutation.counterexample->instance].choice);
      return;
    }
    const auto found = std::find_if(more.begin(), more.end(), [&](const rules::Instance& one) {
      return is_too_large_to_try(one, refute_options.most_work);
    });
    if (found != more.end())
      open_ = fmt::format("it is too large to be tried beyond the proved ranks and lengths: {}", found->choice);
  }

  /// Whether the instance is too large even at the smallest sizes, so that no counterexample could be searched.
  bool is_too_large_to_try(const rules::Instance& instance, double most_work) const {
    const rules::Concretizer concretizer(instance);
    const auto assignments = rules::AssignmentSampler(instance).samples(4, options_.seed, 1);
    return !assignments.empty() &&
           std::all_of(assignments.begin(), assignments.end(), [&](const rules::Assignment& assignment) {
             const auto built = concretizer.at(assignment);
             if (const auto* misfit = std::get_if<rules::Misfit>(&built)) return !misfit->in_target;
             return std::get<rules::ConcreteInstance>(built).work > most_work;
           });
  }

  bool look_for_counterexample(std::size_t tries) {
    RefuteOptions refute_options;
    refute_options.seed = options_.seed;
    refute_options.tries = tries;
    refute_options.stop = deadline_.token();
    const Refutation refutation = refute(instances_, refute_options);
    if (witnesses_.empty()) witnesses_ = refutation.witnesses;
    if (!refutation.counterexample) return false;
    const Counterexample& found = *refutation.counterexample;
    const rules::Instance& instance = instances_[found.instance];
    verdict_.kind = RuleVerdict::Kind::refuted;
    verdict_.counterexample = text_of(found, instance);
    verdict_.reason = !found.misfit.empty() ? found.misfit
                      : found.is_undefined  ? "the target is undefined where the source has a value"
                                            : "the two sides compute different values";
    if (found.is_undefined)
      contradict_definedness(instance);
    else
      contradict(found.instance, found.misfit.empty());
    return true;
  }

  /// Reports a disagreement if a prover proves what has a counterexample.
  void contradict(std::size_t place, bool target_is_well_formed) {
    const rules::Instance& instance = instances_[place];
    if (!instance.target_fits) return;
    // A proof of something false would be short: it needs a fault, not a search.
    ProofLimits brief = limits();
    brief.saturation.rounds = 4;
    brief.saturation.terms = 400;
    const ProofResult proof = prove(instance, properties_, brief, deadline_.token());
    if (proof.kind == ProofResult::Kind::proved) {
      verdict_.disagreement = "a proof from the properties, which Z3 accepted, and a counterexample\nproof:";
      for (const ProofStep& step : proof.proof.steps)
        verdict_.disagreement += " " + properties_[step.property].rule().name;
      verdict_.disagreement += "\n" + proof.certificate + "\ncounterexample:\n" + verdict_.counterexample;
    }
    NormalFormLimits brief_form = normal_form_limits();
    brief_form.effort /= 10;
    brief_form.steps /= 10;
    if (options_.second_opinion && target_is_well_formed &&
        prove_by_normal_form(instance, brief_form).kind == NormalFormResult::Kind::proved)
      verdict_.disagreement =
          "a proof by the normal form (" + instance.choice + "), and a counterexample\n" + verdict_.counterexample;
  }

  void contradict_definedness(const rules::Instance& instance) {
    if (prove_definedness(instance, normal_form_limits()).kind == NormalFormResult::Kind::proved)
      verdict_.disagreement = "a proof that the target is defined (" + instance.choice + "), and a counterexample\n" +
                              verdict_.counterexample;
  }

  /// A rule without a witness says nothing.
  bool check_witnesses() {
    is_possible_.assign(instances_.size(), true);
    std::size_t possible = 0;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      if (i < witnesses_.size() && witnesses_[i]) {
        ++possible;
        if (verdict_.witness.empty()) verdict_.witness = witness_text(instances_[i], *witnesses_[i]);
        continue;
      }
      Entailment entailment(instances_[i].unknowns, instances_[i].hypotheses, options_.effort / 20);
      if (!entailment.consistent())
        is_possible_[i] = false;
      else if (open_.empty())
        open_ = "no shapes and attributes were found that satisfy its hypotheses: " + instances_[i].choice;
    }
    if (possible > 0 || !open_.empty()) return true;
    verdict_.kind = RuleVerdict::Kind::refuted;
    verdict_.reason = "its hypotheses contradict each other: it says nothing";
    verdict_.counterexample = verdict_.reason + "\n";
    return false;
  }

  ProofLimits limits() const {
    ProofLimits result;
    result.effort = options_.effort;
    result.seed = options_.seed;
    return result;
  }
  NormalFormLimits normal_form_limits() const {
    NormalFormLimits result;
    result.effort = std::min(result.effort, options_.effort);
    result.stop = deadline_.token();
    return result;
  }

  void decide(std::size_t place) {
    const rules::Instance& instance = instances_[place];
    // Both provers of equality treat partial functions as total, so both need this proof.
    const NormalFormResult definedness = prove_definedness(instance, normal_form_limits());
    if (definedness.kind != NormalFormResult::Kind::proved) {
      open_ = fmt::format("{} ({})", definedness.reason, instance.choice);
      return;
    }
    // Little effort first: a proof that needs more spends most of it on questions that lead nowhere.
    ProofResult proof;
    bool proved = false;
    for (const unsigned part : {32u, 4u, 1u}) {
      ProofLimits some = limits();
      some.effort /= part;
      proof = prove(instance, properties_, some, deadline_.token());
      proved = proof.kind == ProofResult::Kind::proved;
      if (proof.kind != ProofResult::Kind::unchecked || deadline_.is_over()) break;
    }
    if (proved) {
      ++verdict_.by_properties;
      for (const std::size_t property : proof.properties) used_.insert(properties_[property].rule().name);
      if (options_.keep_certificates) verdict_.certificates.push_back(std::move(proof.certificate));
    }
    if (proved) {
      by_properties_.insert(place);
      return;
    }
    if (options_.normal_form && holds_by_normal_form(instance))
      used_.insert("normal-form");
    else
      open_ = fmt::format("{} ({})", proof.reason, instance.choice);
  }

  /// Asks the normal form about an instance that the properties prove.
  void ask_for_second_opinion(std::size_t place) {
    // With very many ranks and axes, a sample must do.
    constexpr std::size_t most_opinions = 24;
    const bool is_sampled = instances_.size() <= most_opinions || place % (instances_.size() / most_opinions) == 0;
    if (options_.second_opinion && is_sampled && by_properties_.contains(place))
      holds_by_normal_form(instances_[place]);
  }

  bool holds_by_normal_form(const rules::Instance& instance) {
    const bool holds = prove_by_normal_form(instance, normal_form_limits()).kind == NormalFormResult::Kind::proved;
    if (holds) ++verdict_.by_normal_form;
    return holds;
  }

  const rules::Rule& rule_;
  const rules::Properties& properties_;
  const VerifyOptions& options_;
  Deadline deadline_;
  std::vector<rules::Instance> instances_;
  std::vector<std::optional<rules::Assignment>> witnesses_;
  std::vector<bool> is_possible_;
  std::set<std::size_t> by_properties_;  // instances
  std::set<std::string> used_;
  std::string open_;  // why an instance is not decided
  RuleVerdict verdict_;
};

}  // namespace

std::string_view text_of(RuleVerdict::Kind kind) {
  switch (kind) {
    case RuleVerdict::Kind::proved: return "proved";
    case RuleVerdict::Kind::conditional: return "proved under a condition";
    case RuleVerdict::Kind::refuted: return "refuted";
    case RuleVerdict::Kind::unknown: return "unknown";
  }
  return {};
}

RuleVerdict verify(const rules::Rule& rule, const rules::Properties& properties, const VerifyOptions& options,
                   const std::stop_token& stop) {
  const auto begin = std::chrono::steady_clock::now();
  Verification verification(rule, properties, options, stop);
  RuleVerdict verdict = verification.run({});
  const bool may_be_true_somewhere =
      verdict.kind == RuleVerdict::Kind::refuted && verdict.instances > 0 && verdict.disagreement.empty();
  if (!options.abduce || !may_be_true_somewhere) return verdict;
  std::size_t attempts = 0;
  for (const auto& conditions : verification.conditions()) {
    if (++attempts > options.conditions || verification.is_over() || stop.stop_requested()) break;
    VerifyOptions without = options;
    without.second_opinion = false;
    without.thorough = false;
    without.effort = options.effort / 4;
    if (options.time_limit > 0) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      without.time_limit = options.time_limit - spent.count();
      if (without.time_limit <= 0) break;
    }
    RuleVerdict narrower = Verification(rule, properties, without, stop).run(conditions);
    if (!narrower.disagreement.empty()) return narrower;
    if (narrower.kind != RuleVerdict::Kind::proved) continue;
    narrower.kind = RuleVerdict::Kind::conditional;
    narrower.condition = conditions;
    narrower.counterexample = std::move(verdict.counterexample);
    narrower.reason = std::move(verdict.reason);
    return narrower;
  }
  return verdict;
}

}  // namespace taso::verifier
