#include "ops/core/shape.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"

namespace taso::ops {

Shape shape_of(const Extents& extents) { return Shape(extents.begin(), extents.end()); }

bool is_static(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_static(); });
}

std::optional<Extents> static_extents(const Shape& shape) {
  if (!is_static(shape)) return std::nullopt;
  Extents extents;
  extents.reserve(shape.size());
  for (const Dim& dim : shape) extents.push_back(dim.value());
  return extents;
}

Extents extents_of(const Shape& shape) {
  auto extents = static_extents(shape);
  if (!extents) throw ShapeError(fmt::format("a dimension of {} has no value", text_of(shape)));
  return *std::move(extents);
}

Dim count(const Shape& shape) {
  Dim product = 1;
  for (const Dim& dim : shape) product = product * dim;
  return product;
}

std::int64_t count(const Extents& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents)
    if (__builtin_mul_overflow(product, extent, &product)) throw ShapeError("number of elements overflows");
  return product;
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + shape[i].text();
  return text + "]";
}

std::string text_of(const Extents& extents) { return fmt::format("[{}]", fmt::join(extents, ", ")); }

std::string text_of(const Type& type) {
  return std::string(name_of(type.element)) + (type.shape ? text_of(*type.shape) : "[?]");
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[offset + i];
    if (dim == Dim(1))
      dim = shorter[i];
    else if (shorter[i] != Dim(1) && shorter[i] != dim)
      throw ShapeError(fmt::format("shapes {} and {} do not broadcast", text_of(a), text_of(b)));
  }
  return result;
}

Shape broadcast(std::span<const Shape> shapes) {
  Shape result;
  for (const Shape& shape : shapes) result = broadcast(result, shape);
  return result;
}

Extents broadcast(const Extents& a, const Extents& b) { return *static_extents(broadcast(shape_of(a), shape_of(b))); }

std::vector<std::int64_t> strides_of(const Extents& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  // Unsigned, because the extents of an empty tensor may be of any size and their product may overflow.
  for (std::size_t i = extents.size(); i-- > 1;)
    strides[i - 1] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[i]) * static_cast<std::uint64_t>(extents[i]));
  return strides;
}

}  // namespace taso::ops
