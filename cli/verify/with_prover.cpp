// Linked into programs, not into the library: with it, rules are proved before they are used.
#include "cli/files/rule_set.h"
#include "cli/verify/proved_rules.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

[[maybe_unused]] const bool has_prover = (use_prover({verifier::z3_version, prove_rules}), true);

}  // namespace
}  // namespace taso::cli
