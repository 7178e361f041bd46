// Any bytes as a rule file: refused with InputError, or read, printed and read back the same.
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/printed_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace taso;
  try {
    const rules::RuleFile file = rules::parse_rules(Source("fuzz", std::string(test::text_of_bytes(data, size))));
    test::check_printed_rules(file);
    for (const rules::Rule& rule : file.rules())
      check(rules::canonical_text(rules::canonical(rule)) == rules::canonical_text(rule),
            "the canonical form is its own");
  } catch (const InputError&) {
  }
  return 0;
}
