// Instantiates a rule at one place of a graph, from the rule's text and the nodes found there: for replaying
// certificates. The search has its own code for this, which is made to be fast; this is made to be read.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/graph/graph.h"
#include "rules/egraph/property.h"

namespace taso::verifier {

/// Why a step is refused.
struct Refusal {
  std::string reason;
};

/// A part of the graph that has the form of a rule's source: an operator on such parts, or one of the rule's inputs.
struct FoundPart {
  std::optional<std::size_t> input;
  const Operator* op = nullptr;
  std::size_t output = 0;
  std::vector<FoundPart> operands;
};

/// The rule's target at that place.
struct GroundTarget {
  struct Operand {
    bool is_input = false;
    std::size_t index = 0;  ///< of the rule's input, or of a node
    std::size_t output = 0;
    bool operator==(const Operand&) const = default;
  };
  struct Node {
    Operator op;
    std::vector<Operand> operands;
    Shapes shapes;  ///< of its results
  };
  std::vector<Node> nodes;       ///< operands first
  std::vector<Operand> results;  ///< of the rule
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> conditions;  ///< the conditions that were checked, in the terms of the rule and of the place
};

/// `found` has a part for each result of the rule's source, `inputs` the types of the rule's inputs; all elements have
/// type `element`. The property is the rule with all its obligations made assumptions, because all of them are checked
/// here. Throws Refusal.
GroundTarget rule_at_place(const rules::Property& rule, const std::vector<FoundPart>& found,
                           const std::vector<Type>& inputs, ElementType element);

}  // namespace taso::verifier
