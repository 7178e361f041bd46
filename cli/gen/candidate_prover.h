// Connects the generator with the verifier: returns verdicts and regions in the generator's terms.
#pragma once

#include <atomic>
#include <mutex>
#include <stop_token>
#include <string>

#include "generator/generate.h"
#include "generator/partial/correction.h"
#include "verifier/verify.h"

namespace taso::cli {

class CandidateProver {
 public:
  /// Requests a stop of `stop` on a disagreement: nothing found after it counts.
  CandidateProver(const rules::Properties& properties, const verifier::VerifyOptions& options, std::stop_source stop)
      : properties_(properties), options_(options), stop_(std::move(stop)) {}

  /// Thread-safe.
  generator::ProofOutcome prove(const rules::Rule& candidate);
  /// Where the two sides of a rule are equal. Thread-safe.
  generator::Region agree(const rules::Rule& candidate);

  /// How two provers contradict each other, with the candidate; empty if they never do.
  std::string disagreement() const;
  /// The number of proofs that reached the time limit: if there are any, another machine may find other rules.
  std::size_t timed_out() const { return timed_out_; }
  std::size_t asked() const { return asked_; }

 private:
  /// Notes that provers contradict each other about a candidate, if they do.
  void dispute(const rules::Rule& candidate, const std::string& disagreement);

  const rules::Properties& properties_;
  const verifier::VerifyOptions options_;
  std::stop_source stop_;
  std::atomic<std::size_t> timed_out_{0}, asked_{0};
  mutable std::mutex mutex_;
  std::string disagreement_;
};

}  // namespace taso::cli
