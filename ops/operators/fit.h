// Checks that shape inference makes on operands and attributes. Each throws ShapeError.
#pragma once

#include <string>
#include <string_view>

#include "ops/core/shape.h"

namespace taso::ops::op {

/// Throws ShapeError("name: message").
[[noreturn]] void misfit(std::string_view name, const std::string& message);

/// Returns the axis as an index; throws unless 0 <= axis < rank.
std::size_t axis_in(std::string_view name, std::int64_t axis, const Shape& shape);

/// Throws if the shape has fewer than `least` dimensions.
void need_rank(std::string_view name, const Shape& shape, std::size_t least);

/// Throws if the list has another length, or an element outside [least, greatest].
void need_list(std::string_view name, std::string_view field, const std::vector<std::int64_t>& list, std::size_t length,
               std::int64_t least, std::int64_t greatest);

/// Throws if a constant has a type that we do not model.
void need_constant(std::string_view name, ElementType type);

/// Whether the dimension is known to be negative.
bool is_negative(const Dim& dim);

/// The largest value of attributes that are multiplied with each other: 64 bits hold every product of two.
inline constexpr std::int64_t greatest_attribute = (std::int64_t{1} << 31) - 1;

}  // namespace taso::ops::op
