// Every operator that rewrites, in one list. Each std::visit over it is a checklist that the compiler keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ops/operators/add.h"
#include "ops/operators/split.h"

namespace taso {

using Operator = std::variant<op::Add, op::Split>;

/// What an attribute may be.
using FieldValue =
    std::variant<bool, std::int64_t, double, Dim, ElementType, std::vector<std::int64_t>, std::vector<Dim>>;

std::string_view name_of(const Operator& op);
std::size_t min_inputs(const Operator& op);
std::size_t max_inputs(const Operator& op);
std::size_t outputs_of(const Operator& op);
/// The operator of that name with its default attributes.
std::optional<Operator> operator_named(std::string_view name);
/// All of them, with default attributes, in the order of the list.
std::vector<Operator> all_operators();

struct NamedField {
  std::string_view name;
  FieldValue value;
};
std::vector<NamedField> fields_of(const Operator& op);
/// Sets an attribute; false if the operator has none of that name or not of that kind (an integer is taken for a double
/// or a dimension, a list of integers for a list of dimensions).
bool set_field(Operator& op, std::string_view name, const FieldValue& value);
std::size_t hash_of(const Operator& op);

/// The shapes of the outputs; throws ShapeError.
Shapes infer(const Operator& op, std::span<const Shape> inputs);
Work work_of(const Operator& op, std::span<const Shape> inputs);

/// What the operator means. Instantiated in ops/evaluate.cpp for the numbers of the interpreter and for Field; include
/// "ops/evaluate.h" for other scalars.
template <Scalar S>
std::vector<Tensor<S>> evaluate(const Operator& op, Tensors<S> inputs);

}  // namespace taso
