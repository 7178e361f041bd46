// What a rule does to floating-point numbers, beyond what it says of real ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/language/rule.h"

namespace taso::rules {

/// Told from both sides at a number of ranks, sizes and contents: what is true of a class was seen there. The same for
/// the same rule, on every machine.
struct FloatClass {
  /// Every result is the same to the bit: data is moved, and elements are computed as they were.
  bool is_exact = false;
  /// A value on the way can be larger than all that the source computes, so that it overflows where the source does
  /// not.
  bool may_overflow = true;
  /// Such a value can overflow float32 although the operands are of ordinary size, at most a thousand.
  bool overflows_early = true;
  /// An element that is NaN or infinite reaches results that it does not reach in the source.
  bool spreads_nan = true;
  bool operator==(const FloatClass&) const = default;
};

/// With everything that can be wrong, if no numbers are found at which the rule applies.
FloatClass float_class(const Rule& rule);
/// "exact", or "reassociates", followed by what may happen beside that: "reassociates, may overflow, spreads NaN".
std::string text_of(const FloatClass& float_class);
/// The same as a hexadecimal digit, for records: 1 exact, 2 may overflow, 4 early, 8 spreads NaN.
char digit_of(const FloatClass& float_class);
std::optional<FloatClass> float_class_of(char digit);

enum class FloatMode {
  strict,  ///< exact rules only
  usual,   ///< those that turn no finite results of ordinary size into others
  fast,    ///< all
};
std::string_view name_of(FloatMode mode);
std::optional<FloatMode> float_mode_named(std::string_view name);

/// Whether a search may use the rule on values whose range is that of float16, or that of float32.
bool is_admitted(const Rule& rule, FloatMode mode, bool in_float16);
/// The same if the rule's class is known.
bool is_admitted(const FloatClass& float_class, FloatMode mode, bool in_float16);

}  // namespace taso::rules
