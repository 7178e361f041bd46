#include "ops/core/binding.h"

#include <algorithm>

#include <fmt/format.h>

namespace taso::ops {

std::optional<std::string> Binding::learn(const Type& declared, const Array& array) {
  if (declared.element != ElementType::undefined && declared.element != array.type())
    return fmt::format("its elements are {} and not {}", name_of(array.type()), name_of(declared.element));
  if (!declared.shape) return std::nullopt;
  if (declared.shape->size() != array.rank())
    return fmt::format("its shape is {} and not {}", text_of(array.extents()), text_of(*declared.shape));
  for (std::size_t i = 0; i < array.rank(); ++i) {
    const Dim& dim = (*declared.shape)[i];
    if (dim.is_static()) continue;
    const auto names = dim.symbols();
    if (names.size() == 1 && dim == Dim::symbol(names[0])) values_.emplace(names[0], array.extents()[i]);
  }
  return std::nullopt;
}

std::optional<std::string> Binding::mismatch(const Type& declared, const Array& array) const {
  if (declared.element != ElementType::undefined && declared.element != array.type())
    return fmt::format("its elements are {} and not {}", name_of(array.type()), name_of(declared.element));
  if (!declared.shape) return std::nullopt;
  bool fits = declared.shape->size() == array.rank();
  for (std::size_t i = 0; fits && i < array.rank(); ++i) {
    const Dim& dim = (*declared.shape)[i];
    fits = !knows(dim) || number(dim) == array.extents()[i];
  }
  if (fits) return std::nullopt;
  return fmt::format("its shape is {} and not {}", text_of(array.extents()), text_of(*declared.shape));
}

bool Binding::knows(const Dim& dim) const {
  if (dim.is_static()) return true;
  const auto names = dim.symbols();
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return values_.contains(name); });
}

std::int64_t Binding::number(const Dim& dim) const {
  if (dim.is_static()) return dim.value();
  return dim.evaluate([&](std::string_view name) {
    const auto found = values_.find(name);
    if (found == values_.end()) throw InputError(fmt::format("the value of the dimension '{}' is not known", name));
    return found->second;
  });
}

}  // namespace taso::ops
