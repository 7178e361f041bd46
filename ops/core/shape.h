// Shapes (dimensions that may be unknown), extents (numbers only), and numpy's broadcasting.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/core/dim.h"
#include "ops/core/element_type.h"

namespace taso::ops {

using Shape = std::vector<Dim>;
using Shapes = std::vector<Shape>;
/// A shape whose dimensions are all numbers.
using Extents = std::vector<std::int64_t>;

Shape shape_of(const Extents& extents);
std::optional<Extents> static_extents(const Shape& shape);
bool is_static(const Shape& shape);
/// The dimensions as numbers; throws ShapeError if one is unknown.
Extents extents_of(const Shape& shape);

/// The number of elements; throws ShapeError when it overflows.
std::int64_t count(const Extents& extents);
Dim count(const Shape& shape);

/// "[N, 3, 224, 224]"
std::string text_of(const Shape& shape);
std::string text_of(const Extents& extents);

/// The common shape of operands that are combined element by element. Throws ShapeError unless there is one for every
/// value of the unknowns.
Shape broadcast(std::span<const Shape> shapes);
Shape broadcast(const Shape& a, const Shape& b);
Extents broadcast(const Extents& a, const Extents& b);

/// What is known about a value: its element type and, if its rank is known, its shape.
struct Type {
  ElementType element = ElementType::undefined;
  std::optional<Shape> shape;
  bool operator==(const Type&) const = default;
};

/// "float32[N, 3]"; "float32[?]" when the rank is unknown.
std::string text_of(const Type& type);

/// Row-major strides, in elements.
std::vector<std::int64_t> strides_of(const Extents& extents);

}  // namespace taso::ops
