// Names rules in words that say what they are about: `merge-matmuls-shared-left`.
#pragma once

#include <vector>

#include "rules/language/rule.h"

namespace taso::generator {

/// Gives each rule a unique name, made of the operators of its source. Smaller rules are named first and independently
/// of larger ones. If rules of one size would share a name, all but the most general add words: a side, sizes and axes,
/// the target, and finally part of the hash.
void name_laws(std::vector<rules::Rule>& rules);

}  // namespace taso::generator
