// Decides which equalities say nothing new.
#pragma once

#include <functional>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "rules/egraph/property.h"

namespace taso::generator {

/// Whether both sides contain a common operator that any tensor may replace: then a smaller rule says the same.
bool has_common_subgraph(const Equality& equality, const SampleInputs& world);

/// Whether rewriting with the permitted rules, as equations and in a few rounds, makes the two sides equal. If every
/// convolution has its bias, no bias is taken out on the way: a search would have to take apart what it is to merge.
bool is_derivable(const rules::Rule& candidate, const rules::Properties& rules, std::size_t rounds = 4,
                  const std::function<bool(std::size_t)>& may_use = {});

/// Whether it is an instance of a permitted rule, for other inputs or attributes.
bool is_instance(const rules::Rule& candidate, const rules::Properties& rules,
                 const std::function<bool(std::size_t)>& may_use);

}  // namespace taso::generator
