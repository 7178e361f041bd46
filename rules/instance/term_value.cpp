#include "rules/instance/term_value.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

/// Far above any rank.
constexpr std::int64_t longest_list = 64;

[[noreturn]] void misuse(const std::string& message) { throw InputError(message); }

std::size_t place_in(std::int64_t index, std::size_t size) {
  if (index < 0 || static_cast<std::size_t>(index) >= size) throw NoValue{};
  return static_cast<std::size_t>(index);
}

class Evaluation {
 public:
  Evaluation(const TermContext& context) : context_(context) {}

  TermValue operator()(const Term& term, std::size_t length) const {
    switch (term.kind) {
      case Term::Kind::integer: return Dim(term.integer);
      case Term::Kind::boolean: return term.integer != 0;
      case Term::Kind::real: return RealAttribute{{}, term.real};
      case Term::Kind::variable: return context_.variable(term.name, length);
      case Term::Kind::list: {
        std::vector<Dim> list;
        for (const TermPtr& element : term.operands) list.push_back(number(*element));
        return list;
      }
      case Term::Kind::call: return call(term, length);
    }
    throw NoValue{};
  }

 private:
  Dim number(const Term& term) const { return as_number((*this)(term, 0)); }
  std::vector<Dim> list(const Term& term, std::size_t length = 0) const { return as_list((*this)(term, length)); }
  std::int64_t integer(const Term& term) const { return as_integer((*this)(term, 0)); }
  std::vector<std::int64_t> integers(const Term& term, std::size_t length = 0) const {
    return as_integers((*this)(term, length));
  }

  Dim quotient(Dim a, Dim b) const {
    if (b.is_static() && b.value() < 1) throw NoValue{};
    context_.require({Requirement::Kind::at_least, b, 1});
    return floor_div(a, b);
  }
  Dim combine(const std::string& function, Dim a, Dim b) const {
    if (function == "+") return a + b;
    if (function == "-") return a - b;
    if (function == "*") return a * b;
    if (function == "/") return quotient(a, b);
    return a - b * quotient(a, b);  // %
  }
  TermValue arithmetic(const Term& term, std::size_t length) const {
    const TermValue a = (*this)(*term.operands[0], length), b = (*this)(*term.operands[1], length);
    if (std::holds_alternative<Dim>(a) && std::holds_alternative<Dim>(b))
      return combine(term.name, std::get<Dim>(a), std::get<Dim>(b));
    std::vector<Dim> left, right;
    if (std::holds_alternative<Dim>(a)) {
      right = as_list(b);
      left.assign(right.size(), std::get<Dim>(a));
    } else {
      left = as_list(a);
      right = std::holds_alternative<Dim>(b) ? std::vector<Dim>(left.size(), std::get<Dim>(b)) : as_list(b);
    }
    if (left.size() != right.size()) throw NoValue{};
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = combine(term.name, left[i], right[i]);
    return left;
  }

  Dim non_negative_part(Dim number) const {
    if (number.is_static()) return std::max<std::int64_t>(number.value(), 0);
    return context_.is_non_negative(number) ? number : Dim(0);
  }
  TermValue same_padding(const Term& term) const {
    const auto size = list(*term.operands[0]);
    auto repeated = [&](const Term& operand) {
      const TermValue value = (*this)(operand, size.size());
      return std::holds_alternative<Dim>(value) ? std::vector<Dim>(size.size(), std::get<Dim>(value)) : as_list(value);
    };
    const auto kernel = repeated(*term.operands[1]), stride = repeated(*term.operands[2]);
    if (size.size() != kernel.size() || size.size() != stride.size()) throw NoValue{};
    std::vector<Dim> begins, ends;
    for (std::size_t i = 0; i < size.size(); ++i) {
      const Dim windows = quotient(size[i] + stride[i] - 1, stride[i]);
      const Dim total = non_negative_part((windows - 1) * stride[i] + kernel[i] - size[i]);
      begins.push_back(floor_div(total + 1, 2));  // the larger half comes first, as in TASO's kernels
      ends.push_back(total - begins.back());
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    return begins;
  }

  /// The one index at which it occurs. Numbers of different forms may be equal, so every index must be decided.
  Dim position(const std::vector<Dim>& list, const Dim& wanted) const {
    std::optional<std::size_t> place;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool is_there = list[i] == wanted;
      const bool is_decided = is_there || (list[i].is_static() && wanted.is_static()) ||
                              (context_.differ && context_.differ(list[i], wanted));
      if (!is_decided || (is_there && place))
        throw Undecided{fmt::format("{} occurs more than once in {}, or may", wanted.text(), ops::text_of(list))};
      if (is_there) place = i;
    }
    if (!place) throw NoValue{};
    return static_cast<std::int64_t>(*place);
  }

  const std::string& input(const Term& term) const {
    if (term.kind != Term::Kind::variable) misuse(fmt::format("'{}' is not an input", text_of(term)));
    return term.name;
  }

