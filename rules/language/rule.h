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
  std::string op;     ///< the operator's name; in a law, also the name of a function variable
  /// The attributes that are given, in the order of the operator's fields. Omitted ones: strides and dilations are 1,
  /// pads are 0, groups is 1, and the rest have the operator's defaults. Constants have the rule's element type: `type`
  /// is never given.
  std::vector<std::pair<std::string, TermPtr>> attributes;
  std::vector<PatternPtr> operands;
  std::size_t output = 0;  ///< index of the result: first(split(x)) is 0, second(split(x)) is 1

  bool is_input() const { return op.empty(); }
  bool operator==(const Pattern& other) const;
};

/// A condition on integers; lists compare element by element.
struct Condition {
  enum class Relation {
    equal,
    not_equal,
    at_most,    ///< left <= right; `>=` is read as this, exchanged
    less,       ///< left < right
    divides,    ///< divides(left, right)
    even,       ///< parity(left) = even
    odd,        ///< parity(left) = odd
    broadcast,  ///< broadcast(x, y, …): the inputs named in `inputs` broadcast together, as in numpy
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
  /// `<=>`: also target => source, under the name with the suffix "-back". Only the items of a file have it;
  /// RuleFile::rules() gives the two directions as separate rules.
  bool both_ways = false;
  /// For a law for whole classes of operators, whose patterns have these as operators; RuleFile::rules() gives rules
  /// without them.
  std::vector<FunctionVariable> functions;
  std::vector<PatternPtr> source, target;  ///< one pattern per result; a bare split at the root counts for both
  std::vector<Condition> conditions;
  std::vector<std::string> by;        ///< the properties that its proof used
  std::vector<std::string> comments;  ///< the lines above it, without '#'
  SourceRange place;                  ///< of its name in the file; not part of its identity

  /// The inputs of the source in the order of their first use, then those that only the target has.
  std::vector<std::string> inputs() const;
  /// Whether they are equal except for comments, name, `by` and place.
  bool same_statement(const Rule& other) const;
};

/// The rules that an item of a file stands for, with their names: just itself, unless it is for a class or in both
/// directions.
std::vector<Rule> expanded(const Rule& rule);

}  // namespace taso::rules
