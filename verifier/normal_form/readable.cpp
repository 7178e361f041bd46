#include "verifier/normal_form/readable.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "verifier/normal_form/operators.h"
#include "verifier/normal_form/sum.h"

namespace taso::verifier {
namespace {

using namespace normal;

constexpr std::array<std::string_view, 8> letters{"k", "l", "m", "n", "p", "q", "r", "s"};

class Writer {
 public:
  explicit Writer(const std::vector<std::string>& inputs) : inputs_(inputs) {}

  /// The least of the texts that the possible names of its bound variables give.
  std::string term(const normal::Term& term) {
    constexpr std::size_t most_permuted = 4;
    std::vector<Variable> order = term.bound;
    if (order.size() > most_permuted) return term_with(term, order);
    std::sort(order.begin(), order.end());
    std::string least;
    do {
      std::string text = term_with(term, order);
      if (least.empty() || text.size() < least.size() || (text.size() == least.size() && text < least))
        least = std::move(text);
    } while (std::next_permutation(order.begin(), order.end()));
    return least;
  }

  std::string sum(const Sum& sum) {
    std::string text;
    for (const normal::Term& one : sum.terms) {
      const std::string next = term(one);
      const bool is_negative = next.starts_with("−");
      text += text.empty() ? next : is_negative ? " − " + next.substr(std::string_view("−").size()) : " + " + next;
    }
    return text.empty() ? "0" : text;
  }

  std::string polynomial(const Polynomial& polynomial) {
    std::string text;
    for (const auto& term : polynomial.terms()) {
      std::vector<std::string> factors;
      for (const Variable variable : term.monomial) factors.push_back(name(variable));
      const bool is_negative = term.coefficient < 0;
      const std::int64_t magnitude = is_negative ? -term.coefficient : term.coefficient;
      if (factors.empty() || magnitude != 1) factors.insert(factors.begin(), std::to_string(magnitude));
      text += text.empty() ? (is_negative ? "−" : "") : (is_negative ? " − " : " + ");
      text += fmt::format("{}", fmt::join(factors, "·"));
    }
    return text.empty() ? "0" : text;
  }

 private:
  std::string name(Variable variable) {
    const auto given = names_.find(variable);
    if (given != names_.end()) return given->second;
    const Facts::Entry& entry = facts().entry(variable);
    if (entry.quotient)
      return fmt::format("⌊({})/({})⌋", polynomial(entry.quotient->first), polynomial(entry.quotient->second));
    return entry.name;
  }

  /// a - b >= 0 is written b ≤ a, or b' < a if b is b' + 1.
  std::string guard(const Constraint& constraint) {
    Polynomial left, right;  // left <relation> right
    for (const auto& term : constraint.value.terms()) {
      Polynomial one(term.coefficient < 0 ? -term.coefficient : term.coefficient);
      for (const Variable variable : term.monomial) one = one * Polynomial::variable(variable);
      (term.coefficient < 0 ? left : right) = (term.coefficient < 0 ? left : right) + one;
    }
    switch (constraint.kind) {
      case Constraint::Kind::zero: return fmt::format("{} = {}", polynomial(left), polynomial(right));
      case Constraint::Kind::non_zero: return fmt::format("{} ≠ {}", polynomial(left), polynomial(right));
      case Constraint::Kind::non_negative: break;
    }
    if (left.constant_term() == 1 && left != Polynomial(1))
      return fmt::format("{} < {}", polynomial(left - 1), polynomial(right));
    return fmt::format("{} ≤ {}", polynomial(left), polynomial(right));
  }

