// When two rules are the same: one form for all ways to write a rule, and a hash of it that is the same everywhere.
#pragma once

#include <string>
#include <string_view>

#include "rules/language/rule.h"

namespace taso::rules {

enum class ResultOrder {
  kept,  ///< the first result of one is the first of the other
  any,   ///< the results may be listed in any order, the same on both sides
};

/// Inputs are x, y, z, w, … and variables a, b, c, … in the order of their first use; conditions are sorted, without
/// those that are true on the face of it; sums and products are sorted; attributes that say what would hold without
/// them are left out. Of an axiom, and of what is said both ways, the side comes first whose text does. Name, `by`,
/// comments and place are dropped; a rule is a candidate again.
Rule canonical(const Rule& rule, ResultOrder order = ResultOrder::kept);

/// The statement of canonical(rule) on one line.
std::string canonical_text(const Rule& rule, ResultOrder order = ResultOrder::kept);
/// What tells the rule from all others, under whatever names: 32 hexadecimal digits.
std::string content_hash(const Rule& rule, ResultOrder order = ResultOrder::kept);
bool equal_up_to_renaming(const Rule& a, const Rule& b, ResultOrder order = ResultOrder::kept);

/// A name for a rule that has none: its operators, then a part of its hash, so that it is found under the same name
/// again.
std::string generated_name(const Rule& rule);
/// Whether a name looks like one of those.
bool is_generated_name(std::string_view name);

/// The first 128 bits of SHA-256, as 32 hexadecimal digits.
std::string hash_of_text(std::string_view text);

}  // namespace taso::rules
