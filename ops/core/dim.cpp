#include "ops/core/dim.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/core/minimum.h"

namespace taso::ops {
namespace {

// An unknown, the quotient of two polynomials rounded down, or the minimum of two; identified by its text.
struct Atom {
  std::string text;
  bool is_quotient = false;
  Dim numerator, denominator;  // for a minimum: its two operands
  bool is_minimum = false;
};

const Atom* intern(Atom atom) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::unique_ptr<const Atom>> table;
  const std::lock_guard lock(mutex);
  auto& slot = table[atom.text];
  if (!slot) slot = std::make_unique<const Atom>(std::move(atom));
  return slot.get();
}

struct ByText {
  bool operator()(const Atom* a, const Atom* b) const { return a->text < b->text; }
};

using Monomial = std::vector<const Atom*>;  // sorted by text, with repetitions

struct ByDegree {  // highest degree first, then by text
  bool operator()(const Monomial& a, const Monomial& b) const {
    if (a.size() != b.size()) return a.size() > b.size();
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), ByText{});
  }
};

using Terms = std::map<Monomial, std::int64_t, ByDegree>;

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw ShapeError("dimension overflows");
  return sum;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw ShapeError("dimension overflows");
  return product;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  if (name.empty() || !letter(name.front()) || name == "floor") return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.'; });
}

std::string quoted(std::string_view name) {
  if (is_identifier(name)) return std::string(name);
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    text += c;
  }
  return text + '"';
}

std::string text_of(const Terms& terms) {
  std::string text;
  for (const auto& [monomial, coefficient] : terms) {
    const bool negative = coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    std::string factor;
    for (const Atom* atom : monomial) factor += (factor.empty() ? "" : "*") + atom->text;
    const auto magnitude =
        negative ? 0 - static_cast<std::uint64_t>(coefficient) : static_cast<std::uint64_t>(coefficient);
    if (magnitude != 1 || monomial.empty())
      factor = fmt::format("{}{}{}", magnitude, factor.empty() ? "" : "*", factor);
    text += factor;
  }
  return text;
}

void add_term(Terms& terms, const Monomial& monomial, std::int64_t coefficient) {
  const auto [slot, fresh] = terms.try_emplace(monomial, 0);
  slot->second = checked_add(slot->second, coefficient);
  if (slot->second == 0) terms.erase(slot);
}

}  // namespace

struct DimExpression {
  Terms terms;
  std::string text;
};

struct DimArithmetic {
  static Dim make(Terms terms) {
    if (terms.empty()) return Dim(0);
    if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
    static std::mutex mutex;
    static std::unordered_map<std::string, std::unique_ptr<const DimExpression>> table;
    std::string text = text_of(terms);
    const std::lock_guard lock(mutex);
    auto& slot = table[text];
    if (!slot) slot = std::make_unique<const DimExpression>(DimExpression{std::move(terms), text});
    return Dim::of(slot.get());
  }
  static Terms terms(const Dim& dim) {
    if (!dim.is_static()) return dim.expression_->terms;
    return dim.value_ == 0 ? Terms{} : Terms{{Monomial{}, dim.value_}};
  }
  static const DimExpression* expression(const Dim& dim) { return dim.expression_; }
  static Dim atom(Atom atom) { return make(Terms{{Monomial{intern(std::move(atom))}, 1}}); }
};

Dim Dim::symbol(std::string_view name) { return DimArithmetic::atom({quoted(name), false, Dim(), Dim()}); }

Dim minimum(Dim a, Dim b) {
  if (surely_at_least(a, b)) return b;
  if (surely_at_least(b, a)) return a;
  // Order the operands, so that min(a, b) and min(b, a) are one atom. A model's own name cannot clash: it would be
  // quoted.
  if (b.text() < a.text()) std::swap(a, b);
  return DimArithmetic::atom({fmt::format("min({}, {})", a.text(), b.text()), false, a, b, true});
}

std::int64_t Dim::value() const {
  check(is_static(), "a symbolic dimension has no value");
  return value_;
}

std::string Dim::text() const { return is_static() ? std::to_string(value_) : expression_->text; }

std::size_t Dim::hash() const {
  return is_static() ? std::hash<std::int64_t>{}(value_)*0x9e3779b97f4a7c15u
                     : std::hash<std::string>{}(expression_->text);
}

namespace {

std::string unquoted(const std::string& text) {
  if (text.front() != '"') return text;
  std::string name;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      name += text[i] == 'n' ? '\n' : text[i];
    } else {
      name += text[i];
    }
  }
  return name;
}

void collect_symbols(const Dim& dim, std::set<std::string>& names) {
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(dim))
    for (const Atom* atom : monomial) {
      if (atom->is_quotient || atom->is_minimum) {
        collect_symbols(atom->numerator, names);
        collect_symbols(atom->denominator, names);
      } else {
        names.insert(unquoted(atom->text));
      }
    }
}

}  // namespace

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

