// The top of the verifier: decides rules and validates properties.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rules/egraph/property.h"
#include "rules/language/rule.h"

namespace taso::verifier {

struct VerifyOptions {
  /// Seconds for one rule, in addition to the limits counted in steps; 0 for no limit.
  double time_limit = 10;
  /// Z3's step limit for one question. It does not depend on the machine's load, and so verdicts do not.
  unsigned effort = 4'000'000;
  std::uint64_t seed = 1;
  bool abduce = true;           ///< find the condition under which a false rule is true
  std::size_t conditions = 12;  ///< try at most this many
  bool thorough = true;         ///< search long for a counterexample to a rule that is not proved
  bool normal_form = true;      ///< ask the normal form if the properties do not suffice
  bool second_opinion = true;   ///< ask it also if they do
  bool keep_certificates = false;
};

struct RuleVerdict {
  enum class Kind {
    proved,       ///< as it stands
    conditional,  ///< false as it stands, true under `condition`
    refuted,
    unknown,
  } kind = Kind::unknown;
  std::string reason;                       ///< unknown: what stopped the proof; refuted: one sentence
  std::vector<std::string> properties;      ///< used by the proof, sorted
  std::size_t instances = 0;                ///< number of choices of ranks and axes that were decided
  std::size_t by_properties = 0;            ///< instances proved from properties, each checked by Z3
  std::size_t by_normal_form = 0;           ///< instances proved by the normal form
  std::vector<rules::Condition> condition;  ///< conditional: the conditions to add
  std::string witness;                      ///< shapes and attributes that satisfy the hypotheses
  std::string counterexample;               ///< refuted and conditional: readable by a person
  std::vector<std::string> certificates;    ///< SMT-LIB, one per instance, if they are kept
  std::string disagreement;                 ///< not empty if two provers contradict each other, which is a bug
};
std::string_view text_of(RuleVerdict::Kind kind);  ///< "proved", "proved under a condition", "refuted", "unknown"

/// Decides a candidate or a rule.
RuleVerdict verify(const rules::Rule& rule, const rules::Properties& properties, const VerifyOptions& options = {},
                   const std::stop_token& stop = {});

struct PropertyVerdict {
  std::size_t instances = 0;
  std::size_t proved = 0;            ///< for all shapes and attributes, by the normal form
  std::string obstacle;              ///< why one of the others was not
  std::size_t small_sizes = 0;       ///< models at which Z3 proved it
  std::size_t small_sizes_open = 0;  ///< models at which Z3 gave up
  std::size_t random_shapes = 0;     ///< models at which the sides agree over the prime field
  std::string counterexample;        ///< not empty: the property is false
  bool follows_from_others = false;  ///< redundant; set only if asked for
  std::vector<std::string> members;  ///< for a law for classes: the rules that it stands for
  bool is_proved_once = false;       ///< one proof for all members, using only their class
  bool holds_for_all_shapes() const { return counterexample.empty() && instances > 0 && proved == instances; }
  /// Combines verdicts that must all hold.
  void add(const PropertyVerdict& other);
  bool is_valid() const { return counterexample.empty() && instances > 0 && small_sizes + random_shapes > 0; }
};

struct ValidateOptions {
  unsigned effort = 20'000'000;
  std::uint64_t seed = 1;
  std::size_t random_shapes = 300;  ///< in total at least, over all ranks and axes
};

/// Validates an axiom or a law for classes. If the normal form knows the classes (membership.h), one proof covers all
/// members; otherwise each member is validated separately. Each member is also tried with numbers.
PropertyVerdict validate(const rules::Rule& property, const ValidateOptions& options = {},
                         const std::stop_token& stop = {});
/// Whether the other properties entail it, at all its ranks; for a law, all rules that it stands for.
bool follows_from_others(std::size_t property, const std::vector<rules::Rule>& properties,
                         const VerifyOptions& options = {}, const std::stop_token& stop = {});

}  // namespace taso::verifier
