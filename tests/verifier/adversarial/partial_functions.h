// Rules that are false only because their target has no value where their source has one: made by a program, by the
// hundred, for the provers to be tempted with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace taso::test {

struct TemptingRule {
  std::string family;  ///< what the trap is
  std::string text;    ///< a candidate
};

/// At most `count` of them, no two the same up to renaming; the same for the same seed. Each is false: its target holds
/// an application of a partial function that its source lacks, at numbers where that has no value.
std::vector<TemptingRule> partial_function_rules(std::size_t count, std::uint64_t seed);

}  // namespace taso::test
