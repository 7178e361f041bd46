#include "verifier/refutation/symbol.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include <z3++.h>

#include "ops/core/error.h"

namespace taso::verifier {
namespace {

// One per thread, kept as long as any expression in it lives. A new one costs 10 ms.
const std::shared_ptr<z3::context>& context() {
  thread_local const auto mine = std::make_shared<z3::context>();
  return mine;
}

}  // namespace

struct SymbolExpression {
  std::shared_ptr<z3::context> owner;  // outlives the expression below
  z3::expr expression;

  static Symbol wrap(z3::expr expression) {
    return Symbol(std::make_shared<const SymbolExpression>(SymbolExpression{context(), std::move(expression)}));
  }
  static const z3::expr& of(const Symbol& symbol) {
    check(symbol.expression_->owner == context(), "a symbol is used by the thread that made it");
    return symbol.expression_->expression;
  }
};

namespace {

const z3::expr& of(const Symbol& symbol) { return SymbolExpression::of(symbol); }
Symbol wrap(z3::expr expression) { return SymbolExpression::wrap(std::move(expression)); }

// The operators' sums start at 0 and their padding multiplies by 0: without these shortcuts, expressions would be full
// of both.
bool is(const z3::expr& e, std::int64_t value) {
  std::int64_t number = 0;
  return e.is_numeral_i64(number) && number == value;
}

z3::expr power_of_two(unsigned exponent) {
  z3::expr power = context()->real_val(1);
  for (; exponent >= 32; exponent -= 32) power = (power * context()->real_val("4294967296")).simplify();
  return (power * context()->real_val(static_cast<std::int64_t>(std::uint64_t{1} << exponent))).simplify();
}

}  // namespace

Symbol Symbol::variable(std::string_view name) { return wrap(context()->real_const(std::string(name).c_str())); }

Symbol Symbol::constant(double value) {
  if (std::isnan(value)) return variable("not a number");
  if (std::isinf(value)) return variable(value > 0 ? "infinity" : "-infinity");
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const z3::expr mantissa = context()->real_val(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
  exponent -= 53;
  const z3::expr power = power_of_two(static_cast<unsigned>(std::abs(exponent)));
  return wrap((exponent < 0 ? mantissa / power : mantissa * power).simplify());
}

std::string Symbol::text() const { return of(*this).simplify().to_string(); }

Symbol operator+(const Symbol& a, const Symbol& b) {
  if (is(of(a), 0)) return b;
  if (is(of(b), 0)) return a;
  return wrap(of(a) + of(b));
}

Symbol operator-(const Symbol& a, const Symbol& b) {
  if (is(of(b), 0)) return a;
  return wrap(of(a) - of(b));
}

Symbol operator*(const Symbol& a, const Symbol& b) {
  if (is(of(a), 0) || is(of(b), 1)) return a;
  if (is(of(b), 0) || is(of(a), 1)) return b;
  return wrap(of(a) * of(b));
}

// What is not a polynomial becomes a function of polynomials in one form. Then most equalities are equalities of
// polynomials in such functions, which need no search. Z3 decides the rest, with laws that say all there is to know.
//
// Quotients are products with inverses; the inverse of a product is the product of inverses, and that of 0 is 0. A
// maximum is one of a set: nested ones are joined, and common summands are taken out.
namespace {

constexpr const char *inverse_name = "1/", *maximum_name = "max", *lowest_name = "-infinity";

unsigned id_of(const z3::expr& e) { return Z3_get_ast_id(*context(), e); }

bool is_call_of(const z3::expr& e, const char* name) {
  return e.is_app() && e.decl().decl_kind() == Z3_OP_UNINTERPRETED && e.decl().name().str() == name;
}

z3::expr expanded(const z3::expr& e) {
  z3::params sums(*context());
  sums.set("som", true);  // sums of products: polynomial identities vanish here
  return e.simplify(sums);
}

z3::expr inverse(const z3::expr& divisor) {
  if (is(divisor, 0)) return divisor;
  if (divisor.is_numeral()) return (context()->real_val(1) / divisor).simplify();
  if (is_call_of(divisor, inverse_name)) return divisor.arg(0);
  if (divisor.is_app() && divisor.decl().decl_kind() == Z3_OP_MUL) {
    z3::expr product = context()->real_val(1);
    for (unsigned i = 0; i < divisor.num_args(); ++i) product = product * inverse(divisor.arg(i));
    return product;
  }
  return context()->function(inverse_name, context()->real_sort(), context()->real_sort())(divisor);
}

using Terms = std::map<unsigned, z3::expr>;

Terms terms_of(const z3::expr& sum) {
  Terms terms;
  if (sum.is_app() && sum.decl().decl_kind() == Z3_OP_ADD)
    for (unsigned i = 0; i < sum.num_args(); ++i) terms.emplace(id_of(sum.arg(i)), sum.arg(i));
  else
    terms.emplace(id_of(sum), sum);
  return terms;
}

z3::expr maximum_of(const z3::expr& left, const z3::expr& right) {
  z3::expr common = context()->real_val(0);
  const Terms of_right = terms_of(right);
  for (const auto& [id, term] : terms_of(left))
    if (of_right.contains(id)) common = common + term;
  Terms elements;
  const auto add = [&](const z3::expr& e) { elements.emplace(id_of(e), e); };
  for (const z3::expr& side : {expanded(left - common), expanded(right - common)}) {
    if (is_call_of(side, maximum_name))
      for (unsigned i = 0; i < side.num_args(); ++i) add(side.arg(i));
    else
      add(side);
  }
  // Among numbers only the largest counts; the maximum of nothing does not count.
  z3::expr number = context()->real_val(0);
  bool has_number = false;
  for (auto element = elements.begin(); element != elements.end();) {
    if (element->second.is_numeral()) {
      if (!has_number || (element->second > number).simplify().is_true()) number = element->second;
      has_number = true;
      element = elements.erase(element);
    } else if (is_call_of(element->second, lowest_name) && elements.size() > 1) {
      element = elements.erase(element);
    } else {
      ++element;
    }
  }
  if (has_number) add(number);
  // Nor does -max(x, ...) beside -x, which is at least as large.
  for (auto element = elements.begin(); element != elements.end();) {
    const z3::expr& e = element->second;
    const bool is_negative_maximum = e.is_app() && e.decl().decl_kind() == Z3_OP_MUL && e.num_args() == 2 &&
                                     is(e.arg(0), -1) && is_call_of(e.arg(1), maximum_name);
    bool is_below = false;
    for (unsigned i = 0; is_negative_maximum && i < e.arg(1).num_args() && !is_below; ++i) {
      const z3::expr greatest = expanded(-e.arg(1).arg(i));
      is_below = elements.contains(id_of(greatest)) ||
                 (has_number && greatest.is_numeral() && (number >= greatest).simplify().is_true());
    }
    element = is_below ? elements.erase(element) : std::next(element);
  }
  if (elements.size() == 1) return expanded(common + elements.begin()->second);
  z3::sort_vector domain(*context());
  z3::expr_vector arguments(*context());
  for (const auto& [id, element] : elements) {
    domain.push_back(context()->real_sort());
    arguments.push_back(element);
  }
  return expanded(common + context()->function(maximum_name, domain, context()->real_sort())(arguments));
}

/// Collects what is known about the inverses and maxima in an expression.
void collect_laws(const z3::expr& e, std::set<unsigned>& seen, z3::expr_vector& laws) {
  if (!e.is_app() || !seen.insert(id_of(e)).second) return;
  if (is_call_of(e, inverse_name)) laws.push_back(z3::ite(e.arg(0) == 0, e == 0, e * e.arg(0) == 1));
  if (is_call_of(e, maximum_name)) {
    z3::expr_vector equal(*context());
    for (unsigned i = 0; i < e.num_args(); ++i) {
      laws.push_back(e >= e.arg(i));
      equal.push_back(e == e.arg(i));
    }
    laws.push_back(z3::mk_or(equal));
  }
  for (unsigned i = 0; i < e.num_args(); ++i) collect_laws(e.arg(i), seen, laws);
}

}  // namespace

Symbol SymbolMath::divide(const Symbol& a, const Symbol& b) {
  if (is(of(b), 1) || is(of(a), 0)) return a;
  return a * wrap(inverse(expanded(of(b))));
}

Symbol SymbolMath::maximum(const Symbol& a, const Symbol& b) {
  return wrap(maximum_of(expanded(of(a)), expanded(of(b))));
}

Symbol SymbolMath::minimum(const Symbol& a, const Symbol& b) {
  return wrap(expanded(-maximum_of(expanded(-of(a)), expanded(-of(b)))));
}

Symbol SymbolMath::lowest() { return constant(-std::numeric_limits<double>::infinity()); }

Symbol SymbolMath::call(const char* name, const std::vector<Symbol>& operands) {
  z3::context& z3 = *context();
  z3::sort_vector domain(z3);
  z3::expr_vector arguments(z3);
  for (const Symbol& operand : operands) {
    domain.push_back(z3.real_sort());
    arguments.push_back(expanded(of(operand)));
  }
  return wrap(z3.function(name, domain, z3.real_sort())(arguments));
}

Verdict prove_equal(const std::vector<std::pair<Symbol, Symbol>>& pairs, unsigned effort) {
  z3::context& z3 = *context();
  try {
    z3::expr_vector differences(z3);
    for (const auto& [a, b] : pairs) {
      if (z3::eq(of(a), of(b))) continue;  // expressions are shared, so this is fast even for large ones
      const z3::expr difference = expanded(of(a) - of(b));
      if (!is(difference, 0)) differences.push_back(difference != 0);
    }
    if (differences.empty()) return {Verdict::proved, ""};
    z3::solver solver(z3);
    z3::params limit(z3);
    if (effort != 0) limit.set("rlimit", effort);
    limit.set("ctrl_c", false);  // see check_certificate.cpp
    solver.set(limit);
    solver.add(z3::mk_or(differences));
    std::set<unsigned> seen;
    z3::expr_vector laws(z3);
    for (const z3::expr& difference : differences) collect_laws(difference, seen, laws);
    for (const z3::expr& law : laws) solver.add(law);
    switch (solver.check()) {
      case z3::unsat: return {Verdict::proved, ""};
      case z3::sat: {
        const z3::model model = solver.get_model();
        std::string reason;
        for (unsigned i = 0; i < model.num_consts(); ++i) {
          const z3::func_decl unknown = model.get_const_decl(i);
          reason += (i ? ", " : "") + unknown.name().str() + " = " + model.get_const_interp(unknown).to_string();
        }
        return {Verdict::refuted, reason.empty() ? "they differ for all values of the unknowns" : reason};
      }
      default: return {Verdict::unknown, solver.reason_unknown()};
    }
  } catch (const z3::exception& error) {
    return {Verdict::unknown, error.msg()};
  }
}

}  // namespace taso::verifier
