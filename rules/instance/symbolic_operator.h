// An operator whose attributes may be unknown, and what its operands' shapes must satisfy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/graph/operator.h"

namespace taso::rules {

using ops::Requirement;
std::string text_of(const Requirement& requirement);
/// Whether it holds for numbers; false also when a dimension overflows or divides by what is not positive.
bool holds(const Requirement& requirement, const std::function<std::int64_t(std::string_view)>& binding);

/// A real attribute: a variable, or a number if `variable` is empty.
struct RealAttribute {
  std::string variable;
  double value = 0;
  bool operator==(const RealAttribute&) const = default;
};

/// Axes, permutations and switches are numbers; every other integer attribute is a Dim.
using SymbolicField = std::variant<bool, std::int64_t, Dim, RealAttribute, std::vector<std::int64_t>, std::vector<Dim>>;

/// `kind` is the operator's place in all_operators(); the fields are in the order of fields_of(), without `type`.
struct SymbolicOperator {
  std::size_t kind = 0;
  std::vector<SymbolicField> fields;
  bool operator==(const SymbolicOperator&) const = default;
};

/// The default operator of that place in the list, made once.
const Operator& prototype(std::size_t kind);
/// The place in the list; nothing if no operator has that name.
std::optional<std::size_t> kind_named(std::string_view name);
struct SymbolicFieldName {
  std::string_view name;
  SymbolicField sample;  ///< the default, as a value of the right kind
};
/// All fields but `type`.
const std::vector<SymbolicFieldName>& symbolic_fields(std::size_t kind);
/// Its value; the operator must have a field of that name.
const SymbolicField& field(const SymbolicOperator& op, std::string_view name);
std::string text_of(const SymbolicOperator& op);

/// The shapes of the results; what must hold for them to be right is appended to `requirements`. Nothing if ranks or
/// lengths of lists do not fit, whatever the dimensions are. Element-wise operators broadcast a dimension that is 1 to
/// the letter; two others are required to be equal. Every dimension is 1 at least.
std::optional<Shapes> infer(const SymbolicOperator& op, std::span<const Shape> operands,
                            std::vector<Requirement>& requirements);

/// Whether the operator may have no value at some numbers: a division by zero, the root of a negative number.
bool may_be_undefined(const SymbolicOperator& op);

}  // namespace taso::rules
