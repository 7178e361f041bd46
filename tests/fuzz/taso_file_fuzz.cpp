// Any bytes as a rule file of TASO: refused with InputError, or read as rules that print and parse.
#include <cstdint>

#include "ops/core/error.h"
#include "rules/taso/taso_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const taso::rules::RuleFile file =
        taso::rules::parse_taso_rules(taso::Source("fuzz", std::string(reinterpret_cast<const char*>(data), size)));
    const std::string text = taso::rules::print(file);
    try {
      taso::check(taso::rules::print(taso::rules::parse_rules(taso::Source("printed", text))) == text,
                  "a rule that was read prints and parses");
    } catch (const taso::InputError& error) {
      throw taso::InternalError(std::string("what was printed does not parse: ") + error.what());
    }
  } catch (const taso::InputError&) {
  }
  return 0;
}
