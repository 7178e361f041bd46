// A property compiled for matching in an e-graph, in either direction.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "rules/egraph/egraph.h"
#include "rules/instance/compiled_dim.h"
#include "rules/instance/instance.h"

namespace taso::rules {

/// A property at fixed ranks and choices, with everything that matching evaluates compiled. Indices of unknowns are
/// those of `instance.unknowns`.
struct PropertyInstance {
  Instance instance;  ///< unsolved: see instance()
  struct Origin {     ///< where an unknown's value comes from
    bool is_dimension = false;
    std::size_t index = 0;    ///< of the input, or of the attribute variable
    std::size_t element = 0;  ///< the axis, or the index in a list
  };
  std::vector<Origin> origins;
  struct CompiledRequirement {
    Requirement::Kind kind;
    CompiledDim left, right;
  };
  std::vector<CompiledRequirement> requirements;
  /// For each node and field, its dimensions; empty if the field has none.
  std::vector<std::vector<std::vector<CompiledDim>>> fields;
  /// For each node and result, its dimensions.
  std::vector<std::vector<std::vector<CompiledDim>>> shapes;
};

class Property {
 public:
  /// An axiom, used as it is validated.
  explicit Property(Rule rule);
  /// An axiom made from a rule, so that all its assumptions and obligations are checked where it is used. What is
  /// proved is `proved`: a rule, or an axiom that is read from right to left here.
  Property(Rule axiom, Rule proved);
  Property(const Property&) = delete;

  const Rule& rule() const { return rule_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& variables() const { return variables_; }

  /// One result of one side.
  struct Node {
    std::size_t input = 0;  ///< for an input of the property
    bool is_input = false;
    std::uint32_t kind = 0, output = 0;
    struct Attribute {
      /// open: compared when everything is bound
      enum class Kind { open, variable, elements, known } kind = Kind::open;
      std::size_t variable = 0;
      std::vector<std::optional<std::size_t>> elements;  ///< the variables in a list
      FieldCode code;                                    ///< known: an axis, a switch, a list of axes
    };
    std::vector<Attribute> attributes;
    std::vector<std::size_t> operands;
  };
  struct Side {
    std::vector<Node> nodes;  ///< operands first; the last one is the root
    bool binds_everything = false;
    std::vector<bool> binds_input, binds_variable;
    std::vector<std::uint32_t> kinds;      ///< operators in it, each once
    std::vector<std::uint32_t> constants;  ///< those without operands
  };
  std::size_t results() const { return sides_[0].size(); }
  const Side& side(bool target, std::size_t result) const { return sides_[target ? 1 : 0][result]; }

  /// The bindings of inputs and variables, as far as the choice of an instance depends on them.
  struct Choice {
    std::vector<std::size_t> ranks;  ///< of the inputs
    std::vector<FieldCode> values;   ///< for axes, switches and lists of axes the value; for other variables the length
    /// For inputs that broadcast: which dimensions are 1 and stretched to those of another; otherwise empty.
    std::vector<std::vector<bool>> ones;
    auto operator<=>(const Choice&) const = default;
  };
  /// Whether the input broadcasts.
  bool broadcasts(std::size_t input) const { return broadcast_[input]; }
  /// The groups of inputs that broadcast against each other.
  const std::vector<std::vector<std::size_t>>& broadcast_groups() const { return broadcast_groups_; }
  bool holds_numbers(std::size_t variable) const { return holds_numbers_[variable]; }
  bool is_real(std::size_t variable) const { return is_real_[variable]; }
  /// Null if there is none, or if it says more than what is proved for this choice. Made once for each choice;
  /// thread-safe.
  const PropertyInstance* at(const Choice& choice) const;

 private:
  Side compile(const Pattern& pattern) const;
  std::size_t add_node(Side& side, const Pattern& pattern) const;
  std::unique_ptr<PropertyInstance> make(const Choice& choice) const;

  Rule rule_, proved_;
  bool backwards_ = false;  // the sides of `proved_` are exchanged
  std::vector<std::string> inputs_, variables_;
  std::vector<bool> broadcast_, holds_numbers_, is_real_;
  std::vector<std::vector<std::size_t>> broadcast_groups_;
  std::vector<Side> sides_[2];
  mutable std::mutex mutex_;
  mutable std::map<Choice, std::unique_ptr<PropertyInstance>> made_;
};

/// The compiled properties of a file. Shared by threads.
class Properties {
 public:
  explicit Properties(const std::vector<Rule>& rules);
  /// Must not be called while another thread reads.
  void add(Rule axiom) { properties_.push_back(std::make_unique<const Property>(std::move(axiom))); }
  std::size_t size() const { return properties_.size(); }
  const Property& operator[](std::size_t index) const { return *properties_[index]; }
  auto begin() const { return properties_.begin(); }
  auto end() const { return properties_.end(); }

 private:
  std::vector<std::unique_ptr<const Property>> properties_;
};

}  // namespace taso::rules
