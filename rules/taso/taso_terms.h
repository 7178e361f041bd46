// Dimensions of the values of a TASO rule, as terms over its inputs: same padding, groups and cuts follow from them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rules/language/term.h"
#include "rules/taso/taso_message.h"

namespace taso::rules {

/// The attributes of an operator whose operands are known; null for those that it does not have.
struct TasoAttributes {
  TermPtr kernel, strides, cut;
  std::vector<std::int32_t> permutation;  ///< empty: unknown
  bool same_padding = false;
  /// For a constant: its size, channels, or shape, which follow from its use.
  TermPtr extent;
};

/// Thrown if a dimension does not follow from the inputs'.
struct NoTerm {};

/// One side of a rule. `attributes` has an entry for each operator processed so far, including all operands.
class TasoTerms {
 public:
  TasoTerms(const std::vector<TasoOperator>& side, const std::map<TasoValue, std::string>& inputs)
      : side_(side), inputs_(inputs) {}

  std::map<std::int32_t, TasoAttributes> attributes;
  std::map<TasoValue, std::int32_t> ranks;  ///< of inputs, if known

  TermPtr dim(TasoValue value, std::int32_t axis) const;
  TermPtr last_dim(TasoValue value, std::int32_t from_the_end) const;
  TermPtr spatial(TasoValue value) const;
  TermPtr shape(TasoValue value) const;
  /// Where the concat joined whose result, or what was made of it part by part, is cut along the axis; null if there is
  /// none.
  TermPtr joint(TasoValue value, std::int32_t axis) const;
  enum class Pairs {
    included,  ///< as in TASO, all operands of add, mul and matmul have the same rank
    left_out,  ///< as here, the smaller may broadcast
  };
  /// The inputs that have the rank of the value.
  std::set<TasoValue> same_rank(TasoValue value, Pairs pairs) const;
  std::optional<std::int32_t> rank(TasoValue value) const;

 private:
  const TasoOperator& op(TasoValue value) const { return side_[static_cast<std::size_t>(value.op)]; }
  TermPtr window_dim(const TasoOperator& op, const TasoAttributes& given, std::int32_t axis) const;

  const std::vector<TasoOperator>& side_;
  const std::map<TasoValue, std::string>& inputs_;
};

/// The element of a list of two that belongs to an axis from 2 on; an integer stands for both.
TermPtr element_for(const TermPtr& list, std::int32_t axis);

}  // namespace taso::rules
