// Sizes at which two programs are compared, and what the field says there.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "rules/instance/concrete.h"
#include "verifier/agreement/field_agreement.h"

namespace taso::verifier {

struct Sample {
  rules::Assignment assignment;
  rules::ConcreteInstance concrete;
  FieldAgreement field;
  BlockCounter different;
};

struct SampleOptions {
  std::uint64_t seed = 1;
  std::size_t sizes = 16;
  std::size_t inputs = 2;  ///< random inputs for each size
  double most_work = 3e5;  ///< operations at one size: larger ones are skipped
};

/// Different sizes that satisfy the hypotheses, largest outputs first. Few or none if they are hard to satisfy.
/// Deterministic for the same instance and options.
std::vector<Sample> samples_of(const rules::Instance& instance, const SampleOptions& options,
                               const std::stop_token& stop = {});

}  // namespace taso::verifier
