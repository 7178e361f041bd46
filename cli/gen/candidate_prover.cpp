#include "cli/gen/candidate_prover.h"

#include <chrono>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/rule_text.h"
#include "verifier/agreement/agreement.h"
#include "verifier/proof/deadline.h"

namespace taso::cli {
namespace {

generator::ProofOutcome::Kind kind_of(verifier::RuleVerdict::Kind kind) {
  switch (kind) {
    case verifier::RuleVerdict::Kind::proved: return generator::ProofOutcome::Kind::proved;
    case verifier::RuleVerdict::Kind::conditional: return generator::ProofOutcome::Kind::conditional;
    case verifier::RuleVerdict::Kind::refuted: return generator::ProofOutcome::Kind::refuted;
    case verifier::RuleVerdict::Kind::unknown: return generator::ProofOutcome::Kind::unknown;
  }
  return generator::ProofOutcome::Kind::unknown;
}

}  // namespace

generator::ProofOutcome CandidateProver::prove(const rules::Rule& candidate) {
  ++asked_;
  const auto start = std::chrono::steady_clock::now();
  verifier::RuleVerdict verdict;
  try {
    verdict = verifier::verify(candidate, properties_, options_, stop_.get_token());
  } catch (const InputError& error) {
    return {generator::ProofOutcome::Kind::unknown, {}, {}, error.what()};
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const bool is_late = options_.time_limit > 0 && took.count() >= options_.time_limit;
  const bool is_certain =
      verdict.kind == verifier::RuleVerdict::Kind::proved || verdict.kind == verifier::RuleVerdict::Kind::conditional;
  if (is_late && !is_certain) ++timed_out_;
  dispute(candidate, verdict.disagreement);
  return {kind_of(verdict.kind), verdict.properties, verdict.condition, verdict.reason};
}

generator::Region CandidateProver::agree(const rules::Rule& candidate) {
  generator::Region region;
  rules::InstanceList list;
  try {
    list = rules::all_instances(candidate);
  } catch (const InputError& error) {
    region.obstacle = error.what();
    return region;
  }
  if (list.made.size() != 1 || !list.undecided.empty()) {
    region.obstacle = "it does not say of which rank its inputs are";
    return region;
  }
  const rules::Instance& instance = list.made.front();
  const verifier::Deadline deadline(options_.time_limit, stop_.get_token());
  const verifier::Agreement agreement = verifier::agreement_of(instance, {}, deadline.token());
  dispute(candidate, agreement.disagreement);
  region.obstacle = agreement.obstacle;
  const verifier::NameOf name_of = verifier::names_in(instance);
  // What solving made up is written with the rule's own terms.
  const std::function<Dim(Dim)> stated = [&](Dim dim) {
    return substitute(dim, [&](std::string_view unknown) -> std::optional<Dim> {
      const auto meaning = instance.made_up.find(std::string(unknown));
      return meaning != instance.made_up.end() ? stated(meaning->second) : Dim::symbol(name_of(unknown));
    });
  };
  for (const verifier::Box& box : agreement.proved) {
    std::vector<generator::Span> spans;
    for (std::size_t axis = 0; axis < box.axes.size(); ++axis) {
      const auto& [low, high] = box.axes[axis];
      spans.push_back({stated(low), stated(high), low == Dim(0), high == agreement.shape[axis]});
    }
    region.boxes.push_back(std::move(spans));
  }
  return region;
}

void CandidateProver::dispute(const rules::Rule& candidate, const std::string& disagreement) {
  if (disagreement.empty()) return;
  const std::lock_guard lock(mutex_);
  rules::Rule named = candidate;
  named.name = "disputed";
  if (disagreement_.empty()) disagreement_ = rules::print(named) + disagreement;
  stop_.request_stop();
}

std::string CandidateProver::disagreement() const {
  const std::lock_guard lock(mutex_);
  return disagreement_;
}

}  // namespace taso::cli
