#include "runtime/host/copy.h"

#include <algorithm>

namespace taso::runtime {
namespace {

struct Dimension {
  std::int64_t extent, to, from;
};

/// Drops dimensions of extent 1, and merges dimensions that are contiguous on both sides.
std::vector<Dimension> merged(const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from,
                              const Extents& extents) {
  std::vector<Dimension> dimensions;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    if (!dimensions.empty() && dimensions.back().to == to[i] * extents[i] &&
        dimensions.back().from == from[i] * extents[i])
      dimensions.back() = {dimensions.back().extent * extents[i], to[i], from[i]};
    else
      dimensions.push_back({extents[i], to[i], from[i]});
  }
  return dimensions;
}

template <std::size_t size>
void copy_line(std::byte* to, const std::byte* from, const Dimension& line) {
  const std::int64_t to_step = line.to * static_cast<std::int64_t>(size);
  const std::int64_t from_step = line.from * static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < line.extent; ++i) std::memcpy(to + i * to_step, from + i * from_step, size);
}

/// Copies two dimensions in tiles, so that neither side strides through memory for long.
template <std::size_t size>
void copy_plane(std::byte* to, const std::byte* from, const Dimension& rows, const Dimension& columns) {
  constexpr std::int64_t tile = 32;
  const auto step = static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < rows.extent; i += tile)
    for (std::int64_t j = 0; j < columns.extent; j += tile)
      for (std::int64_t k = i; k < std::min(i + tile, rows.extent); ++k)
        copy_line<size>(to + (k * rows.to + j * columns.to) * step, from + (k * rows.from + j * columns.from) * step,
                        {std::min(tile, columns.extent - j), columns.to, columns.from});
}

}  // namespace

void copy_strided(std::byte* to, std::vector<std::int64_t> to_strides, const std::byte* from,
                  std::vector<std::int64_t> from_strides, Extents extents, std::size_t element_size) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  std::vector<Dimension> dimensions = merged(to_strides, from_strides, extents);
  const auto size = static_cast<std::int64_t>(element_size);
  std::size_t run = element_size;
  const bool runs = !dimensions.empty() && dimensions.back().to == 1 && dimensions.back().from == 1;
  if (runs) {
    run *= static_cast<std::size_t>(dimensions.back().extent);
    dimensions.pop_back();
  }
  // The innermost dimensions have a loop of their own: none (a run), one, or two where a transpose would otherwise read
  // with a large stride.
  std::size_t inner = runs || dimensions.empty() ? 0 : 1;
  if (inner == 1 && dimensions.size() > 1 && dimensions[dimensions.size() - 2].from == 1) inner = 2;
  const std::size_t outer = dimensions.size() - inner;
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t to_at = 0, from_at = 0;
  with_element_size(element_size, [&](auto constant) {
    constexpr std::size_t fixed = decltype(constant)::value;
    while (true) {
      if (inner == 2)
        copy_plane<fixed>(to + to_at, from + from_at, dimensions[outer], dimensions[outer + 1]);
      else if (inner == 1)
        copy_line<fixed>(to + to_at, from + from_at, dimensions[outer]);
      else
        std::memcpy(to + to_at, from + from_at, run);
      std::size_t axis = outer;
      for (; axis > 0; --axis) {
        const Dimension& dimension = dimensions[axis - 1];
        to_at += dimension.to * size;
        from_at += dimension.from * size;
        if (++index[axis - 1] < dimension.extent) break;
        to_at -= dimension.to * dimension.extent * size;
        from_at -= dimension.from * dimension.extent * size;
        index[axis - 1] = 0;
      }
      if (axis == 0) return;
    }
  });
}

void copy_mapped(std::byte* to, const std::byte* from, const std::vector<std::vector<std::int64_t>>& tables,
                 std::size_t element_size) {
  for (const auto& table : tables)
    if (table.empty()) return;
  const auto size = static_cast<std::int64_t>(element_size);
  if (tables.empty()) {
    std::memcpy(to, from, element_size);
    return;
  }
  // If the last dimension is read in order, it is one run.
  const std::size_t outer = tables.size() - 1;
  const std::vector<std::int64_t>& line = tables.back();
  bool contiguous = true;
  for (std::size_t i = 0; i < line.size(); ++i)
    contiguous = contiguous && line[i] == line[0] + static_cast<std::int64_t>(i);
  std::vector<std::size_t> index(outer, 0);
  std::int64_t base = 0;
  for (std::size_t axis = 0; axis < outer; ++axis) base += tables[axis][0];
  with_element_size(element_size, [&](auto constant) {
    constexpr std::size_t fixed = decltype(constant)::value;
    while (true) {
      if (contiguous) {
        std::memcpy(to, from + (base + line[0]) * size, line.size() * fixed);
      } else {
        for (std::size_t i = 0; i < line.size(); ++i)
          std::memcpy(to + i * fixed, from + (base + line[i]) * size, fixed);
      }
      to += line.size() * fixed;
      std::size_t axis = outer;
      for (; axis > 0; --axis) {
        const auto& table = tables[axis - 1];
        std::size_t& place = index[axis - 1];
        base -= table[place];
        if (++place < table.size()) {
          base += table[place];
          break;
        }
        place = 0;
        base += table[0];
      }
      if (axis == 0) return;
    }
  });
}

void fill(std::byte* to, const std::byte* element, std::size_t count, std::size_t element_size) {
  with_element_size(element_size, [&](auto constant) {
    constexpr std::size_t fixed = decltype(constant)::value;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * fixed, element, fixed);
  });
}

Array gather_strided(const Array& from, std::int64_t offset, std::vector<std::int64_t> strides, Array result) {
  if (result.size() == 0) return result;
  const std::size_t size = size_of(from.type());
  copy_strided(result.mutable_data(), strides_of(result.extents()),
               from.data() + offset * static_cast<std::int64_t>(size), std::move(strides), result.extents(), size);
  return result;
}

}  // namespace taso::runtime
