#include "verifier/membership.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/instance/instance.h"
#include "rules/language/rule_text.h"
#include "verifier/normal_form/normal_form.h"

namespace taso::verifier {
namespace {

struct Definition {
  std::string_view word;          ///< follows the member's name
  std::vector<const char*> laws;  ///< laws that f obeys
  bool as_rules = false;          ///< proved as rules, from left to right
};

const Definition* definition_of(const rules::FunctionClass& of, std::size_t operands) {
  static const std::map<std::pair<std::string_view, std::size_t>, Definition> all{
      // For these, the normal form of the left side is examined.
      {{"unary", 1}, {"is-element-wise", {"axiom f-a for f in unary\n  f(x) = f(x)"}}},
      {{"binary", 2}, {"is-element-wise", {"axiom f-a for f in binary\n  f(x, y) = f(x, y)\n  where broadcast(x, y)"}}},
      // An undefined value times zero is undefined.
      {{"total", 1}, {"is-total", {"axiom f-a for f in unary\n  sub(x, x) = mul(f(x), sub(x, x))"}, true}},
      {{"total", 2},
       {"is-total",
        {"axiom f-a for f in binary\n  sub(add(x, y), add(x, y)) = mul(f(x, y), sub(x, x))\n"
         "  where shape(x) = shape(y)"},
        true}},
      {{"keeps_zero", 1}, {"keeps-zero", {"axiom f-a for f in unary\n  f(sub(x, x)) = sub(x, x)"}}},
      {{"keeps_zero", 2}, {"keeps-zero", {"axiom f-a for f in binary\n  f(sub(x, x), sub(x, x)) = sub(x, x)"}}},
      // Over an axis of two elements, this is the maximum of two.
      {{"rising", 1},
       {"is-rising",
        {"axiom f-a for f in unary\n  f(reduce_max[axes=r, keep=k](x)) = reduce_max[axes=r, keep=k](f(x))"}}},
      {{"linear", 2},
       {"is-linear",
        {"axiom f-a for f in binary\n  f(add(x, z), add(y, w)) = add(f(x, y), f(z, w))\n"
         "  where shape(x) = shape(y), shape(x) = shape(z), shape(x) = shape(w)",
         "axiom f-b for f in binary\n  f(mul(x, v), mul(y, v)) = mul(f(x, y), v)\n"
         "  where shape(x) = shape(y), shape(x) = shape(v)"}}},
  };
  const auto found = all.find({of.name, operands});
  return found == all.end() ? nullptr : &found->second;
}

/// The verdict on a rule, as that on a property.
PropertyVerdict proved(const rules::Rule& rule, const ValidateOptions& options, const std::stop_token& stop) {
  VerifyOptions how;
  how.seed = options.seed;
  how.abduce = false;
  const RuleVerdict verdict = verify(rule, rules::Properties({}), how, stop);
  PropertyVerdict result;
  result.instances = std::max<std::size_t>(verdict.instances, 1);
  if (verdict.kind == RuleVerdict::Kind::proved) result.proved = result.instances;
  result.obstacle = verdict.reason;
  result.counterexample = verdict.counterexample;
  return result;
}

}  // namespace

bool is_proved_once(const rules::Rule& law) {
  const auto is_known = [&](const rules::FunctionVariable& variable) {
    const auto use = rules::use_of(law, variable.name);
    const auto classes = rules::classes_of(variable);
    return use && std::all_of(classes.begin(), classes.end(), [&](const rules::FunctionClass* of) {
             return definition_of(*of, use->operands) != nullptr;
           });
  };
  return !law.functions.empty() && std::all_of(law.functions.begin(), law.functions.end(), is_known);
}

std::vector<Membership> memberships(std::span<const rules::Rule> laws) {
  std::vector<Membership> result;
  const auto add = [&](const rules::FunctionClass& of, const rules::Signature& member) {
    std::string name(member.name);
    std::replace(name.begin(), name.end(), '_', '-');
    Membership one{&of, &member, fmt::format("{}-{}", name, definition_of(of, member.max_operands)->word)};
    if (std::find(result.begin(), result.end(), one) == result.end()) result.push_back(std::move(one));
  };
  for (const rules::Rule& law : laws) {
    if (!is_proved_once(law)) continue;
    for (const rules::FunctionVariable& variable : law.functions)
      for (const rules::Signature* member : rules::members_of(law, variable)) {
        add(*rules::class_named(member->max_operands == 1 ? "unary" : "binary"), *member);
        for (const rules::FunctionClass* of : rules::classes_of(variable)) add(*of, *member);
      }
  }
  // By class, in the order of their list.
  std::stable_sort(result.begin(), result.end(), [](const Membership& a, const Membership& b) { return a.of < b.of; });
  return result;
}

PropertyVerdict validate(const Membership& membership, const ValidateOptions& options, const std::stop_token& stop) {
  PropertyVerdict all;
  const Definition* definition = definition_of(*membership.of, membership.member->max_operands);
  check(definition != nullptr, "a membership is of a class that is proved once");
  for (const char* text : definition->laws) {
    rules::Rule law = rules::with_members(rules::parse_rule(text), {membership.member});
    if (definition->as_rules) {
      law.kind = rules::Rule::Kind::candidate;
      all.add(proved(law, options, stop));
    } else if (membership.of->trait == Trait::element_wise) {
      for (const rules::Instance& instance : rules::instances(law)) {
        ++all.instances;
        const NormalFormResult result = prove_element_wise(instance);
        if (result.kind == NormalFormResult::proved)
          ++all.proved;
        else if (all.obstacle.empty())
          all.obstacle = result.reason;
      }
    } else {
      all.add(validate(law, options, stop));
    }
  }
  if (!all.holds_for_all_shapes()) all.small_sizes = all.random_shapes = 0;  // tests are no proof
  return all;
}

}  // namespace taso::verifier
