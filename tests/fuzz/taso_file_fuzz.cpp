// Any bytes as a rule file of TASO: refused with InputError, or read as rules that print and parse.
#include "rules/taso/taso_file.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/printed_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace taso;
  try {
    test::check_printed_rules(rules::parse_taso_rules(Source("fuzz", std::string(test::text_of_bytes(data, size)))));
  } catch (const InputError&) {
  }
  return 0;
}
