// Any bytes as a rule file: refused with InputError, or read, printed and read back the same.
#include <cstdint>

#include "ops/core/error.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const taso::rules::RuleFile file =
        taso::rules::parse_rules(taso::Source("fuzz", std::string(reinterpret_cast<const char*>(data), size)));
    const std::string text = taso::rules::print(file);
    try {
      taso::check(taso::rules::print(taso::rules::parse_rules(taso::Source("printed", text))) == text,
                  "printing what was parsed gives the same text");
    } catch (const taso::InputError& error) {
      throw taso::InternalError(std::string("what was printed does not parse: ") + error.what());
    }
    for (const taso::rules::Rule& rule : file.rules())
      taso::check(taso::rules::canonical_text(taso::rules::canonical(rule)) == taso::rules::canonical_text(rule),
                  "the canonical form is its own");
  } catch (const taso::InputError&) {
  }
  return 0;
}
