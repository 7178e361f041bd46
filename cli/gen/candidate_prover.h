// What stands between the generator and the verifier: a candidate's verdict, as the generator wants it.
#pragma once

#include <atomic>
#include <mutex>
#include <stop_token>
#include <string>

#include "generator/generate.h"
#include "verifier/verify.h"

namespace taso::cli {

class CandidateProver {
 public:
  /// A disagreement asks `stop` to stop: nothing that is found after it counts.
  CandidateProver(const rules::Properties& properties, const verifier::VerifyOptions& options, std::stop_source stop)
      : properties_(properties), options_(options), stop_(std::move(stop)) {}

  /// Safe for several threads.
  generator::ProofOutcome prove(const rules::Rule& candidate);

  /// Why two provers cannot both be right, with the candidate; empty if they never disagreed.
  std::string disagreement() const;
  /// How many proofs were cut short by the clock: where there are any, another machine may find other rules.
  std::size_t timed_out() const { return timed_out_; }
  std::size_t asked() const { return asked_; }

 private:
  const rules::Properties& properties_;
  const verifier::VerifyOptions options_;
  std::stop_source stop_;
  std::atomic<std::size_t> timed_out_{0}, asked_{0};
  mutable std::mutex mutex_;
  std::string disagreement_;
};

}  // namespace taso::cli
