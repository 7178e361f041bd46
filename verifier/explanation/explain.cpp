#include "verifier/explanation/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "rules/language/mathematics.h"
#include "rules/language/rule_text.h"
#include "verifier/explanation/chain.h"
#include "verifier/explanation/drawing.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/normal_form/readable.h"
#include "verifier/proof/definedness.h"
#include "verifier/refutation/refute.h"

namespace taso::verifier {
namespace {

/// More choices of ranks and axes are not told; nor are more different proofs.
constexpr std::size_t most_tried = 48, most_told = 3;

/// Names of unknowns without the quotes that a Dim puts around names with a dot.
std::string plain(std::string text) {
  std::erase(text, '\'');
  std::erase(text, '"');
  return text;
}

rules::TermPtr term_of(const rules::SymbolicField& field) {
  struct Visitor {
    rules::TermPtr operator()(bool value) const { return rules::boolean_term(value); }
    rules::TermPtr operator()(std::int64_t value) const { return rules::integer_term(value); }
    rules::TermPtr operator()(const Dim& value) const {
      return value.is_static() ? rules::integer_term(value.value()) : rules::variable_term(plain(value.text()));
    }
    rules::TermPtr operator()(const rules::RealAttribute& value) const {
      return value.variable.empty() ? rules::real_term(value.value) : rules::variable_term(value.variable);
    }
    rules::TermPtr operator()(const std::vector<std::int64_t>& value) const {
      std::vector<rules::TermPtr> elements;
      for (const std::int64_t one : value) elements.push_back(rules::integer_term(one));
      return rules::list_term(std::move(elements));
    }
    rules::TermPtr operator()(const std::vector<Dim>& value) const {
      std::vector<rules::TermPtr> elements;
      for (const Dim& one : value) elements.push_back((*this)(one));
      return rules::list_term(std::move(elements));
    }
  };
  return std::visit(Visitor{}, field);
}

/// Strides of 1, pads of 0 and the like, which people leave out.
bool is_usual(const rules::SymbolicFieldName& name, const rules::SymbolicField& field) {
  const auto all = [&](std::int64_t usual) {
    if (const auto* one = std::get_if<Dim>(&field)) return *one == Dim(usual);
    const auto* list = std::get_if<std::vector<Dim>>(&field);
    return list != nullptr && std::all_of(list->begin(), list->end(), [&](const Dim& d) { return d == Dim(usual); });
  };
  if (name.name == "strides" || name.name == "dilations" || name.name == "groups") return all(1);
  if (name.name == "pads") return all(0);
  return std::holds_alternative<bool>(field) && field == name.sample;
}

rules::PatternPtr pattern_of(const std::vector<ProofTerm>& terms, std::size_t id, const rules::Instance& instance) {
  const ProofTerm& term = terms[id];
  rules::Pattern pattern;
  if (term.input) {
    pattern.input = instance.inputs[*term.input];
    return std::make_shared<const rules::Pattern>(std::move(pattern));
  }
  pattern.op = ops::name_of(rules::prototype(term.op.kind));
  pattern.output = term.output;
  const auto& names = rules::symbolic_fields(term.op.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!is_usual(names[i], term.op.fields[i]))
      pattern.attributes.emplace_back(std::string(names[i].name), term_of(term.op.fields[i]));
  for (const std::size_t operand : term.operands) pattern.operands.push_back(pattern_of(terms, operand, instance));
  return std::make_shared<const rules::Pattern>(std::move(pattern));
}

/// The proof of one instance.
struct Told {
  std::string text, choice;
  std::string kind;               ///< equal for proofs that take the same steps
  std::vector<std::size_t> used;  ///< properties
};

class Teller {
 public:
  Teller(const rules::Rule& rule, const rules::Properties& properties, const VerifyOptions& options,
         const std::stop_token& stop)
      : rule_(rule), properties_(properties), options_(options), stop_(stop) {}

  Explanation tell() {
    Explanation result{verify(rule_, properties_, options_, stop_), ""};
    const RuleVerdict& verdict = result.verdict;
    std::string& text = result.text;
    const auto [source, target] = rules::mathematics_of(rule_);
    text = fmt::format("{}: {}\n  {}\n  ⇒ {}\n", rule_.name, text_of(verdict.kind), source, target);
    if (!rule_.conditions.empty()) text += fmt::format("  where {}\n", conditions_text(rule_.conditions));
    if (stop_.stop_requested()) return result;
    switch (verdict.kind) {
      case RuleVerdict::Kind::proved: text += proof(verdict, {}); break;
      case RuleVerdict::Kind::conditional:
        text += fmt::format("\nAs it stands it is false.\n\n{}\nIt is true where {}.\n", counterexample(verdict),
                            conditions_text(verdict.condition));
        text += proof(verdict, verdict.condition);
        break;
      case RuleVerdict::Kind::refuted: text += "\n" + counterexample(verdict); break;
      case RuleVerdict::Kind::unknown:
        text += fmt::format("\nNo proof and no counterexample was found: {}.\n", verdict.reason);
        break;
    }
    return result;
  }

