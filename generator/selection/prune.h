// Which equalities say nothing new.
#pragma once

#include <functional>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "rules/egraph/property.h"

namespace taso::generator {

/// Whether both sides contain an operator for which any tensor may stand: then a smaller rule says it all.
bool has_common_subgraph(const Equality& equality, const World& world);

/// Whether rewriting with the rules that may be used, as equations and only a few times, makes the two sides equal.
/// Where every convolution has its bias, none is taken out on the way: a search would have to take apart what it is to
/// merge.
bool is_derivable(const rules::Rule& candidate, const rules::Properties& rules, std::size_t rounds = 4,
                  const std::function<bool(std::size_t)>& may_use = {});

/// Whether it is one of those rules that may be used, for other inputs or attributes.
bool is_instance(const rules::Rule& candidate, const rules::Properties& rules,
                 const std::function<bool(std::size_t)>& may_use);

}  // namespace taso::generator
