#include "verifier/normal_form/order.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <z3++.h>

#include "verifier/normal_form/matching.h"
#include "verifier/proof/z3_context.h"

namespace taso::verifier::normal {
namespace {

constexpr unsigned effort = 1'000'000;  // Z3's step limit

/// 0^z, which is 1 for z = 0 and 0 for z > 0. As a total function it is 0 for z < 0.
bool is_power_of_zero(const Factor& factor) {
  return factor.kind == Factor::Kind::function && static_cast<Function>(factor.head) == Function::pow &&
         factor.operands[0]->terms.empty();
}

bool depends_on_order(const Sum& sum) {
  return std::any_of(sum.terms.begin(), sum.terms.end(), [](const Term& term) {
    return term.bound.empty() && std::any_of(term.factors.begin(), term.factors.end(), [](const Factor& factor) {
             return is_power_of_zero(factor) ||
                    (factor.kind == Factor::Kind::maximum &&
                     std::any_of(factor.alternatives.begin(), factor.alternatives.end(), is_finite));
           });
  });
}

z3::expr rational(Rational value) {
  const std::string text = std::to_string(value.numerator) + "/" + std::to_string(value.denominator);
  return z3_context().real_val(text.c_str());
}

/// The exact value of the double.
z3::expr exact(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  z3::expr number = z3_context().real_val(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
  for (exponent -= 53; exponent > 0; --exponent) number = number * 2;
  for (; exponent < 0; ++exponent) number = number / 2;
  return number.simplify();
}

class Translation {
 public:
  explicit Translation(const Constraints& context) : context_(context), solver_(z3_context(), z3::solver::simple()) {
    z3::params limits(z3_context());
    limits.set("rlimit", effort);
    limits.set("ctrl_c", false);  // see check_certificate.cpp
    solver_.set(limits);
  }

  bool vanishes(const Sum& sum) {
    solver_.add(of(sum) != 0);
    return solver_.check() == z3::unsat;
  }

 private:
  z3::expr of(const Sum& sum) {
    z3::expr result = z3_context().real_val(0);
    for (const Term& term : sum.terms) {
      z3::expr product = rational(term.coefficient);
      if (!term.bound.empty() || !term.guards.empty()) {
        Sum alone;
        alone.terms.push_back(term);
        alone.terms[0].coefficient = {1, 1};
        product = product * atom(std::move(alone));
      } else {
        product = product_of(product, term.factors);
      }
      result = result + product;
    }
    return result;
  }

  /// A product with powers of zero is the other factors' product where all their exponents are 0, and 0 elsewhere.
  z3::expr product_of(z3::expr product, const std::vector<Factor>& factors) {
    z3::expr_vector exponents_are_zero(z3_context());
    for (const Factor& factor : factors) {
      if (is_power_of_zero(factor))
        exponents_are_zero.push_back(of(*factor.operands[1]) == 0);
      else
        product = product * of(factor);
    }
    if (exponents_are_zero.empty()) return product;
    return z3::ite(z3::mk_and(exponents_are_zero), product, z3_context().real_val(0));
  }

  z3::expr of(const Factor& factor) {
    if (factor.kind == Factor::Kind::real) {
      const std::string& name = Workspace::current().reals[factor.head];
      if (name.front() != '\'') return exact(std::strtod(name.c_str(), nullptr));
      return z3_context().real_const(name.c_str());
    }
    if (factor.kind != Factor::Kind::maximum) return atom(single(factor));
    // A new number that equals one of the alternatives and is not below any.
    const z3::expr greatest = z3_context().real_const(("maximum " + std::to_string(maxima_++)).c_str());
    z3::expr_vector equal(z3_context());
    const auto add = [&](const z3::expr& value) {
      solver_.add(greatest >= value);
      equal.push_back(greatest == value);
    };
    Factor rest = factor;
    rest.alternatives.clear();
    for (const Alternative& alternative : factor.alternatives) {
      if (is_finite(alternative))
        add(of(*alternative.body));
      else
        rest.alternatives.push_back(alternative);
    }
    if (rest.alternatives.size() == factor.alternatives.size()) return atom(single(factor));
    if (!rest.alternatives.empty()) add(atom(single(rest)));
    solver_.add(z3::mk_or(equal));
    return greatest;
  }

  /// Equal sums become the same unknown.
  z3::expr atom(Sum value) {
    std::size_t place = 0;
    while (place < atoms_.size() && !normal::vanishes(atoms_[place] - value, context_)) ++place;
    if (place == atoms_.size()) atoms_.push_back(std::move(value));
    return z3_context().real_const(("atom " + std::to_string(place)).c_str());
  }

  const Constraints& context_;
  z3::solver solver_;
  std::vector<Sum> atoms_;
  std::size_t maxima_ = 0;
};

}  // namespace

bool vanishes_by_order(const Sum& sum, const Constraints& context) {
  if (!depends_on_order(sum)) return false;
  Workspace::current().step(10);
  try {
    return Translation(context).vanishes(sum);
  } catch (const z3::exception&) {
    return false;
  }
}

}  // namespace taso::verifier::normal
