// Which equalities say nothing new.
#pragma once

#include <memory>
#include <vector>

#include "generator/enumerate.h"
#include "rules/property.h"

namespace taso {

/// Whether the equality still holds at other shapes and contents.
bool is_confirmed(const Equality& equality, const World& larger);

/// Whether both sides contain an operator for which any tensor may stand: then a smaller rule says it all.
bool has_common_subgraph(const Equality& equality, const World& world);

/// Whether rewriting with the rules, used as equations and only a few times, makes the two sides equal.
bool is_derivable(const Rule& candidate, const Properties& rules);

}  // namespace taso