 private:
  static std::string conditions_text(const std::vector<rules::Condition>& conditions) {
    std::vector<std::string> texts;
    for (const rules::Condition& one : conditions) texts.push_back(rules::mathematics_of(one));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  /// Searches it as verify() does, so that the same one is found.
  std::string counterexample(const RuleVerdict& verdict) const {
    const std::vector<rules::Instance> instances = rules::all_instances(rule_).made;
    for (const std::size_t tries : {std::size_t{24}, std::size_t{2000}}) {
      RefuteOptions options;
      options.seed = options_.seed;
      options.tries = tries;
      options.stop = stop_;
      const Refutation refutation = refute(instances, options);
      if (refutation.counterexample)
        return fmt::format("Counterexample {}",
                           drawing_of(*refutation.counterexample, instances[refutation.counterexample->instance]));
    }
    return verdict.counterexample;
  }

  std::string proof(const RuleVerdict& verdict, const std::vector<rules::Condition>& extra) {
    rules::InstanceOptions instance_options;
    instance_options.extra = extra;
    const std::vector<rules::Instance> instances = rules::all_instances(rule_, instance_options).made;
    std::vector<std::pair<Told, std::vector<std::string>>> kinds;  // and the choices at which it is the same
    std::size_t tried = 0, told = 0;
    for (const rules::Instance& instance : instances) {
      if (tried == most_tried || stop_.stop_requested()) break;
      ++tried;
      if (!instance.target_fits) continue;
      std::optional<Told> one = tell_instance(instance);
      if (!one) continue;
      ++told;
      const auto known =
          std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first.kind == one->kind; });
      if (known != kinds.end())
        known->second.push_back(one->choice);
      else
        kinds.emplace_back(std::move(*one), std::vector<std::string>());
    }
    std::string text = fmt::format(
        "\nProved for all sizes, at {} of ranks and axes ({} from properties, {} by the normal form).\n"
        "x.1 is the size of x along axis 1.\n",
        verdict.instances == 1 ? "the one choice" : fmt::format("each of the {} choices", verdict.instances),
        verdict.by_properties, verdict.by_normal_form);
    std::set<std::size_t> used;
    for (std::size_t i = 0; i < std::min(kinds.size(), most_told); ++i) {
      const auto& [kind, others] = kinds[i];
      text += fmt::format("\n{}\n{}", kind.choice.empty() ? "At any shape:" : fmt::format("At {}:", kind.choice),
                          kind.text);
      if (!others.empty())
        text += fmt::format("  The same steps at {}{}.\n", others.front(),
                            others.size() == 1 ? "" : fmt::format(" and {} more", others.size() - 1));
      used.insert(kind.used.begin(), kind.used.end());
    }
    if (kinds.size() > most_told)
      text += fmt::format("\n{} other ways to prove other choices are left out.\n", kinds.size() - most_told);
    if (instances.size() > tried) text += fmt::format("{} more choices are left out.\n", instances.size() - tried);
    return text + properties_text(used) + definedness_text(instances);
  }

  std::string properties_text(const std::set<std::size_t>& used) const {
    std::string text = used.empty() ? "" : "\nProperties that were used:\n";
    for (const std::size_t index : used) {
      const rules::Rule& property = properties_[index].rule();
      const auto [source, target] = rules::mathematics_of(property);
      text += fmt::format("  {}: {} = {}{}\n", property.name, source, target,
                          property.conditions.empty() ? "" : ", where " + conditions_text(property.conditions));
    }
    return text;
  }

  static std::string definedness_text(const std::vector<rules::Instance>& instances) {
    if (std::none_of(instances.begin(), instances.end(), target_may_be_undefined))
      return "\nThe target is defined at all numbers: nothing in it divides or takes a root.\n";
    return "\nThe target is defined wherever the source is: whatever it divides by, or takes the root of, is that of\n"
           "the source, or never 0 or negative.\n";
  }

  std::optional<Told> tell_instance(const rules::Instance& instance) {
    ProofLimits limits;
    limits.seed = options_.seed;
    for (const unsigned part : {32u, 4u, 1u}) {
      limits.effort = options_.effort / part;
      const ProofResult proof = prove(instance, properties_, limits, stop_);
      if (proof.kind == ProofResult::Kind::proved) return tell_chain(instance, proof.proof);
      if (proof.kind != ProofResult::Kind::unchecked) break;
    }
    NormalFormLimits form;
    form.stop = stop_;
    if (prove_by_normal_form(instance, form).kind != NormalFormResult::Kind::proved) return std::nullopt;
    return tell_normal_form(instance);
  }

  /// The proof with short terms and without superfluous steps, if that passes the check too.
  std::pair<Proof, Certificate> shortened(const rules::Instance& instance, const Proof& proof) const {
    Certificate certificate = certify(instance, proof, properties_);
    Proof shorter = with_short_terms(certificate, proof);
    Certificate again = certify(instance, shorter, properties_);
    const auto needed = needed_steps(again, shorter.steps.size(), options_.effort, stop_);
    if (!needed) return {proof, std::move(certificate)};
    if (needed->size() < shorter.steps.size()) {
      std::vector<ProofStep> kept;
      for (const std::size_t step : *needed) kept.push_back(shorter.steps[step]);
      shorter.steps = std::move(kept);
      again = certify(instance, shorter, properties_);
    }
    if (!check_certificate(again, instance, shorter.steps.size(), options_.effort, stop_).accepted)
      return {proof, std::move(certificate)};
    return {std::move(shorter), std::move(again)};
  }

