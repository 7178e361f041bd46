// How the operators of a model treat tensors that have a row for each token.
#pragma once

#include <map>
#include <string_view>

#include "runtime/session/growing/derivation.h"

namespace taso::runtime::growing {

/// A node that the length of the past reaches.
struct Step {
  Derivation& all;
  const proto::NodeProto& node;
  std::int64_t opset = 0;
  const Attributes& attributes;
  std::vector<Fact> facts;  ///< of the results, as far as they can be inferred

  bool has(int operand) const { return operand < node.input_size() && !node.input(operand).empty(); }
  /// The operand, which must be there.
  const Tracked& operand(int index) const;
  const Shape& shape(int operand) const;
  std::string data(int operand) const { return all.data(node.input(operand)); }
  /// The elements of an operand of integers, all of which the length determines.
  std::vector<Affine> content(int operand) const;
  /// The same of an operand that does not depend on the length.
  std::vector<std::int64_t> numbers(int operand) const;
  /// An axis of an operand, from its attribute.
  std::size_t axis(std::int64_t otherwise, int operand = 0) const;
  std::size_t axis_of(std::int64_t given, std::size_t rank) const;

  /// The node, with operands of the derived model in the places of its own.
  proto::NodeProto copy() const;
  void add_copy() const { all.append(copy()); }
  /// The axis of a shape with a row for each token.
  std::optional<Rows> rows_in(const Shape& shape) const;
  /// Tells what the first result is: of this shape in the model, under this name in the derived one.
  void result(const Shape& shape, const std::string& name, const std::optional<Rows>& rows);
  /// Tells that each result is that of the copied node, with these rows.
  void results(const std::optional<Rows>& rows);
  [[noreturn]] void refuse(const std::string& why) const;
};

/// The shape of two operands together, as numpy broadcasts them. Throws InputError unless it is so for all lengths.
Shape joined(const Step& step, const Shape& one, const Shape& other);

using Rule = void (*)(Step&);
using Rules = std::map<std::string_view, Rule>;
Rules element_rules();
Rules movement_rules();
Rules cut_rules();
Rules reduction_rules();
/// Null: no rule.
Rule rule_for(std::string_view operator_type);

}  // namespace taso::runtime::growing
