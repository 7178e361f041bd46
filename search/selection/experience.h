// What rules did in recorded searches, by the kind of network, and which rules to search with because of that.
//
//   taso experience 1
//
//   kind inception: searches 12
//     relu-conv-bias-shared-input: steps 152, searches 12, saved 790100 ns
//     conv-bias-enlarged-1x1-to-1x3: steps 64, searches 3, saved 112000 ns
//
// A rule is there if searches ended worse without it; what it saved is by how much, also where its own steps cost something
// and made another one possible. What is told of networks of unknown kind is told of small graphs. '#' begins a comment.
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
  std::uint64_t steps = 0;     ///< that were taken with it
  std::uint64_t searches = 0;  ///< that needed it
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

  /// Adds what a search of such a network has shown.
  void add(NetworkKind kind, const std::vector<RuleExperience>& rules);
  const KindExperience* find(NetworkKind kind) const;
  bool operator==(const Experience&) const = default;
};

/// Throws InputError with place and caret.
Experience parse_experience(const Source& source);
/// Kinds in their order, the rules that saved most first.
std::string text_of(const Experience& experience);

struct RuleChoice {
  /// Why all rules are used; empty if some were chosen.
  std::string reason;
  std::vector<rules::Rule>
      rules;             ///< those that paid for the kind come first, then those that paid elsewhere, then the rest
  std::size_t paid = 0;  ///< for networks of this kind
  std::size_t paid_elsewhere = 0;
  std::size_t kept = 0;  ///< that did not pay, or that nobody has tried
  /// Those that did not pay and are not kept: for steps that make the graph better at once, which take little time to find.
  std::vector<rules::Rule> others;
};

/// If all these rules were among those of the recorded searches, the ones that paid, and those that somebody stated by hand:
/// there are few, and for a reason. If not, all of them, in that order. For a network of no known kind, of one that nobody has
/// experience with, and if most rules that paid are not there, too.
RuleChoice choose_rules(const std::vector<rules::Rule>& rules, NetworkKind kind, const Experience& experience,
                        bool were_tried = true);

}  // namespace taso::search
