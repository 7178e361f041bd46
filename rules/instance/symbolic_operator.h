// An operator whose attributes may be unknown, and the requirements on its operands' shapes.
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
/// Whether it holds for numbers; false also if a dimension overflows or divides by a number that is not positive.
bool holds(const Requirement& requirement, const std::function<std::int64_t(std::string_view)>& binding);

/// A real attribute: a variable, or a number if `variable` is empty.
struct RealAttribute {
  std::string variable;
  double value = 0;
  bool operator==(const RealAttribute&) const = default;
};

/// Axes, permutations and switches are numbers; every other integer attribute is a Dim.
using SymbolicField = std::variant<bool, std::int64_t, Dim, RealAttribute, std::vector<std::int64_t>, std::vector<Dim>>;

/// `kind` is the operator's index in all_operators(); the fields are in the order of fields_of(), without `type`.
struct SymbolicOperator {
  std::size_t kind = 0;
  std::vector<SymbolicField> fields;
  bool operator==(const SymbolicOperator&) const = default;
};

/// The default operator at that index of the list, made once.
const Operator& prototype(std::size_t kind);
/// The index in the list; nothing if no operator has that name.
std::optional<std::size_t> kind_named(std::string_view name);
struct SymbolicFieldName {
  std::string_view name;
  SymbolicField sample;  ///< the default, as a value of the right kind
};
/// All fields except `type`.
const std::vector<SymbolicFieldName>& symbolic_fields(std::size_t kind);
/// The value of a field, which must exist.
const SymbolicField& field(const SymbolicOperator& op, std::string_view name);
std::string text_of(const SymbolicOperator& op);

/// The shapes of the results; the requirements for them to be right are appended to `requirements`. Nothing if ranks or
/// lengths of lists never fit, whatever the dimensions are. Element-wise operators broadcast a dimension that is
/// literally 1; any two others are required to be equal. Every dimension is at least 1.
std::optional<Shapes> infer(const SymbolicOperator& op, std::span<const Shape> operands,
                            std::vector<Requirement>& requirements);

/// Whether the operator may have no value at some numbers: a division by zero, the root of a negative number.
bool may_be_undefined(const SymbolicOperator& op);

}  // namespace taso::rules
