// A rule made ready to be looked for: its source as nodes, each with what can be told of it at a glance.
#pragma once

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
  std::optional<std::size_t> input;  ///< the place in the rule's inputs
  std::uint32_t kind = 0, output = 0;
  std::vector<std::size_t> operands;  ///< places of nodes
  bool commutes = false;              ///< the operands may stand the other way round: they are added or multiplied
  struct Field {
    enum class Kind {
      open,      ///< a term; it is looked at when everything is bound
      variable,  ///< binds a variable
      elements,  ///< a list, some elements of which are variables
      numbers,   ///< these numbers, or one number as often as the list is long
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

/// How to get from an input to a result: at each step up, the node and which of its operands one comes from.
struct WayUp {
  std::size_t input = 0;
  std::vector<std::pair<std::size_t, std::size_t>> steps;
};

class RewriteRule {
 public:
  /// Nothing if it cannot be looked for, for a result is an input, or results share none, or if it would change nothing but
  /// the order of what is added or multiplied. An axiom is read from left
  /// to right.
  static std::unique_ptr<RewriteRule> compile(const rules::Rule& rule) { return compile(rule, rule); }
  /// The same for a rule that reads an axiom in one direction; the axiom is what is proved.
  static std::unique_ptr<RewriteRule> compile(const rules::Rule& rule, const rules::Rule& proved);

  const std::string& name() const { return name_; }
  const rules::Rule& rule() const { return property_->rule(); }
  const rules::Property& property() const { return *property_; }
  const std::vector<SourceNode>& nodes() const { return nodes_; }
  /// The node of each result.
  const std::vector<std::size_t>& roots() const { return roots_; }
  /// For each result but the first, the ways up from inputs that the results before it bind.
  const std::vector<std::vector<WayUp>>& ways() const { return ways_; }
  /// Exchanging its two results gives the same source.
  bool is_symmetric() const { return symmetric_; }
  /// How many operators lie on the longest way from an input to a result.
  std::size_t depth() const { return depth_; }
  /// For each broadcast condition, the places of its inputs.
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

/// The rules of a set that can be looked for: each in the direction that it states, properties in both.
std::vector<std::unique_ptr<RewriteRule>> compile(const std::vector<rules::Rule>& rules);

}  // namespace taso::search
