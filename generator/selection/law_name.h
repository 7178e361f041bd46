// Names that say what a rule is about, in words: `merge-matmuls-shared-left`.
#pragma once

#include <vector>

#include "rules/language/rule.h"

namespace taso::generator {

/// Gives each rule a name of its own, made of the operators of its source. Smaller rules are named first, whatever
/// comes after them. Of rules of one size that would have one name, all but the most general say more: a side, sizes
/// and axes, the target, at last a part of the hash.
void name_laws(std::vector<rules::Rule>& rules);

}  // namespace taso::generator
