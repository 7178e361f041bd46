#include "verifier/proof/definedness.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/instance/symbolic_operator.h"
#include "verifier/normal_form/matching.h"
#include "verifier/normal_form/operators.h"
#include "verifier/normal_form/sign.h"

namespace taso::verifier {
namespace {

using namespace normal;

Facts& facts() { return Workspace::current().facts; }

/// What must hold of a sum, or of a base and an exponent, for an application to be defined.
struct Demand {
  enum class Kind { not_zero, not_negative, power };
  Kind kind = Kind::not_zero;
  std::vector<Sum> operands;
  Constraints guards;
};

std::string text(const Demand& demand) {
  switch (demand.kind) {
    case Demand::Kind::not_zero: return normal::text(demand.operands[0]) + " is not 0";
    case Demand::Kind::not_negative: return normal::text(demand.operands[0]) + " is not negative";
    case Demand::Kind::power:
      return fmt::format("{} to the power of {} is defined", normal::text(demand.operands[0]),
                         normal::text(demand.operands[1]));
  }
  return {};
}

/// The demands of an application that do not hold by themselves. Together they are equivalent to its being defined, so
/// the demands of a source may be assumed.
class Demands {
 public:
  explicit Demands(const std::vector<Application>& applications) {
    for (const Application& application : applications) add(application);
  }
  std::vector<Demand> list;

 private:
  void add(const Application& application) {
    const std::vector<Sum>& operands = application.operands;
    switch (application.function) {
      case Function::reciprocal: add_not_zero(operands[0], application.guards); return;
      case Function::sqrt: add_not_negative(operands[0], application.guards); return;
      case Function::pow: add_power(operands[0], operands[1], application.guards); return;
      case Function::exp:
      case Function::erf:
      case Function::tanh:
      case Function::any: return;
    }
  }

  void add_power(const Sum& base, const Sum& exponent, const Constraints& guards) {
    const auto power = number(exponent);
    if (!power) {
      const bool neither_is_negative = sign_of(base) != Sign::unknown && sign_of(exponent) != Sign::unknown;
      if (sign_of(base) != Sign::positive && !neither_is_negative)
        list.push_back({Demand::Kind::power, {base, exponent}, guards});
      return;
    }
    if (power->denominator != 1) add_not_negative(base, guards);
    if (power->numerator < 0) add_not_zero(base, guards);
  }

  void add_not_negative(const Sum& sum, const Constraints& guards) {
    if (sign_of(sum) == Sign::unknown) list.push_back({Demand::Kind::not_negative, {sum}, guards});
  }

  void add_not_zero(const Sum& sum, const Constraints& guards) {
    if (sign_of(sum) == Sign::positive || sign_of(scaled(sum, {-1, 1})) == Sign::positive) return;
    const bool is_product = sum.terms.size() == 1 && sum.terms[0].bound.empty() && sum.terms[0].guards.empty();
    if (!is_product) {
      list.push_back({Demand::Kind::not_zero, {sum}, guards});
      return;
    }
    for (const Factor& factor : sum.terms[0].factors) {
      const Sum single_factor = single(factor);
      if (sign_of(single_factor) == Sign::positive) continue;
      // A root is zero where its operand is, and a reciprocal never is; that they are defined is a demand of its own.
      if (factor.kind == Factor::Kind::function && factor.head == static_cast<std::size_t>(Function::reciprocal))
        continue;
      if (factor.kind == Factor::Kind::function && factor.head == static_cast<std::size_t>(Function::sqrt)) {
        add_not_zero(*factor.operands[0], guards);
        continue;
      }
      // Where x^y is defined, it is not zero just where x^-y is defined, too.
      if (factor.kind == Factor::Kind::function && factor.head == static_cast<std::size_t>(Function::pow)) {
        list.push_back({Demand::Kind::power, {*factor.operands[0], scaled(*factor.operands[1], {-1, 1})}, guards});
        continue;
      }
      list.push_back({Demand::Kind::not_zero, {single_factor}, guards});
    }
  }
};

/// An element of an input, at an index that no inner sum binds.
struct Access {
  std::size_t input = 0;
  std::vector<Polynomial> index;
};

class Accesses {
 public:
  explicit Accesses(const Demand& demand) {
    for (const Sum& operand : demand.operands) collect(operand);
  }
  std::vector<Access> list;

