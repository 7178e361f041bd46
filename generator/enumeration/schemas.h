// The ways in which operators are applied, by name: what families are put together from.
#pragma once

#include <string_view>
#include <vector>

#include "generator/enumeration/family.h"

namespace taso::generator {

/// The schema of that name, for tensors as a family has them; constants have no shape yet.
Schema schema_named(std::string_view name);
/// A constant of these shapes.
Schema constant_named(std::string_view name, Extents here, Extents larger);
/// Several, their names with blanks between them.
std::vector<Schema> schemas_named(std::string_view names);

}  // namespace taso::generator
