// Finds where a rule applies in a graph. A match is exact: the shapes of the model, which may have unknowns, are shown
// to satisfy everything that the rule's proof assumed.
#pragma once

#include <functional>
#include <vector>

#include "search/program/program.h"
#include "search/rewriting/rewrite_rule.h"

namespace taso::search {

/// One operator of the target, with its attributes computed.
struct TargetNode {
  const KnownOperator* op = nullptr;
  struct Operand {
    bool is_input = false;
    std::size_t index = 0;  ///< of the rule's input, or of a target node
    std::size_t output = 0;
  };
  std::vector<Operand> operands;
};

/// A place where a rule applies, and its replacement.
struct Match {
  const RewriteRule* rule = nullptr;
  std::vector<ValueId> roots;   ///< the values that get another computation
  std::vector<ValueId> inputs;  ///< the values of the rule's inputs
  std::vector<Attribute> variables;
  std::vector<ComputationId> source;  ///< for each node of the source; meaningless for inputs
  std::vector<bool> exchanged;        ///< for each node of the source, whether its operands are swapped
  const rules::PropertyInstance* instance = nullptr;
  std::vector<Dim> unknowns;  ///< the values of the instance's unknowns
  std::vector<TargetNode> target;
  std::vector<TargetNode::Operand> results;  ///< the replacement of each root
};

/// The matches of one rule whose first result is computed by `root`. `should_end`, if given, is called at every step.
/// Returns false if it ended the matching early.
bool find_matches(Program& program, const RewriteRule& rule, ComputationId root,
                  const std::function<void(Match)>& found, const std::function<bool()>& should_end = {});

/// The conditions that held for a match, in the model's own dimensions.
std::vector<std::string> conditions_of(const Match& match);

}  // namespace taso::search
