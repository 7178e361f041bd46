// What shape inference asks of operands and attributes, and how it refuses them.
#pragma once

#include <string>
#include <string_view>

#include "ops/core/shape.h"

namespace taso::ops::op {

/// Throws ShapeError("name: message").
[[noreturn]] void misfit(std::string_view name, const std::string& message);

/// The axis as an index; it must lie between 0 and the rank.
std::size_t axis_in(std::string_view name, std::int64_t axis, const Shape& shape);

/// Refuses a shape of fewer dimensions.
void need_rank(std::string_view name, const Shape& shape, std::size_t least);

/// Refuses a list of another length, or with an element outside [least, greatest].
void need_list(std::string_view name, std::string_view field, const std::vector<std::int64_t>& list, std::size_t length,
               std::int64_t least, std::int64_t greatest);

/// Refuses a constant of a type that we do not model.
void need_constant(std::string_view name, ElementType type);

/// Known to be negative.
bool is_negative(const Dim& dim);

/// Attributes that are multiplied with one another stay below this, so that 64 bits hold every product of two.
inline constexpr std::int64_t greatest_attribute = (std::int64_t{1} << 31) - 1;

}  // namespace taso::ops::op
