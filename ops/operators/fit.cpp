#include "ops/operators/fit.h"

#include <fmt/format.h>

namespace taso::ops::op {
namespace {

std::string outside(std::int64_t value, std::int64_t least, std::int64_t greatest) {
  return fmt::format("{}, which is not between {} and {}", value, least, greatest);
}

template <class Number>
void need_length(const Fit& fit, std::string_view field, const std::vector<Number>& list, std::size_t length) {
  fit.need(list.size() == length, [&] {
    return fmt::format("'{}' has {} element{}, not {}", field, list.size(), list.size() == 1 ? "" : "s", length);
  });
}

}  // namespace

void Fit::fail(const std::string& message) const { throw Misfit(fmt::format("{}: {}", name_, message)); }

std::size_t Fit::axis(std::int64_t axis, const Shape& shape) const {
  need(axis >= 0 && axis < static_cast<std::int64_t>(shape.size()),
       [&] { return fmt::format("there is no axis {} in {}", axis, text_of(shape)); });
  return static_cast<std::size_t>(axis);
}

void Fit::rank(const Shape& shape, std::size_t least) const {
  need(shape.size() >= least, [&] {
    return fmt::format("operand {} has fewer than {} dimension{}", text_of(shape), least, least == 1 ? "" : "s");
  });
}

void Fit::list(std::string_view field, const std::vector<std::int64_t>& list, std::size_t length, std::int64_t least,
               std::int64_t greatest) const {
  need_length(*this, field, list, length);
  for (const std::int64_t value : list)
    need(value >= least && value <= greatest,
         [&] { return fmt::format("'{}' holds {}", field, outside(value, least, greatest)); });
}

void Fit::list(std::string_view field, const std::vector<Dim>& list, std::size_t length, std::int64_t,
               std::int64_t) const {
  need_length(*this, field, list, length);
}

void Fit::number(std::string_view field, std::int64_t number, std::int64_t least, std::int64_t greatest) {
  need(number >= least && number <= greatest,
       [&] { return fmt::format("'{}' is {}", field, outside(number, least, greatest)); });
}

void Fit::number(std::string_view field, Dim number, std::int64_t least, std::int64_t) {
  at_least(number, least, [&] { return fmt::format("'{}' is less than {}", field, least); });
}

void Fit::constant(ElementType type) const {
  need(type != ElementType::undefined, [] { return std::string("a constant of an undefined type"); });
}

Shape Fit::broadcast(const Shape& a, const Shape& b) {
  if (!is_for_rule()) return ops::broadcast(a, b);
  const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t missing = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[missing + i];
    if (dim == Dim(1))
      dim = shorter[i];
    else if (shorter[i] != Dim(1))
      equal(dim, shorter[i], [] { return std::string(); });
  }
  return result;
}

}  // namespace taso::ops::op
