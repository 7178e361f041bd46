// A rule compiled for matching: its source as nodes, each with the facts that are quick to check.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rules/egraph/property.h"
#include "rules/language/rule.h"
#include "search/program/store.h"

namespace taso::search {

/// One operator of the source, or an input of the rule.
struct SourceNode {
  std::optional<std::size_t> input;  ///< its index in the rule's inputs
  std::uint32_t kind = 0, output = 0;
  std::vector<std::size_t> operands;  ///< indices of nodes
  bool commutes = false;              ///< the operands may be swapped
  struct Field {
    enum class Kind {
      open,      ///< a term, checked when everything is bound
      variable,  ///< binds a variable
      elements,  ///< a list in which some elements are variables
      numbers,   ///< these numbers, or one number repeated to the length of the list
      real,      ///< this real number
    } kind = Kind::open;
    std::size_t variable = 0;
    std::vector<std::optional<std::size_t>> elements;
    std::vector<Dim> numbers;
    bool repeats = false;
    double real = 0;
  };
  std::vector<Field> fields;
};

/// Whether an operator in use has the fields of a source node. `bind` is called for every variable with its value, and
/// returns whether it may have it.
bool fields_fit(const SourceNode& node, const KnownOperator& op,
                const std::function<bool(std::size_t, const Attribute&)>& bind);

/// The path from an input up to a result: at each step the node, and the operand that it is entered by.
struct WayUp {
  std::size_t input = 0;
  std::vector<std::pair<std::size_t, std::size_t>> steps;
};

class RewriteRule {
 public:
  /// Null if the rule cannot be matched, because a result is an input or the results share no input, or if it would
  /// only change the order of commutative operands. An axiom is read from left to right.
  static std::unique_ptr<RewriteRule> compile(const rules::Rule& rule) { return compile(rule, rule); }
  /// The same for a rule that reads an axiom in one direction; `proved` is the axiom.
  static std::unique_ptr<RewriteRule> compile(const rules::Rule& rule, const rules::Rule& proved);

  const std::string& name() const { return name_; }
  const rules::Rule& rule() const { return property_->rule(); }
  const rules::Property& property() const { return *property_; }
  const std::vector<SourceNode>& nodes() const { return nodes_; }
  /// The node of each result.
  const std::vector<std::size_t>& roots() const { return roots_; }
  /// For each result but the first, the paths up from inputs that the results before it bind.
  const std::vector<std::vector<WayUp>>& ways() const { return ways_; }
  /// Whether exchanging its two results gives the same source.
  bool is_symmetric() const { return symmetric_; }
  /// The number of operators on the longest path from an input to a result.
  std::size_t depth() const { return depth_; }
  /// For each broadcast condition, the indices of its inputs.
  const std::vector<std::vector<std::size_t>>& broadcasts() const { return broadcasts_; }
  /// The kinds of the source's operators, once each.
  const std::vector<std::uint32_t>& kinds() const { return kinds_; }

 private:
  RewriteRule() = default;
  std::size_t add(const rules::Pattern& pattern);
  SourceNode::Field field_of(const rules::Pattern& pattern, std::size_t kind, std::size_t field) const;
  bool find_ways();
  void ways_to(std::size_t root, std::size_t node, std::vector<std::pair<std::size_t, std::size_t>>& steps,
               std::vector<WayUp>& ways) const;

  std::string name_;
  std::unique_ptr<const rules::Property> property_;
  std::vector<SourceNode> nodes_;
  std::vector<std::size_t> roots_;
  std::vector<std::vector<WayUp>> ways_;
  std::vector<std::vector<std::size_t>> broadcasts_;
  std::vector<std::uint32_t> kinds_;
  bool symmetric_ = false;
  std::size_t depth_ = 0;
};

/// The rules of a set that can be matched: each in its stated direction, properties in both.
std::vector<std::unique_ptr<RewriteRule>> compile(const std::vector<rules::Rule>& rules);

}  // namespace taso::search
