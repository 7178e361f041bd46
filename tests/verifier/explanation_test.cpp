// Explanations are complete: every proof from properties becomes a chain from one side to the other.
#include "verifier/explanation/chain.h"

#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"
#include "verifier/proof/certificate.h"

namespace taso::test {

using namespace verifier;

namespace {

/// Applies the equation of a step at one place of a term; `change` is how often it was applied.
bool is_one_change(const Chain& chain, std::size_t before, const ChainStep& step, std::size_t after,
                   std::size_t& changes) {
  if (before == step.part && after == step.replaced_by) {
    ++changes;
    return true;
  }
  const ProofTerm &a = chain.terms[before], &b = chain.terms[after];
  if (before == after) return true;
  if (a.input != b.input || a.op != b.op || a.output != b.output || a.operands.size() != b.operands.size())
    return false;
  for (std::size_t i = 0; i < a.operands.size(); ++i)
    if (!is_one_change(chain, a.operands[i], step, b.operands[i], changes)) return false;
  return true;
}

}  // namespace

TEST_CASE("each step of a chain applies one property at one place") {
  const auto folder = source_folder();
  const rules::Properties properties(
      rules::parse_rules(Source::read((folder / "rules/properties.rules").string())).rules());
  std::size_t chains = 0, steps = 0;
  for (const char* file : {"examples/merging.rules", "tests/verifier/sound/matmul.rules", "rules/taso.rules"}) {
    const auto all = rules::parse_rules(Source::read((folder / file).string())).rules();
    for (std::size_t i = 0; i<all.size(); i += all.size()> 40 ? 10 : 2) {
      for (const rules::Instance& instance : rules::instances(all[i])) {
        const ProofResult proof = prove(instance, properties);
        if (proof.kind != ProofResult::Kind::proved) continue;
        INFO(all[i].name << " at " << instance.choice);
        for (const bool is_short : {false, true}) {
          const Certificate first = certify(instance, proof.proof, properties);
          const Certificate certificate =
              is_short ? certify(instance, with_short_terms(first, proof.proof), properties) : first;
          // Short terms do not always suffice; then an explanation keeps the others.
          if (is_short && !needed_steps(certificate, proof.proof.steps.size(), 4'000'000)) continue;
          const Chain chain = chain_of(certificate);
          REQUIRE(chain.results.size() == instance.source.size());
          for (const Chain::Result& result : chain.results) {
            CHECK(result.is_complete);
            std::size_t current = result.begin;
            for (const ChainStep& step : result.steps) {
              const Certificate::Equation& equation = certificate.equations[step.equation];
              CHECK(step.part == (step.is_reversed ? equation.right : equation.left));
              CHECK(step.replaced_by == (step.is_reversed ? equation.left : equation.right));
              std::size_t changes = 0;
              CHECK(is_one_change(chain, current, step, step.result, changes));
              CHECK(changes == 1);
              current = step.result;
              ++steps;
            }
            ++chains;
          }
        }
        break;  // one choice of ranks is enough
      }
    }
  }
  CHECK(chains > 40);
  CHECK(steps > chains);
}

}  // namespace taso::test