std::int64_t Dim::evaluate(const std::function<std::int64_t(std::string_view)>& binding) const {
  if (is_static()) return value_;
  std::int64_t sum = 0;
  for (const auto& [monomial, coefficient] : expression_->terms) {
    std::int64_t product = coefficient;
    for (const Atom* atom : monomial) {
      if (atom->is_minimum) {
        product =
            checked_mul(product, std::min(atom->numerator.evaluate(binding), atom->denominator.evaluate(binding)));
        continue;
      }
      if (!atom->is_quotient) {
        product = checked_mul(product, binding(unquoted(atom->text)));
        continue;
      }
      const std::int64_t divisor = atom->denominator.evaluate(binding);
      if (divisor <= 0) throw ShapeError("dimension divides by a number that is not positive");
      product = checked_mul(product, floor_quotient(atom->numerator.evaluate(binding), divisor));
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

Dim operator+(Dim a, Dim b) {
  if (a.is_static() && b.is_static()) return checked_add(a.value(), b.value());
  Terms sum = DimArithmetic::terms(a);
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(b)) add_term(sum, monomial, coefficient);
  return DimArithmetic::make(std::move(sum));
}

Dim operator-(Dim a, Dim b) { return a + Dim(-1) * b; }

Dim operator*(Dim a, Dim b) {
  if (a.is_static() && b.is_static()) return checked_mul(a.value(), b.value());
  // Products of sums grow exponentially: (a + b)(c + d)(e + f)… would exhaust memory.
  constexpr std::size_t most_terms = 4096;
  const Terms left_terms = DimArithmetic::terms(a), right_terms = DimArithmetic::terms(b);
  if (left_terms.size() * right_terms.size() > most_terms) throw ShapeError("dimension is too complicated");
  Terms product;
  for (const auto& [left, x] : left_terms)
    for (const auto& [right, y] : right_terms) {
      Monomial both;
      std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both), ByText{});
      add_term(product, both, checked_mul(x, y));
    }
  return DimArithmetic::make(std::move(product));
}

namespace {

bool is_monotone(const Dim& dim);

/// The value of a monotone dimension when every unknown is 1.
std::int64_t least_value(const Dim& dim) {
  if (dim.is_static()) return dim.value();
  std::int64_t sum = 0;
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(dim)) {
    std::int64_t product = coefficient;
    for (const Atom* atom : monomial) {
      if (atom->is_quotient) {
        const std::int64_t divisor = atom->denominator.value();
        if (divisor <= 0) throw ShapeError("dimension divides by a number that is not positive");
        product = checked_mul(product, floor_quotient(least_value(atom->numerator), divisor));
      } else if (atom->is_minimum && is_monotone(atom->numerator) && is_monotone(atom->denominator)) {
        const std::int64_t smaller = std::min(least_value(atom->numerator), least_value(atom->denominator));
        product = checked_mul(product, std::max<std::int64_t>(smaller, 0));  // an extent, which may vanish
      }
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

/// Whether least_value() is a lower bound of the dimension.
bool is_monotone(const Dim& dim) {
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(dim)) {
    if (coefficient < 0 && !monomial.empty()) return false;
    for (const Atom* atom : monomial) {
      if (!atom->is_quotient) continue;
      if (!atom->denominator.is_static() || !is_monotone(atom->numerator) || least_value(atom->numerator) < 0)
        return false;
    }
  }
  return true;
}

/// `bounds`: how many times a subtracted minimum may be replaced by one of its operands, which are not smaller.
bool surely_non_negative(const Dim& dim, int bounds) {
  if (dim.is_static()) return dim.value() >= 0;
  if (is_monotone(dim) && least_value(dim) >= 0) return true;
  if (bounds == 0) return false;
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(dim)) {
    if (coefficient >= 0) continue;
    if (std::any_of(monomial.begin(), monomial.end(), [](const Atom* atom) { return atom->is_quotient; })) continue;
    const auto found =
        std::find_if(monomial.begin(), monomial.end(), [](const Atom* atom) { return atom->is_minimum; });
    if (found == monomial.end()) continue;
    Monomial others = monomial;
    others.erase(others.begin() + (found - monomial.begin()));
    const Dim factor = DimArithmetic::make(Terms{{others, coefficient}});
    const Dim rest = dim - DimArithmetic::make(Terms{{monomial, coefficient}});
    for (const Dim& bound : {(*found)->numerator, (*found)->denominator})
      if (surely_non_negative(rest + factor * bound, bounds - 1)) return true;
  }
  return false;
}

}  // namespace

bool surely_non_negative(Dim dim) {
  constexpr int most_bounds = 3;
  try {
    return surely_non_negative(dim, most_bounds);
  } catch (const ShapeError&) {
    return false;  // overflow: cannot tell
  }
}

bool has_minimum_that_may_vanish(Dim dim) {
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(dim))
    for (const Atom* atom : monomial) {
      if (!atom->is_minimum && !atom->is_quotient) continue;
      for (const Dim& part : {atom->numerator, atom->denominator})
        if ((atom->is_minimum && !surely_at_least(part, 1)) || has_minimum_that_may_vanish(part)) return true;
    }
  return false;
}

