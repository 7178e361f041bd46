// What an operator demands of its operands and attributes. Each operator infers its shapes once; the same code serves
// graphs, whose attributes are numbers, and rules, whose attributes may be unknown.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/core/error.h"
#include "ops/core/requirement.h"
#include "ops/core/shape.h"

namespace taso::ops::op {

/// The operands or attributes do not fit the operator, whatever the unknowns are.
struct Misfit : ShapeError {
  using ShapeError::ShapeError;
};

/// The largest value of attributes that are multiplied with each other: 64 bits hold every product of two.
inline constexpr std::int64_t greatest_attribute = (std::int64_t{1} << 31) - 1;

/// Passed through shape inference. In a graph, a demand that is known to fail throws Misfit. In a rule, demands on
/// dimensions are collected instead: the rule holds where they do. Messages are functions, called only on failure.
class Fit {
 public:
  explicit Fit(std::string_view name) : name_(name) {}
  Fit(std::string_view name, std::vector<Requirement>& requirements) : name_(name), requirements_(&requirements) {}

  bool is_for_rule() const { return requirements_ != nullptr; }
  /// Throws Misfit("name: message").
  [[noreturn]] void fail(const std::string& message) const;
  /// A demand that does not depend on unknowns: on ranks, lengths of lists, and numbers.
  void need(bool holds, auto&& message) const {
    if (!holds) fail(message());
  }

  /// In a graph, the two must be the same for all values of unknowns.
  void equal(Dim a, Dim b, auto&& message) {
    if (a == b) return;
    if (requirements_ == nullptr) fail(message());
    requirements_->push_back({Requirement::Kind::equal, a, b});
  }
  /// In a graph, `a` must not be known to be less than `b`.
  void at_least(Dim a, Dim b, auto&& message) {
    if (requirements_ != nullptr)
      requirements_->push_back({Requirement::Kind::at_least, a, b});
    else if (is_less(a, b))
      fail(message());
  }
  void divides(Dim divisor, Dim dim, auto&& message) {
    if (requirements_ != nullptr)
      requirements_->push_back({Requirement::Kind::divides, divisor, dim});
    else if (!exact_div(dim, divisor))
      fail(message());
  }
  /// The dimension of a result: a graph may have empty tensors, a rule speaks of none.
  void dimension(Dim dim, auto&& message) { at_least(dim, is_for_rule() ? 1 : 0, message); }

  /// The axis as an index, which is less than the shape's rank.
  std::size_t axis(std::int64_t axis, const Shape& shape) const;
  /// The shape has at least so many dimensions.
  void rank(const Shape& shape, std::size_t least) const;
  /// The list has that length. Numbers in it are from `least` to `greatest`; what is demanded of dimensions that may be
  /// unknown, the operator says itself.
  void list(std::string_view field, const std::vector<std::int64_t>& list, std::size_t length, std::int64_t least,
            std::int64_t greatest) const;
  void list(std::string_view field, const std::vector<Dim>& list, std::size_t length, std::int64_t least,
            std::int64_t greatest) const;
  /// A number is from `least` to `greatest`; a dimension is at least `least`.
  void number(std::string_view field, std::int64_t number, std::int64_t least, std::int64_t greatest);
  void number(std::string_view field, Dim number, std::int64_t least, std::int64_t greatest);
  /// A constant has an element type.
  void constant(ElementType type) const;
  /// The common shape of operands that are combined element by element. In a rule, a dimension that is 1 to the letter
  /// broadcasts.
  Shape broadcast(const Shape& a, const Shape& b);

 private:
  static bool is_less(Dim a, Dim b) {
    if (a.is_static() && b.is_static()) return a.value() < b.value();
    const Dim difference = a - b;
    return difference.is_static() && difference.value() < 0;
  }

  std::string_view name_;
  std::vector<Requirement>* requirements_ = nullptr;
};

/// The shapes of the operator's results in a graph.
template <class Op>
auto inferred(const Op& op, std::span<const Shape> in) {
  Fit fit(Op::name);
  return op.infer(in, fit);
}

/// The type of an operator whose numbers may be unknown: Conv, which is ConvOf<std::int64_t>, becomes ConvOf<Dim>.
template <class Op>
struct WithUnknownsOf {
  using type = Op;
};
template <template <class> class Op>
struct WithUnknownsOf<Op<std::int64_t>> {
  using type = Op<Dim>;
};
template <class Op>
using WithUnknowns = typename WithUnknownsOf<Op>::type;

}  // namespace taso::ops::op
