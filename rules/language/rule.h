// A rule: two sides over the same inputs that compute the same where its conditions hold. Operator properties,
// candidates and proved rules are all of this form.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/text/source.h"
#include "rules/language/term.h"

namespace taso::rules {

struct Pattern;
using PatternPtr = std::shared_ptr<const Pattern>;

/// An input of the rule, or one result of an operator applied to patterns.
struct Pattern {
  std::string input;  ///< the input's name; empty for an operator
  std::string op;     ///< the operator's name; in a law, that of a function variable too
  /// The attributes that are given, in the order of the operator's fields. Those left out: strides and dilations of 1,
  /// pads of 0, one group, and the operator's own defaults for the rest. Constants have the rule's element type: `type`
  /// is never given.
  std::vector<std::pair<std::string, TermPtr>> attributes;
  std::vector<PatternPtr> operands;
  std::size_t output = 0;  ///< which result: first(split(x)) is 0, second(split(x)) is 1

  bool is_input() const { return op.empty(); }
  bool operator==(const Pattern& other) const;
};

/// Holds for integers; lists compare element by element.
struct Condition {
  enum class Relation {
    equal,
    not_equal,
    at_most,    ///< left <= right; `>=` is read as this, turned round
    less,       ///< left < right
    divides,    ///< divides(left, right)
    even,       ///< parity(left) = even
    odd,        ///< parity(left) = odd
    broadcast,  ///< broadcast(x, y, …): the inputs named in `inputs` broadcast together, as numpy has it
  };
  Relation relation = Relation::equal;
  TermPtr left, right;
  std::vector<std::string> inputs;

  bool operator==(const Condition& other) const;
};

/// `for f in rising`: f stands for every operator of the class, with its attributes.
struct FunctionVariable {
  std::string name, of;
  bool operator==(const FunctionVariable&) const = default;
};

struct Rule {
  enum class Kind {
    axiom,      ///< a property of operators: source = target, wherever both are well-formed and the conditions hold
    candidate,  ///< source => target, to be proved: wherever the source is well-formed and the conditions hold
    rule,       ///< source => target, proved
  };
  Kind kind = Kind::candidate;
  std::string name;
  /// `<=>`: also target => source, under the name with "-back" behind it. Only what a file says has it;
  /// RuleFile::rules() gives the two directions as rules of their own.
  bool both_ways = false;
  /// Of a law for whole classes of operators. Its patterns have these for operators, as RuleFile::rules() has not.
  std::vector<FunctionVariable> functions;
  std::vector<PatternPtr> source, target;  ///< one pattern for each result; a bare split at the top counts for both
  std::vector<Condition> conditions;
  std::vector<std::string> by;        ///< the properties that its proof used
  std::vector<std::string> comments;  ///< the lines above it, without '#'
  SourceRange place;                  ///< of its name, in the file that it came from; not part of its identity

  /// The inputs of the source in the order of their first use, then those that only the target has.
  std::vector<std::string> inputs() const;
  /// What it says, comments, name, `by` and place aside.
  bool same_statement(const Rule& other) const;
};

/// The rules that an item of a file stands for, with names of their own: itself, unless it is said for a class or both
/// ways.
std::vector<Rule> expanded(const Rule& rule);

}  // namespace taso::rules
