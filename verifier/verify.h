// Decides rules and validates properties: the top of the verifier.
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
  /// Seconds for one rule, behind the limits that are counted in steps; 0 for none.
  double time_limit = 10;
  /// Z3's count of steps for one question: verdicts do not depend on the machine's load.
  unsigned effort = 4'000'000;
  std::uint64_t seed = 1;
  bool abduce = true;           ///< look for the condition under which a false rule is true
  std::size_t conditions = 12;  ///< at most so many are tried
  bool thorough = true;         ///< look long for a counterexample to what is not proved
  bool normal_form = true;      ///< ask the normal form where properties do not suffice
  bool second_opinion = true;   ///< and where they do, as well
  bool keep_certificates = false;
};

struct RuleVerdict {
  enum class Kind {
    proved,       ///< as it stands
    conditional,  ///< false as it stands, true under `condition`
    refuted,
    unknown,
  } kind = Kind::unknown;
  std::string reason;                       ///< unknown: what stopped us; refuted: in one sentence
  std::vector<std::string> properties;      ///< that the proof used, sorted
  std::size_t instances = 0;                ///< ranks and axes at which it was decided
  std::size_t by_properties = 0;            ///< instances proved from properties, each checked by Z3
  std::size_t by_normal_form = 0;           ///< instances proved by the normal form
  std::vector<rules::Condition> condition;  ///< conditional: what is to be added
  std::string witness;                      ///< shapes and attributes that satisfy the hypotheses
  std::string counterexample;               ///< refuted and conditional: in a form that a person can follow
  std::vector<std::string> certificates;    ///< SMT-LIB, one for each instance, if they are kept
  std::string disagreement;                 ///< not empty if two provers contradict each other: our bug
};
std::string_view text_of(RuleVerdict::Kind kind);  ///< "proved", "proved under a condition", "refuted", "unknown"

/// Of a candidate or a rule.
RuleVerdict verify(const rules::Rule& rule, const rules::Properties& properties, const VerifyOptions& options = {},
                   const std::stop_token& stop = {});

struct PropertyVerdict {
  std::size_t instances = 0;
  std::size_t proved = 0;            ///< for all shapes and attributes, by the normal form
  std::string obstacle;              ///< why the others were not, for one of them
  std::size_t small_sizes = 0;       ///< models at which it was proved symbolically
  std::size_t small_sizes_open = 0;  ///< models at which Z3 gave up
  std::size_t random_shapes = 0;     ///< models at which the sides agree over the prime field
  std::string counterexample;        ///< not empty: the property is false
  bool follows_from_others = false;  ///< redundant, if asked for
  std::vector<std::string> members;  ///< of a law for classes: the rules that it stands for
  bool is_proved_once = false;       ///< for all members, of which only the class was known
  bool holds_for_all_shapes() const { return counterexample.empty() && instances > 0 && proved == instances; }
  /// What must hold together.
  void add(const PropertyVerdict& other);
  bool is_valid() const { return counterexample.empty() && instances > 0 && small_sizes + random_shapes > 0; }
};

struct ValidateOptions {
  unsigned effort = 20'000'000;
  std::uint64_t seed = 1;
  std::size_t random_shapes = 300;  ///< at least, over all ranks and axes
};

/// Of an axiom, or of a law for classes. Where the normal form knows the classes (membership.h), one proof does for all
/// members; else every member is validated by itself. Each is tried with numbers.
PropertyVerdict validate(const rules::Rule& property, const ValidateOptions& options = {},
                         const std::stop_token& stop = {});
/// Whether the other properties entail it, at all of its ranks; of a law, all that it stands for.
bool follows_from_others(std::size_t property, const std::vector<rules::Rule>& properties,
                         const VerifyOptions& options = {}, const std::stop_token& stop = {});

}  // namespace taso::verifier
