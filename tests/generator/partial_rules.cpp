#include "tests/generator/partial_rules.h"

#include <stop_token>

#include "cli/gen/candidate_prover.h"
#include "tests/catch.h"
#include "tests/generator/proved_rules.h"

namespace taso::test {

generator::PartialReport partial_report(const std::vector<std::string>& kinds, unsigned jobs, double least_share) {
  std::stop_source stop;
  verifier::VerifyOptions proving;
  proving.time_limit = 0;
  proving.second_opinion = false;
  proving.conditions = 4;
  cli::CandidateProver prover(shipped_properties(), proving, stop);
  generator::PartialOptions options;
  options.kinds = kinds;
  options.least_share = least_share;
  options.jobs = jobs;
  options.agree = [&](const rules::Rule& rule) { return prover.agree(rule); };
  options.prove = [&](const rules::Rule& rule) { return prover.prove(rule); };
  generator::PartialReport report = generator::generate_partial(options);
  const std::string disagreement = prover.disagreement();
  CHECK(disagreement == "");
  return report;
}

}  // namespace taso::test
