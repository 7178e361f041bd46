#include "runtime/session/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::runtime {

void learn_sizes(const std::string& name, const std::optional<Shape>& declared, const Extents& extents, Sizes& sizes) {
  const auto refuse = [&](const std::string& why) {
    throw BadTensor(
        fmt::format("the input '{}' cannot have the shape [{}]: {}", on_one_line(name), fmt::join(extents, ", "), why));
  };
  for (const std::int64_t extent : extents)
    if (extent < 0) refuse("a size is negative");
  if (!declared) return;
  if (declared->size() != extents.size()) refuse(fmt::format("it has {} axes", declared->size()));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Dim& dim = (*declared)[i];
    if (dim.is_static()) {
      if (dim.value() != extents[i]) refuse(fmt::format("axis {} has the size {}", i, dim.value()));
      continue;
    }
    const std::string unknown = dim.text();
    const auto [known, is_new] = sizes.try_emplace(dim.symbols().front(), extents[i]);
    if (!is_new && known->second != extents[i])
      refuse(fmt::format("axis {} is {}, which is {} elsewhere", i, on_one_line(unknown), known->second));
  }
}

std::optional<std::int64_t> size_of(const Dim& dim, const Sizes& sizes) {
  if (dim.is_static()) return dim.value();
  for (const std::string& name : dim.symbols())
    if (!sizes.contains(name)) return std::nullopt;
  return dim.evaluate([&](std::string_view name) { return sizes.find(name)->second; });
}

}  // namespace taso::runtime
