// Boxes of positions in a tensor: an interval for each axis, with bounds over the sizes and attributes of a rule.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/shape.h"
#include "verifier/normal_form/normal_form.h"

namespace taso::verifier {

/// The positions whose index along each axis lies in the axis's interval. Bounds may lie outside the tensor: only
/// positions of the tensor count. A box is empty if an interval ends where it begins or before.
struct Box {
  std::vector<Interval> axes;
  bool operator==(const Box&) const = default;
};

Box whole(const Shape& shape);

/// A box at known sizes, within the tensor: low <= high on every axis.
struct Block {
  Extents low, high;
  bool operator==(const Block&) const = default;

  std::int64_t count() const;
  bool is_empty() const { return count() == 0; }
  bool contains(const Extents& position) const;
};

using Binding = std::function<std::int64_t(std::string_view)>;
/// The box at the sizes that the binding gives the unknowns, in a tensor of these extents.
Block at(const Box& box, const Extents& extents, const Binding& binding);

/// Whether one bound is at most the other for all sizes; false means "cannot tell".
using AtMost = std::function<bool(Dim low, Dim high)>;
/// Boxes that contain every position of the tensor that lies in none of the given boxes. No two of them share a
/// position, provided that no given box has a bound `low` above its `high`. They contain nothing else as far as
/// `at_most` can order the bounds of different boxes: of one box, they are exactly the rest.
std::vector<Box> complement(const Shape& shape, const std::vector<Box>& boxes, const AtMost& at_most);

/// How an unknown is written: "x.2" as "dim(x, 2)".
using NameOf = std::function<std::string(std::string_view unknown)>;
std::string text_of(Dim dim, const NameOf& name_of);
/// "1 <= i2 < dim(x, 2) - 1 and i3 < 4", where i2 is the index along axis 2; "everywhere" if no axis is restricted.
std::string text_of(const Box& box, const Shape& shape, const NameOf& name_of);

}  // namespace taso::verifier
