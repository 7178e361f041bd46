// Generates hundreds of rules that are false only because their target is undefined where their source is not, to test
// the provers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace taso::test {

struct TemptingRule {
  std::string family;  ///< what the trap is
  std::string text;    ///< a candidate
};

/// At most `count` of them, no two the same up to renaming; the same for the same seed. Each is false: its target
/// contains an application of a partial function that its source lacks, at numbers where that is undefined.
std::vector<TemptingRule> partial_function_rules(std::size_t count, std::uint64_t seed);

}  // namespace taso::test
