#include "ops/support/sha256.h"
#include "rules/language/canonical.h"

namespace taso::rules {

std::string hash_of_text(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.digest().substr(0, 32);
}

}  // namespace taso::rules