  std::optional<Told> tell_chain(const rules::Instance& instance, const Proof& found) const {
    const auto [proof, certificate] = shortened(instance, found);
    const Chain chain = chain_of(certificate);
    Told told{"", instance.choice, "", {}};
    const auto text_of_term = [&](std::size_t term) {
      return rules::mathematics_of(*pattern_of(chain.terms, term, instance));
    };
    told.text = made_up_text(instance);
    for (std::size_t i = 0; i < chain.results.size(); ++i) {
      const Chain::Result& result = chain.results[i];
      if (!result.is_complete) return std::nullopt;
      if (chain.results.size() > 1) told.text += fmt::format("  Result {}:\n", i + 1);
      std::string shown = text_of_term(result.begin);
      told.text += fmt::format("    {}\n", shown);
      for (const ChainStep& step : result.steps) {
        const Certificate::Equation& equation = certificate.equations[step.equation];
        const std::size_t property = proof.steps[equation.step].property;
        told.used.push_back(property);
        told.kind += fmt::format("{}{} ", step.is_reversed ? "-" : "", properties_[property].rule().name);
        std::string next = text_of_term(step.result);
        // Mathematics does not distinguish some operators, such as the first part of a split and a slice.
        if (next == shown) next = rules::text_of(*pattern_of(chain.terms, step.result, instance));
        shown = std::move(next);
        told.text += fmt::format("  = {{ {}{}{} }}\n    {}\n", properties_[property].rule().name,
                                 step.is_reversed ? ", from right to left" : "",
                                 applied_to(equation, property, text_of_term), shown);
      }
      if (result.steps.empty()) told.text += "  which is the target as it stands\n";
      told.kind += "; ";
    }
    return told;
  }

  /// ", with a = x·y, b = z": what the property's inputs stand for.
  template <class Text>
  std::string applied_to(const Certificate::Equation& equation, std::size_t property, const Text& text_of_term) const {
    const std::vector<std::string>& inputs = properties_[property].inputs();
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < equation.inputs.size(); ++i)
      if (std::string text = text_of_term(equation.inputs[i]); text != inputs[i])
        parts.push_back(fmt::format("{} := {}", inputs[i], text));
    return parts.empty() ? "" : fmt::format(", with {}", fmt::join(parts, ", "));
  }

  /// What the unknowns are that solving divisibilities made up.
  static std::string made_up_text(const rules::Instance& instance) {
    std::string text;
    for (const auto& [name, meaning] : instance.made_up)
      text += fmt::format("  Here {} is {}.\n", name, plain(meaning.text()));
    return text;
  }

  static Told tell_normal_form(const rules::Instance& instance) {
    Told told{made_up_text(instance), instance.choice, "normal form", {}};
    const std::vector<ReadableElement> elements = readable_normal_forms(instance);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const ReadableElement& element = elements[i];
      const std::string result = elements.size() > 1 ? fmt::format("result {}", i + 1) : "the result";
      told.text += fmt::format("  An element of {}{}, written as a sum over the inputs:\n", result,
                               element.index.empty() ? "" : fmt::format(" at [{}]", fmt::join(element.index, ", ")));
      if (!element.obstacle.empty()) {
        told.text += fmt::format("    too long to be shown ({})\n", element.obstacle);
        continue;
      }
      told.text += matched(element);
    }
    return told;
  }

  static std::string matched(const ReadableElement& element) {
    std::vector<std::string> left = element.source, right = element.target, both;
    for (auto term = left.begin(); term != left.end();) {
      const auto same = std::find(right.begin(), right.end(), *term);
      if (same == right.end()) {
        ++term;
        continue;
      }
      both.push_back(*term);
      right.erase(same);
      term = left.erase(term);
    }
    std::string text;
    for (const std::string& term : both) text += fmt::format("    both sides   {}\n", term);
    for (const std::string& term : left) text += fmt::format("    source       {}\n", term);
    for (const std::string& term : right) text += fmt::format("    target       {}\n", term);
    if (text.empty()) return "    both sides   0\n";
    if (left.empty() && right.empty()) return text + "  Term by term they are the same.\n";
    return text + fmt::format(
                      "  {}he terms of the source and of the target add up to the same for all sizes: they run\n"
                      "  over the same products, split or shifted differently (shown by cases, with Z3).\n",
                      both.empty() ? "T" : "The others, t");
  }

  const rules::Rule& rule_;
  const rules::Properties& properties_;
  const VerifyOptions& options_;
  std::stop_token stop_;
};

}  // namespace

Explanation explain(const rules::Rule& rule, const rules::Properties& properties, const VerifyOptions& options,
                    const std::stop_token& stop) {
  return Teller(rule, properties, options, stop).tell();
}

}  // namespace taso::verifier
