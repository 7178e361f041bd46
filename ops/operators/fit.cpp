#include "ops/operators/fit.h"

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::ops::op {

void misfit(std::string_view name, const std::string& message) {
  throw ShapeError(fmt::format("{}: {}", name, message));
}

std::size_t axis_in(std::string_view name, std::int64_t axis, const Shape& shape) {
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
    misfit(name, fmt::format("there is no axis {} in {}", axis, text_of(shape)));
  return static_cast<std::size_t>(axis);
}

void need_rank(std::string_view name, const Shape& shape, std::size_t least) {
  if (shape.size() < least)
    misfit(name, fmt::format("operand {} has fewer than {} dimension{}", text_of(shape), least, least == 1 ? "" : "s"));
}

void need_list(std::string_view name, std::string_view field, const std::vector<std::int64_t>& list, std::size_t length,
               std::int64_t least, std::int64_t greatest) {
  if (list.size() != length)
    misfit(name, fmt::format("'{}' has {} element{}, not {}", field, list.size(), list.size() == 1 ? "" : "s", length));
  for (const std::int64_t value : list)
    if (value < least || value > greatest)
      misfit(name, fmt::format("'{}' holds {}, which is not between {} and {}", field, value, least, greatest));
}

void need_constant(std::string_view name, ElementType type) {
  if (type == ElementType::undefined) misfit(name, "a constant of an undefined type");
}

bool is_negative(const Dim& dim) { return dim.is_static() && dim.value() < 0; }

}  // namespace taso::ops::op