  TermValue call(const Term& term, std::size_t length) const {
    const std::string& name = term.name;
    const auto& operands = term.operands;
    if (name == "+" || name == "-" || name == "*" || name == "/" || name == "%") return arithmetic(term, length);
    if (name == "dim") {
      const Shape shape = context_.shape(input(*operands[0]));
      return shape[place_in(integer(*operands[1]), shape.size())];
    }
    if (name == "rank") return Dim(static_cast<std::int64_t>(context_.shape(input(*operands[0])).size()));
    if (name == "shape") return context_.shape(input(*operands[0]));
    if (name == "spatial") {
      const Shape shape = context_.shape(input(*operands[0]));
      if (shape.size() < 3) throw NoValue{};
      return std::vector<Dim>(shape.begin() + 2, shape.end());
    }
    if (name == "same") return same_padding(term);
    if (name == "repeat") {
      const std::int64_t times = integer(*operands[1]);
      if (times < 0) throw NoValue{};
      if (times > longest_list) throw Undecided{fmt::format("a list of {} elements is too long", times)};
      return std::vector<Dim>(static_cast<std::size_t>(times), number(*operands[0]));
    }
    if (name == "swap_last") {
      const std::int64_t rank = integer(*operands[0]);
      if (rank < 2) throw NoValue{};
      if (rank > longest_list) throw Undecided{fmt::format("a permutation of {} axes is too long", rank)};
      std::vector<Dim> result;
      for (std::int64_t i = 0; i < rank; ++i)
        result.emplace_back(i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2);
      return result;
    }
    return list_call(term, length);
  }

  TermValue list_call(const Term& term, std::size_t length) const {
    const std::string& name = term.name;
    const auto& operands = term.operands;
    const bool halves = name == "begins" || name == "ends";
    std::vector<Dim> first = list(*operands[0], halves ? 2 * length : name == "inverse" ? length : 0);
    if (name == "[]") return first[place_in(integer(*operands[1]), first.size())];
    if (name == "++") {
      const auto second = list(*operands[1]);
      first.insert(first.end(), second.begin(), second.end());
      return first;
    }
    if (halves) {
      if (first.size() % 2 != 0) throw NoValue{};
      const auto middle = first.begin() + static_cast<std::ptrdiff_t>(first.size() / 2);
      return name == "begins" ? std::vector<Dim>(first.begin(), middle) : std::vector<Dim>(middle, first.end());
    }
    if (name == "product" || name == "sum") {
      Dim result = name == "sum" ? 0 : 1;
      for (const Dim& element : first) result = name == "sum" ? result + element : result * element;
      return result;
    }
    if (name == "inverse") {
      std::vector<Dim> result(first.size());
      for (std::size_t i = 0; i < first.size(); ++i)
        result[place_in(as_integer(first[i]), first.size())] = static_cast<std::int64_t>(i);
      return result;
    }
    if (name == "compose" || name == "permuted") {
      std::vector<Dim> result;
      for (const std::int64_t place : integers(*operands[1], first.size()))
        result.push_back(first[place_in(place, first.size())]);
      return result;
    }
    if (name == "position") return position(first, number(*operands[1]));
    if (name == "without") {
      const TermValue places = (*this)(*operands[1], 0);
      const auto left_out =
          std::holds_alternative<Dim>(places) ? std::vector<std::int64_t>{as_integer(places)} : as_integers(places);
      std::vector<Dim> result;
      for (std::size_t i = 0; i < first.size(); ++i)
        if (std::find(left_out.begin(), left_out.end(), static_cast<std::int64_t>(i)) == left_out.end())
          result.push_back(first[i]);
      return result;
    }
    if (name == "replaced") {
      first[place_in(integer(*operands[1]), first.size())] = number(*operands[2]);
      return first;
    }
    if (name == "inserted") {
      const std::size_t place = place_in(integer(*operands[1]), first.size() + 1);
      first.insert(first.begin() + static_cast<std::ptrdiff_t>(place), number(*operands[2]));
      return first;
    }
    misuse(fmt::format("there is no function '{}'", name));
  }

  const TermContext& context_;
};

}  // namespace

TermValue evaluate(const Term& term, const TermContext& context, std::size_t length) {
  return Evaluation(context)(term, length);
}

Dim as_number(const TermValue& value) {
  if (const auto* number = std::get_if<Dim>(&value)) return *number;
  misuse("a list or a truth value where an integer is needed");
}

std::vector<Dim> as_list(const TermValue& value) {
  if (const auto* list = std::get_if<std::vector<Dim>>(&value)) return *list;
  misuse("an integer or a truth value where a list is needed");
}

std::int64_t as_integer(const TermValue& value) {
  const Dim number = as_number(value);
  if (!number.is_static()) throw Undecided{fmt::format("an axis or a length depends on {}", number.text())};
  return number.value();
}

std::vector<std::int64_t> as_integers(const TermValue& value) {
  std::vector<std::int64_t> result;
  for (const Dim& number : as_list(value)) result.push_back(as_integer(number));
  return result;
}

}  // namespace taso::rules
