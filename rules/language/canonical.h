// Decides when two rules are the same: a canonical form for all ways to write a rule, and a hash of it that is the same
// on every machine.
#pragma once

#include <string>
#include <string_view>

#include "rules/language/rule.h"

namespace taso::rules {

enum class ResultOrder {
  kept,  ///< the first result of one is the first of the other
  any,   ///< the results may be in any order, the same on both sides
};

/// Inputs are x, y, z, w, … and variables a, b, c, … in the order of their first use. Conditions are sorted, without
/// those that are evidently true; sums and products are sorted; attributes that equal their defaults are left out. For
/// an axiom or a rule in both directions, the side whose text comes first is the source. Name, `by`, comments and place
/// are dropped; a rule becomes a candidate.
Rule canonical(const Rule& rule, ResultOrder order = ResultOrder::kept);

/// The statement of canonical(rule) on one line.
std::string canonical_text(const Rule& rule, ResultOrder order = ResultOrder::kept);
/// The identity of the rule under any names: 32 hexadecimal digits.
std::string content_hash(const Rule& rule, ResultOrder order = ResultOrder::kept);
bool equal_up_to_renaming(const Rule& a, const Rule& b, ResultOrder order = ResultOrder::kept);

/// A name for an unnamed rule: its operators and part of its hash, so that it has the same name whenever it is found.
std::string generated_name(const Rule& rule);
/// Whether a name looks like one of those.
bool is_generated_name(std::string_view name);

/// The first 128 bits of SHA-256, as 32 hexadecimal digits.
std::string hash_of_text(std::string_view text);

}  // namespace taso::rules
