#include "runtime/gpu/kernels/space.h"

#include <algorithm>
#include <limits>

#include "ops/core/error.h"

namespace taso::gpu::kernels {

std::int64_t alignment_of(const cost::Call::Operand& operand) {
  const auto size = static_cast<std::int64_t>(size_of(operand.element));
  std::int64_t alignment = 16;
  bool has_rows = false, has_gaps = false;
  for (std::size_t i = 0; i < operand.extents.size(); ++i) {
    if (operand.extents[i] == 1) continue;
    (operand.strides[i] == 1 ? has_rows : has_gaps) |= operand.strides[i] != 0;
    // Contiguous rows start at multiples of their length.
    const std::int64_t step = operand.strides[i] == 1 ? operand.extents[i] : operand.strides[i];
    while (step * size % alignment != 0) alignment /= 2;
  }
  // Of single elements with others between them, the first may be anywhere: one channel of many, in NHWC.
  return has_gaps && !has_rows ? size : std::max(alignment, size);
}

std::vector<Axis> axes_of(const Extents& space, const std::vector<Access>& accesses) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < space.size(); ++i) {
    Axis& axis = axes.emplace_back();
    axis.extent = space[i];
    for (const Access& access : accesses) {
      check(access.strides.size() == space.size(), "an access has a stride along each axis");
      axis.strides.push_back(access.strides[i]);
    }
  }
  return axes;
}

std::vector<Axis> simplified(std::vector<Axis> axes, std::size_t key) {
  std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const Axis& a, const Axis& b) { return a.strides[key] > b.strides[key]; });
  merge(axes);
  return axes;
}

void merge(std::vector<Axis>& axes) {
  std::vector<Axis> merged;
  for (Axis& axis : axes) {
    if (axis.extent == 1) continue;
    bool fits = !merged.empty();
    for (std::size_t i = 0; fits && i < axis.strides.size(); ++i)
      fits = merged.back().strides[i] == axis.strides[i] * axis.extent;
    if (!fits) {
      merged.push_back(std::move(axis));
      continue;
    }
    merged.back().extent *= axis.extent;
    merged.back().strides = std::move(axis.strides);
  }
  axes = std::move(merged);
}

std::int64_t count(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

std::size_t largest(const std::vector<Axis>& axes, const std::vector<Access>& accesses) {
  std::size_t best = 0;
  std::int64_t most = -1;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    std::int64_t elements = 1;
    for (const Axis& axis : axes)
      if (axis.strides[i] != 0) elements *= axis.extent;
    if (elements > most) {
      most = elements;
      best = i;
    }
  }
  return best;
}

std::int64_t vector_width(const std::vector<Axis>& axes, const std::vector<Access>& accesses, std::int64_t most) {
  if (axes.empty()) return 1;
  std::int64_t smallest = 16;
  bool moves = false;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const std::int64_t stride = axes.back().strides[i];
    if (stride != 0 && stride != 1) return 1;
    moves = moves || stride == 1;
    if (stride == 1) smallest = std::min(smallest, static_cast<std::int64_t>(size_of(accesses[i].element)));
  }
  if (!moves) return 1;
  std::int64_t width = std::min(most, 16 / smallest);
  const auto fits = [&] {
    if (axes.back().extent % width != 0) return false;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      if (axes.back().strides[i] == 0) continue;
      const auto size = static_cast<std::int64_t>(size_of(accesses[i].element));
      const std::int64_t bytes = std::min<std::int64_t>(16, width * size);
      if (accesses[i].alignment % bytes != 0) return false;
      for (std::size_t j = 0; j + 1 < axes.size(); ++j)
        if (axes[j].strides[i] * size % bytes != 0) return false;
    }
    return true;
  };
  while (width > 1 && !fits()) width /= 2;
  return width;
}

bool needs_wide_index(const std::vector<Axis>& axes, std::size_t accesses) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  std::int64_t places = 1;
  for (const Axis& axis : axes) places *= axis.extent;
  if (places > most) return true;
  for (std::size_t i = 0; i < accesses; ++i) {
    std::int64_t reach = 0;
    for (const Axis& axis : axes) reach += (axis.extent - 1) * axis.strides[i];
    if (reach > most) return true;
  }
  return false;
}

bool needs_wide_index(const cost::Call::Operand& operand) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < operand.extents.size(); ++i) axes.push_back({operand.extents[i], {operand.strides[i]}});
  return needs_wide_index(axes, 1);
}

std::vector<std::string> write_indices(Code& code, const std::string& flat, std::string_view prefix,
                                       const std::vector<Axis>& axes, std::int64_t width, bool is_wide) {
  std::vector<std::string> names(axes.size());
  std::string rest = flat;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t extent =
        std::max<std::int64_t>(1, i + 1 == axes.size() ? axes[i].extent / width : axes[i].extent);
    if (i == 0) {
      names[i] = rest;
      break;
    }
    names[i] = fmt::format("{}{}", prefix, i);
    const std::string next = fmt::format("{}{}", prefix, i == 1 ? "0" : fmt::format("{}r", i - 1));
    code.line("const {} {} = {} % {}, {} = {} / {};", index_type(is_wide), names[i], rest, index(extent, is_wide), next,
              rest, index(extent, is_wide));
    rest = next;
  }
  return names;
}

std::string offset_text(const std::vector<Axis>& axes, std::size_t access, const std::vector<std::string>& indices,
                        std::int64_t width, bool is_wide) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t stride = axes[i].strides[access] * (i + 1 == axes.size() ? width : 1);
    if (stride == 0) continue;
    if (!text.empty()) text += " + ";
    text += stride == 1 ? indices[i] : fmt::format("{} * {}", indices[i], index(stride, is_wide));
  }
  return text.empty() ? index(0, is_wide) : text;
}

}  // namespace taso::gpu::kernels