std::optional<Dim> exact_div(Dim a, Dim b) {
  if (b == Dim(0)) return std::nullopt;
  if (b == Dim(1)) return a;
  if (b == Dim(-1)) return Dim(-1) * a;  // checked: INT64_MIN / -1 overflows
  if (a == b) return Dim(1);
  if (a.is_static() && b.is_static())
    return a.value() % b.value() == 0 ? std::optional<Dim>(a.value() / b.value()) : std::nullopt;
  const Terms divisor = DimArithmetic::terms(b);
  // Long division by the leading term. It ends because terms are ordered by degree.
  const auto& [lead, lead_coefficient] = *divisor.begin();
  if (lead_coefficient < 0) return exact_div(Dim(-1) * a, Dim(-1) * b);
  Terms rest = DimArithmetic::terms(a);
  Dim quotient = 0;
  for (int step = 0; !rest.empty(); ++step) {
    if (step == 64) return std::nullopt;
    const auto& [monomial, coefficient] = *rest.begin();
    Monomial factor;
    std::set_difference(monomial.begin(), monomial.end(), lead.begin(), lead.end(), std::back_inserter(factor),
                        ByText{});
    if (coefficient % lead_coefficient != 0 || factor.size() + lead.size() != monomial.size()) return std::nullopt;
    const Dim term = DimArithmetic::make(Terms{{factor, coefficient / lead_coefficient}});
    quotient = quotient + term;
    rest = DimArithmetic::terms(DimArithmetic::make(std::move(rest)) - term * b);
  }
  return quotient;
}

Dim floor_div(Dim a, Dim b) {
  if (b.is_static() && b.value() <= 0) throw ShapeError("dimension divides by a number that is not positive");
  if (a.is_static() && b.is_static()) return floor_quotient(a.value(), b.value());
  if (const auto exact = exact_div(a, b)) return *exact;
  // Take terms that divide evenly out of the rounding, so that equal dimensions get one form.
  Dim whole = 0;
  Terms rest = DimArithmetic::terms(a);
  if (b.is_static()) {
    for (auto term = rest.begin(); term != rest.end();) {
      const std::int64_t quotient = floor_quotient(term->second, b.value());
      // Do not compute coefficient − quotient·divisor: that product overflows near the smallest integer.
      std::int64_t remainder = term->second % b.value();
      if (remainder < 0) remainder += b.value();
      if (quotient != 0) whole = whole + DimArithmetic::make(Terms{{term->first, quotient}});
      term->second = remainder;
      term = remainder == 0 ? rest.erase(term) : std::next(term);
    }
  }
  const Dim top = DimArithmetic::make(std::move(rest));
  if (top.is_static() && b.is_static()) return whole + floor_quotient(top.value(), b.value());
  const auto parenthesised = [](const Dim& dim) {
    return DimArithmetic::terms(dim).size() > 1 ? "(" + dim.text() + ")" : dim.text();
  };
  const bool product_below = !b.is_static() && DimArithmetic::terms(b).size() == 1;
  const std::string below = product_below ? "(" + b.text() + ")" : parenthesised(b);
  return whole + DimArithmetic::atom({fmt::format("floor({}/{})", parenthesised(top), below), true, top, b});
}

Dim ceil_div(Dim a, Dim b) { return floor_div(a + b - 1, b); }

std::vector<DimTerm> terms_of(Dim dim) {
  std::vector<DimTerm> result;
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(dim)) {
    DimTerm term{coefficient, {}};
    for (const Atom* atom : monomial)
      term.factors.push_back(atom->is_quotient ? DimFactor{{}, atom->numerator, atom->denominator}
                                               : DimFactor{unquoted(atom->text), {}, {}});
    result.push_back(std::move(term));
  }
  return result;
}

Dim substitute(Dim dim, const std::function<std::optional<Dim>(std::string_view)>& replacement) {
  if (dim.is_static()) return dim;
  const std::vector<std::string> names = dim.symbols();
  if (std::none_of(names.begin(), names.end(), [&](const std::string& name) { return replacement(name).has_value(); }))
    return dim;
  Dim sum = 0;
  for (const auto& [monomial, coefficient] : DimArithmetic::terms(dim)) {
    Dim product = coefficient;
    for (const Atom* atom : monomial) {
      const auto part = [&](const Dim& inner) { return substitute(inner, replacement); };
      if (atom->is_quotient) {
        product = product * floor_div(part(atom->numerator), part(atom->denominator));
      } else if (atom->is_minimum) {
        product = product * minimum(part(atom->numerator), part(atom->denominator));
      } else {
        const std::string name = unquoted(atom->text);
        product = product * replacement(name).value_or(Dim::symbol(name));
      }
    }
    sum = sum + product;
  }
  return sum;
}

}  // namespace taso::ops