 private:
  void collect(const Sum& sum) {
    for (const normal::Term& term : sum.terms) {
      const std::size_t outer = bound_.size();
      bound_.insert(bound_.end(), term.bound.begin(), term.bound.end());
      for (const Factor& factor : term.factors) collect(factor);
      bound_.resize(outer);
    }
  }
  void collect(const Factor& factor) {
    if (factor.kind == Factor::Kind::access &&
        std::none_of(factor.index.begin(), factor.index.end(),
                     [&](const Polynomial& index) { return occurs_any(bound_, index); }))
      list.push_back({factor.head, factor.index});
    for (const SumPtr& operand : factor.operands) collect(*operand);
    for (const Alternative& alternative : factor.alternatives) {
      const std::size_t outer = bound_.size();
      bound_.insert(bound_.end(), alternative.bound.begin(), alternative.bound.end());
      collect(*alternative.body);
      bound_.resize(outer);
    }
  }
  std::vector<Variable> bound_;
};

/// The value that an equation gives the variable; nothing if it does not determine one.
std::optional<Polynomial> solved_for(Variable variable, const Polynomial& zero) {
  const auto linear = zero.linear_in(variable);
  if (!linear || linear->first.is_zero() || occurs(variable, linear->first) || occurs(variable, linear->second))
    return std::nullopt;
  const auto division = (-linear->second).divided_by(linear->first);
  if (!division.remainder.is_zero()) return std::nullopt;
  return division.quotient;
}

/// Decides whether the demands of the source entail a demand of the target.
class Covering {
 public:
  /// Both sides are read at the same index; its variables are `shared`.
  Covering(const std::vector<Demand>& known, const Demand& wanted, const std::vector<Variable>& shared)
      : known_(known), wanted_(wanted), shared_(shared), accesses_(Accesses(wanted).list) {}

  bool succeeds() {
    if (facts().satisfiable(wanted_.guards) == Answer::no) return true;
    for (const Demand& demand : known_)
      if (demand.kind == wanted_.kind && matches(demand)) return true;
    if (pieces_.size() < 2) return false;
    // Different demands of the source may cover different cases.
    return facts().same_union(wanted_.guards, {Constraints{}}, pieces_) == Answer::yes;
  }

 private:
  bool matches(const Demand& demand) {
    std::vector<Variable> all, inner, open;
    for (const Sum& operand : demand.operands) {
      collect_variables(operand, all);
      for (const normal::Term& term : operand.terms) {
        inner.insert(inner.end(), term.bound.begin(), term.bound.end());
        for (const Factor& factor : term.factors) collect_binders(factor, inner);
      }
    }
    normal::Term guards_only;
    guards_only.guards = demand.guards;
    collect_variables(guards_only, all);
    for (const Variable variable : all) {
      const Facts::Entry& entry = facts().entry(variable);
      const bool is_index = !entry.quotient && entry.extent;
      if (is_index && !contains(shared_, variable) && !contains(inner, variable) && !contains(open, variable))
        open.push_back(variable);
    }
    tries_ = 0;
    return choose(demand, Accesses(demand).list, 0, open, {});
  }

  static bool contains(const std::vector<Variable>& list, Variable variable) {
    return std::find(list.begin(), list.end(), variable) != list.end();
  }

  /// Chooses values for the source's variables at which it reads the elements that the target reads.
  bool choose(const Demand& demand, const std::vector<Access>& accesses, std::size_t next,
              const std::vector<Variable>& open, const Substitution& values) {
    constexpr std::size_t most_tries = 64;
    Workspace::current().step();
    if (++tries_ > most_tries) return false;
    if (open.empty()) return holds_at(demand, values);
    if (next == accesses.size()) return choose_any(demand, open, values);
    const Access& access = accesses[next];
    const auto is_open = [&](const Polynomial& index) { return occurs_any(open, index); };
    if (std::none_of(access.index.begin(), access.index.end(), is_open))
      return choose(demand, accesses, next + 1, open, values);
    for (const Access& other : accesses_) {
      if (other.input != access.input) continue;
      std::vector<Variable> still_open = open;
      Substitution more = values;
      for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
        const Polynomial zero = substitute(access.index[axis], more) - other.index[axis];
        for (const Variable variable : still_open) {
          const auto value = solved_for(variable, zero);
          if (!value || occurs_any(still_open, *value)) continue;
          more.emplace_back(variable, *value);
          std::erase(still_open, variable);
          break;
        }
      }
      if (still_open.size() < open.size() && choose(demand, accesses, next + 1, still_open, more)) return true;
    }
    return choose(demand, accesses, next + 1, open, values);
  }

  /// Chooses values for variables that no element depends on.
  bool choose_any(const Demand& demand, const std::vector<Variable>& open, const Substitution& values) {
    Substitution more = values;
    for (const Variable variable : open) more.emplace_back(variable, Polynomial());
    return holds_at(demand, more);
  }

