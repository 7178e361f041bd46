// Schemas, the ways to apply operators, by name. Families are made of them.
#pragma once

#include <string_view>
#include <vector>

#include "generator/enumeration/family.h"

namespace taso::generator {

/// The schema of that name, for the tensors of a family; a constant has no shape yet.
Schema schema_named(std::string_view name);
/// The constant of that name with these shapes.
Schema constant_named(std::string_view name, Extents here, Extents larger);
/// Several schemas; names are separated by blanks.
std::vector<Schema> schemas_named(std::string_view names);

}  // namespace taso::generator
