// Decides which equalities follow from smaller ones, using the table of values itself. A form is rewritten at its root
// with known equalities, where each operand may be any form known to compute it, until it becomes a known form.
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
    std::uint8_t size = 0;  ///< operators of the larger side
  };
  /// The equalities in the order of processing, the smallest first; the index of an equality is its rank.
  Closure(const Family& family, const Enumeration& enumeration, const std::vector<Ranked>& order);

  /// Whether the equality of that rank follows from those that hold below `limit`, as far as a few steps can show.
  bool follows(std::uint32_t rank, std::uint32_t limit) const;
  /// Records that the equality holds, so that others may use it. Not thread-safe.
  void accept(std::uint32_t rank) { holds_[rank] = true; }
  /// Records that the equality holds and follows from no others, so that forms may be rewritten with it. Not
  /// thread-safe.
  void add(std::uint32_t rank);

 private:
  static constexpr std::size_t most_schemas = 128;
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};
  using Schemas = std::bitset<most_schemas>;

  /// A step of matching: `node` is operand `position` of `parent`.
  struct Visit {
    std::uint8_t parent = 0, position = 0, node = 0;
  };
  /// One direction of an equality.
  struct Rewrite {
    SmallTerm from, to;
    std::vector<Visit> steps;
    std::array<std::uint8_t, 64> inputs{};  ///< the nodes of `from` that are inputs
  };
  /// A way to compute a value; the first way of a value needs no equality.
  struct Entry {
    Form form;
    ValueId value = 0;
    std::uint32_t rank = 0;  ///< of the equality that says so
    std::uint8_t level = 0;  ///< number of operators
    bool is_first = false;
  };
  /// What may be used to show an equality. It depends on nothing larger: what is found of one size stays the same with
  /// more operators.
  struct Scope {
    std::uint32_t limit = 0;     ///< equalities below this rank
    std::uint8_t level = 0;      ///< forms of at most this many operators
    std::uint8_t operators = 0;  ///< new operands of at most this many operators
  };
  class Match;

  /// False if no schema joins what a split cuts.
  bool can_be_one(const Found& found) const;
  /// The equality as one of a single result: for a split, its operand is the concatenation of both results.
  std::pair<ValueId, Form> as_one(const Found& found) const;
  void add(const SmallTerm& from, const SmallTerm& to);
  Form normal(Form form) const;
  /// Whether the value has the input's rank and role.
  bool may_stand_for(std::size_t input, ValueId id) const { return roles_[input] == roles_[id]; }
  bool may_use(const Entry& entry, const Scope& scope) const {
    return entry.level <= scope.level && (entry.is_first || (entry.rank < scope.limit && holds_[entry.rank]));
  }
  Scope scope_of(std::uint32_t rank, std::uint32_t limit) const;
  /// All results of rewriting the form in one step.
  void rewrite(const Form& form, const Scope& scope, std::vector<Form>& to) const;
  std::span<const Entry> entries_of(ValueId id) const {
    return {entries_.data() + begins_[id], entries_.data() + begins_[id + 1]};
  }

  const Family& family_;
  const Values& values_;
  const std::vector<Ranked>& order_;
  std::vector<std::uint8_t> roles_;     ///< for each value: rank, and whether it is a kernel
  std::vector<std::uint8_t> holds_;     ///< by rank
  std::vector<std::uint8_t> joins_;     ///< for each schema that splits, the one that joins
  std::vector<Entry> entries_;          ///< by value
  std::vector<std::uint64_t> begins_;   ///< where the entries of each value begin
  std::vector<Schemas> schemas_;        ///< of the forms of each value
  FlatTable<Form, HashForm> entry_of_;  ///< index of the entry of a form
  std::vector<Rewrite> rules_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_root_;  ///< by schemas of root and two operands
};

}  // namespace taso::generator
