// Which equalities follow from smaller ones, found in the table of values itself: a form is rewritten at its root with
// equalities that are known, its operands being whatever is known to compute them, until it becomes a form that is
// known.
#pragma once

#include <bitset>
#include <functional>
#include <unordered_map>
#include <vector>

#include "generator/enumeration/enumerate.h"

namespace taso::generator {

class Closure {
 public:
  struct Ranked {
    Found found;
    std::uint8_t size = 0;  ///< of the larger side
  };
  /// The equalities in the order in which they are gone through, the smallest first; each has its place as its rank.
  Closure(const Family& family, const Enumeration& enumeration, const std::vector<Ranked>& order);

  /// Whether the equality of that rank follows from those below `limit` that hold, as far as a few steps show.
  bool follows(std::uint32_t rank, std::uint32_t limit) const;
  /// It holds: others may use it. Not while another thread asks.
  void accept(std::uint32_t rank) { holds_[rank] = true; }
  /// It holds and follows from no others: they may be rewritten with it. Not while another thread asks.
  void add(std::uint32_t rank);

 private:
  static constexpr std::size_t most_schemas = 128;
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};
  using Schemas = std::bitset<most_schemas>;

  /// A node of a pattern is met as the operand of another.
  struct Visit {
    std::uint8_t parent = 0, position = 0, node = 0;
  };
  /// One direction of an equality.
  struct Rewrite {
    SmallTerm from, to;
    std::vector<Visit> steps;
    std::array<std::uint8_t, 64> inputs{};  ///< the nodes of `from` that they are
  };
  /// A way to compute a value; the first one of a value needs no equality.
  struct Entry {
    Form form;
    ValueId value = 0;
    std::uint32_t rank = 0;  ///< of the equality that says so
    std::uint8_t level = 0;  ///< the operators that it takes
    bool is_first = false;
  };
  /// What may be used to show an equality. It does not depend on anything larger: with more operators, what is found of
  /// one size stays the same.
  struct Scope {
    std::uint32_t limit = 0;     ///< equalities below this rank
    std::uint8_t level = 0;      ///< forms of so many operators
    std::uint8_t operators = 0;  ///< operands of so many, where one is made
  };
  class Match;

  /// Not if nothing joins what a split cuts.
  bool can_be_one(const Found& found) const;
  /// As the equality of one result: of a split, its operand is what joins both results.
  std::pair<ValueId, Form> as_one(const Found& found) const;
  void add(const SmallTerm& from, const SmallTerm& to);
  Form normal(Form form) const;
  /// Whether the value is of the input's rank and role.
  bool may_stand_for(std::size_t input, ValueId id) const { return roles_[input] == roles_[id]; }
  bool may_use(const Entry& entry, const Scope& scope) const {
    return entry.level <= scope.level && (entry.is_first || (entry.rank < scope.limit && holds_[entry.rank]));
  }
  Scope scope_of(std::uint32_t rank, std::uint32_t limit) const;
  /// All that the form is rewritten to in one step.
  void rewrite(const Form& form, const Scope& scope, std::vector<Form>& to) const;
  std::span<const Entry> entries_of(ValueId id) const {
    return {entries_.data() + begins_[id], entries_.data() + begins_[id + 1]};
  }

  const Family& family_;
  const Values& values_;
  const std::vector<Ranked>& order_;
  std::vector<std::uint8_t> roles_;     ///< of values: rank, and whether it is a kernel
  std::vector<std::uint8_t> holds_;     ///< by rank
  std::vector<std::uint8_t> joins_;     ///< of each schema that splits, the one that joins
  std::vector<Entry> entries_;          ///< by value
  std::vector<std::uint64_t> begins_;   ///< where the entries of a value begin
  std::vector<Schemas> schemas_;        ///< of the forms of a value
  FlatTable<Form, HashForm> entry_of_;  ///< of forms
  std::vector<Rewrite> rules_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_root_;  ///< schema and those of two operands
};

}  // namespace taso::generator