  /// Whether the source's demand, at these values, is the target's wherever the latter applies.
  bool holds_at(const Demand& demand, const Substitution& values) {
    Constraints piece;
    for (const auto& [variable, value] : values) add_range(piece, value, variable);
    for (const Constraint& guard : demand.guards) piece.push_back(substitute(guard, values));
    Constraints open;
    for (const Constraint& constraint : piece)
      if (facts().entails(wanted_.guards, constraint) != Answer::yes) open.push_back(constraint);
    Constraints context = wanted_.guards;
    context.insert(context.end(), open.begin(), open.end());
    if (facts().satisfiable(context) == Answer::no) return false;
    for (std::size_t i = 0; i < demand.operands.size(); ++i) {
      const auto seen = substitute(std::make_shared<const Sum>(demand.operands[i]), values);
      const bool either_sign = demand.kind == Demand::Kind::not_zero;
      if (!vanishes(simplified(*seen - wanted_.operands[i], context), context) &&
          !(either_sign && vanishes(simplified(*seen + wanted_.operands[i], context), context)))
        return false;
    }
    if (open.empty()) return true;
    if (pieces_.size() < 8) pieces_.push_back(std::move(open));
    return false;
  }

  const std::vector<Demand>& known_;
  const Demand& wanted_;
  const std::vector<Variable>& shared_;
  std::vector<Access> accesses_;
  std::vector<Constraints> pieces_;
  std::size_t tries_ = 0;
};

/// The applications of partial functions in one side of a result.
std::vector<Application> applications(const rules::Instance& instance, rules::InstanceValue value, const Index& index) {
  std::vector<Application> list;
  Workspace& workspace = Workspace::current();
  workspace.applications = &list;
  try {
    element(instance, value, index);
  } catch (...) {
    workspace.applications = nullptr;
    throw;
  }
  workspace.applications = nullptr;
  return list;
}

/// Why a result is not proved to be defined; empty if it is.
std::string obstacle(const rules::Instance& instance, std::size_t result) {
  std::vector<Variable> shared;
  Index index;
  for (const Dim& dim : instance.shape(instance.source[result])) {
    const Polynomial extent = facts().polynomial(dim);
    if (extent == Polynomial(1)) {
      index.emplace_back();
      continue;
    }
    shared.push_back(facts().fresh(extent, fmt::format("i{}", index.size())));
    index.push_back(Polynomial::variable(shared.back()));
  }
  const std::vector<Demand> wanted = Demands(applications(instance, instance.target[result], index)).list;
  if (wanted.empty()) return "";
  const std::vector<Demand> known = Demands(applications(instance, instance.source[result], index)).list;
  for (const Demand& demand : wanted)
    if (!Covering(known, demand, shared).succeeds()) return "the source is not shown to demand that " + text(demand);
  return "";
}

bool reaches_partial(const rules::Instance& instance, const std::vector<rules::InstanceValue>& results) {
  std::set<std::size_t> seen;
  std::vector<std::size_t> open;
  for (const rules::InstanceValue& result : results) open.push_back(result.first);
  while (!open.empty()) {
    const std::size_t place = open.back();
    open.pop_back();
    if (!seen.insert(place).second) continue;
    const rules::InstanceNode& node = instance.nodes[place];
    if (node.input) continue;
    if (rules::may_be_undefined(node.op)) return true;
    for (const rules::InstanceValue& operand : node.operands) open.push_back(operand.first);
  }
  return false;
}

}  // namespace

bool source_may_be_undefined(const rules::Instance& instance) { return reaches_partial(instance, instance.source); }
bool target_may_be_undefined(const rules::Instance& instance) { return reaches_partial(instance, instance.target); }

NormalFormResult prove_definedness(const rules::Instance& instance, const NormalFormLimits& limits) {
  constexpr const char* claim = "the target is not shown to be defined wherever the source is: ";
  if (!instance.target_fits) return {NormalFormResult::unknown, "ranks do not fit"};
  if (!target_may_be_undefined(instance)) return {NormalFormResult::proved, ""};
  try {
    Workspace workspace(instance.unknowns, instance.hypotheses, limits.effort, limits.steps, limits.stop);
    for (std::size_t result = 0; result < instance.source.size(); ++result) {
      if (instance.source[result] == instance.target[result]) continue;
      const std::string reason = obstacle(instance, result);
      if (!reason.empty()) return {NormalFormResult::unknown, claim + reason};
    }
  } catch (const ProofLimit& limit) {
    return {NormalFormResult::unknown, claim + std::string(limit.what())};
  } catch (const ShapeError& error) {
    return {NormalFormResult::unknown, claim + std::string(error.what())};
  }
  return {NormalFormResult::proved, ""};
}

}  // namespace taso::verifier
