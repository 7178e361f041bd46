// What a rule does to floating-point numbers, beyond what it says about real ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/language/rule.h"

namespace taso::rules {

/// Determined from both sides at a number of ranks, sizes and contents: what a class says was observed there. The same
/// for the same rule on every machine.
struct FloatClass {
  /// Every result is the same to the bit: data is moved, and elements are computed as before.
  bool is_exact = false;
  /// An intermediate value can be larger than everything that the source computes, so it may overflow where the source
  /// does not.
  bool may_overflow = true;
  /// Such a value can overflow float32 although the operands are of ordinary size, at most a thousand.
  bool overflows_early = true;
  /// An element that is NaN or infinite reaches results that it does not reach in the source.
  bool spreads_nan = true;
  bool operator==(const FloatClass&) const = default;
};

/// Assumes the worst if no numbers are found at which the rule applies.
FloatClass float_class(const Rule& rule);
/// "exact", or "reassociates" followed by further effects: "reassociates, may overflow, spreads NaN".
std::string text_of(const FloatClass& float_class);
/// The class as a hexadecimal digit, for records: 1 exact, 2 may overflow, 4 early, 8 spreads NaN.
char digit_of(const FloatClass& float_class);
std::optional<FloatClass> float_class_of(char digit);

enum class FloatMode {
  strict,  ///< exact rules only
  usual,   ///< rules that keep finite results of ordinary size finite
  fast,    ///< all
};
std::string_view name_of(FloatMode mode);
std::optional<FloatMode> float_mode_named(std::string_view name);

/// Whether a search may use the rule on values with the range of float16, or of float32.
bool is_admitted(const Rule& rule, FloatMode mode, bool in_float16);
/// The same if the rule's class is known.
bool is_admitted(const FloatClass& float_class, FloatMode mode, bool in_float16);

}  // namespace taso::rules