  std::string ranges(const std::vector<Variable>& bound, const Constraints& guards) {
    std::vector<std::string> parts;
    for (const Variable variable : bound) {
      const auto& extent = facts().entry(variable).extent;
      parts.push_back(extent ? fmt::format("{} < {}", name(variable), polynomial(*extent)) : name(variable));
    }
    std::vector<std::string> conditions;
    for (const Constraint& one : guards) conditions.push_back(guard(one));
    std::sort(conditions.begin(), conditions.end());
    parts.insert(parts.end(), conditions.begin(), conditions.end());
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string term_with(const normal::Term& term, const std::vector<Variable>& order) {
    const std::map<Variable, std::string> outer = names_;
    for (const Variable variable : order) {
      const std::size_t place = depth_++;
      names_[variable] =
          place < letters.size() ? std::string(letters[place]) : fmt::format("k{}", place - letters.size() + 1);
    }
    std::vector<std::string> factors;
    for (const Factor& one : term.factors) factors.push_back(factor(one));
    std::sort(factors.begin(), factors.end());
    const Rational& scale = term.coefficient;
    std::string text = scale.numerator < 0 ? "−" : "";
    const std::int64_t magnitude = scale.numerator < 0 ? -scale.numerator : scale.numerator;
    if (scale.denominator != 1)
      factors.insert(factors.begin(), fmt::format("{}/{}", magnitude, scale.denominator));
    else if (magnitude != 1 || factors.empty())
      factors.insert(factors.begin(), std::to_string(magnitude));
    const std::string product = fmt::format("{}", fmt::join(factors, "·"));
    if (!order.empty())
      text += fmt::format("Σ{{{}}} {}", ranges(order, term.guards), product);
    else
      text += term.guards.empty() ? product : fmt::format("{} [if {}]", product, ranges({}, term.guards));
    depth_ -= order.size();
    names_ = outer;
    return text;
  }

  std::string factor(const Factor& factor) {
    constexpr std::array<std::string_view, 6> functions{"1/", "exp", "erf", "tanh", "√", "pow"};
    switch (factor.kind) {
      case Factor::Kind::access: {
        std::vector<std::string> index;
        for (const Polynomial& one : factor.index) index.push_back(polynomial(one));
        const std::string& head = inputs_.at(factor.head);
        return index.empty() ? head : fmt::format("{}[{}]", head, fmt::join(index, ", "));
      }
      case Factor::Kind::real: return Workspace::current().reals[factor.head];
      case Factor::Kind::size: return fmt::format("({})", polynomial(factor.index[0]));
      case Factor::Kind::reciprocal: return fmt::format("1/({})", polynomial(factor.index[0]));
      case Factor::Kind::function: {
        std::vector<std::string> operands;
        for (const SumPtr& operand : factor.operands) operands.push_back(sum(*operand));
        return fmt::format("{}({})", factor.head < functions.size() ? functions[factor.head] : "f",
                           fmt::join(operands, ", "));
      }
      case Factor::Kind::maximum: break;
    }
    std::vector<std::string> alternatives;
    for (const Alternative& alternative : factor.alternatives) {
      const std::map<Variable, std::string> outer = names_;
      for (const Variable variable : alternative.bound) {
        const std::size_t place = depth_++;
        names_[variable] = place < letters.size() ? std::string(letters[place]) : fmt::format("k{}", place);
      }
      const std::string where = ranges(alternative.bound, alternative.guards);
      alternatives.push_back(sum(*alternative.body) + (where.empty() ? "" : fmt::format(" over {}", where)));
      depth_ -= alternative.bound.size();
      names_ = outer;
    }
    std::sort(alternatives.begin(), alternatives.end());
    return fmt::format("max({})", fmt::join(alternatives, "; "));
  }

  const std::vector<std::string>& inputs_;
  std::map<Variable, std::string> names_;  // of bound variables
  std::size_t depth_ = 0;
};

ReadableElement written_out(const rules::Instance& instance, std::size_t result) {
  ReadableElement both;
  Writer writer(instance.inputs);
  Index index;
  const Shape& shape = instance.shape(instance.source[result]);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Polynomial extent = facts().polynomial(shape[axis]);
    if (extent == Polynomial(1)) {
      index.emplace_back(0);
      both.index.emplace_back("0");
      continue;
    }
    const std::string name = fmt::format("i{}", axis);
    index.push_back(Polynomial::variable(facts().fresh(extent, name)));
    both.index.push_back(fmt::format("{} < {}", name, writer.polynomial(extent)));
  }
  for (const normal::Term& term : element(instance, instance.source[result], index).terms)
    both.source.push_back(writer.term(term));
  for (const normal::Term& term : element(instance, instance.target[result], index).terms)
    both.target.push_back(writer.term(term));
  return both;
}

}  // namespace

std::vector<ReadableElement> readable_normal_forms(const rules::Instance& instance) {
  std::vector<ReadableElement> all;
  for (std::size_t i = 0; i < instance.source.size(); ++i) {
    try {
      Workspace workspace(instance.unknowns, instance.hypotheses, 1'000'000, 1'000'000, {});
      all.push_back(written_out(instance, i));
    } catch (const ProofLimit& limit) {
      all.push_back({{}, {}, {}, limit.what()});
    } catch (const ShapeError& error) {
      all.push_back({{}, {}, {}, error.what()});
    }
  }
  return all;
}

}  // namespace taso::verifier
