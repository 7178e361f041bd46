// Rules that were read print and parse, to the same text.
#pragma once

#include "rules/language/rule_text.h"
#include "tests/fuzz/bytes.h"

namespace taso::test {

inline void check_printed_rules(const rules::RuleFile& file) {
  const std::string text = rules::print(file);
  const auto parse = [](const std::string& printed) { return rules::parse_rules(Source("printed", printed)); };
  check(rules::print(read_back(text, parse)) == text, "printing what was parsed gives the same text");
}

}  // namespace taso::test
