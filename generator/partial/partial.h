// Finds rules that replace an operator by a program that is right on most of its output, with the rest corrected.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "generator/generate.h"
#include "generator/partial/correction.h"
#include "generator/partial/mutant.h"
#include "rules/language/rule.h"

namespace taso::generator {

struct PartialOptions {
  double least_share = 0.5;        ///< of the output on which a program is right
  std::vector<std::string> kinds;  ///< "dilated-conv-space-to-batch"; empty: all
  unsigned jobs = 1;
  /// Where the two sides of a rule agree, proved. Called concurrently, as is `prove`.
  std::function<Region(const rules::Rule&)> agree;
  std::function<ProofOutcome(const rules::Rule&)> prove;
  std::function<void(const std::string& phase, std::size_t done, std::size_t total)> watch;
  std::stop_token stop;
};

struct PartialRule {
  rules::Rule rule;
  std::string kind;
  double share = 1;  ///< of the output on which its program is right without correction
  bool is_corrected = false;
};

struct PartialReport {
  struct OfSource {
    std::string name;
    MutantCounts counts;
  };
  std::vector<OfSource> sources;
  std::vector<std::string> kinds;          ///< all that were found, sorted
  std::size_t everywhere = 0, partly = 0;  ///< statements for all shapes: right at the sample, and corrected
  std::vector<PartialRule> rules;          ///< proved, sorted by name
  std::vector<Rejected> refuted, unknown;
  bool complete = true;
};

/// Proves nothing if one of the kinds that are asked for does not exist.
PartialReport generate_partial(const PartialOptions& options);

}  // namespace taso::generator
