// A record of which rules paid off in searches, by the kind of network, and the choice of rules based on it.
//
//   taso experience 1
//
//   kind inception: searches 12
//     relu-conv-bias-shared-input: steps 152, searches 12, saved 790100 ns
//     conv-bias-enlarged-1x1-to-1x3: steps 64, searches 3, saved 112000 ns
//
// A rule is listed if searches ended worse without it. `saved` is the difference, even if the rule's own steps cost
// something and made another step possible. The kind `unknown` is for small graphs. '#' begins a comment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/text/source.h"
#include "rules/language/rule.h"
#include "search/selection/architecture.h"

namespace taso::search {

struct RuleExperience {
  std::string rule;
  std::uint64_t steps = 0;     ///< steps that used it
  std::uint64_t searches = 0;  ///< searches that needed it
  std::uint64_t saved = 0;     ///< nanoseconds, in all of them
  bool operator==(const RuleExperience&) const = default;
};

struct KindExperience {
  NetworkKind kind = NetworkKind::unknown;
  std::uint64_t searches = 0;
  std::vector<RuleExperience> rules;
  bool operator==(const KindExperience&) const = default;
};

struct Experience {
  std::vector<KindExperience> kinds;

  /// Adds the result of one search.
  void add(NetworkKind kind, const std::vector<RuleExperience>& rules);
  const KindExperience* find(NetworkKind kind) const;
  bool operator==(const Experience&) const = default;
};

/// Throws InputError with position and caret.
Experience parse_experience(const Source& source);
/// Kinds in their order, the rules that saved most first.
std::string text_of(const Experience& experience);

struct RuleChoice {
  /// Why all rules are used; empty if some were chosen.
  std::string reason;
  std::vector<rules::Rule>
      rules;             ///< first those that paid off for the kind, then those that paid off elsewhere, then the rest
  std::size_t paid = 0;  ///< for networks of this kind
  std::size_t paid_elsewhere = 0;
  std::size_t kept = 0;  ///< always used: not recorded, but stated by hand or never tried
  /// The other rules that did not pay off: only for single steps that improve the graph at once, which are quick to
  /// find.
  std::vector<rules::Rule> others;
};

/// If the recorded searches used all these rules (`were_tried`), chooses those that paid off and those stated by hand,
/// which are few and have a reason. Otherwise chooses all of them, in that order. Uses all rules too for an unknown
/// kind, for a kind without a record, and if most rules that paid off are missing.
RuleChoice choose_rules(const std::vector<rules::Rule>& rules, NetworkKind kind, const Experience& experience,
                        bool were_tried = true);

}  // namespace taso::search
