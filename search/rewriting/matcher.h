// Finds where a rule applies in a graph. What is found is as a rule says it, to the letter: the shapes of the model, which
// may hold unknowns, are shown to satisfy everything that the rule's proof assumed.
#pragma once

#include <functional>
#include <vector>

#include "search/program/program.h"
#include "search/rewriting/rewrite_rule.h"

namespace taso::search {

/// One operator of the target, with its attributes worked out.
struct TargetNode {
  const KnownOperator* op = nullptr;
  struct Operand {
    bool is_input = false;
    std::size_t index = 0;  ///< of the rule's input, or of a target node
    std::size_t output = 0;
  };
  std::vector<Operand> operands;
};

/// Where a rule applies, and what comes in its place.
struct Match {
  const RewriteRule* rule = nullptr;
  std::vector<ValueId> roots;   ///< the values that get another computation
  std::vector<ValueId> inputs;  ///< what the rule's inputs stand for
  std::vector<Attribute> variables;
  std::vector<ComputationId> source;  ///< for each node of the source; for inputs without meaning
  std::vector<bool> exchanged;        ///< for each node of the source, whether its operands stand the other way round
  const rules::PropertyInstance* instance = nullptr;
  std::vector<Dim> unknowns;  ///< what the unknowns of the instance stand for
  std::vector<TargetNode> target;
  std::vector<TargetNode::Operand> results;  ///< what each root becomes
};

/// The matches of one rule whose first result is given by `root`. `should_end` is asked at every step, if there is one; false
/// if it ended the matching before everything was found.
bool find_matches(Program& program, const RewriteRule& rule, ComputationId root,
                  const std::function<void(Match)>& found, const std::function<bool()>& should_end = {});

/// What had to hold for a match, in the model's own dimensions.
std::vector<std::string> conditions_of(const Match& match);

}  // namespace taso::search
