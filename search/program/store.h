// What the search computes with: values, and ways to compute them, each held once for all graphs that are looked at.
//
// A value stands for what is computed, a computation for one way to get there: an operator, or a leaf of the model, applied
// to values. A graph of the search (see program.h) says for each value that it needs which computation gives it; rewriting
// gives a value another computation and leaves everything that uses it as it is.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "ops/graph/graph.h"

namespace taso::search {

enum class ValueId : std::uint32_t {};
enum class ComputationId : std::uint32_t {};
/// An operand that an opaque node leaves out, a result that nobody uses.
inline constexpr ValueId no_value{std::numeric_limits<std::uint32_t>::max()};

constexpr std::size_t place(ValueId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t place(ComputationId id) { return static_cast<std::size_t>(id); }

/// An attribute of an operator as rules speak of it: numbers (one or a list; a truth value is 0 or 1), or a real.
struct Attribute {
  std::vector<Dim> numbers;
  double real = 0;
  bool is_real = false;
  bool operator==(const Attribute&) const = default;
};

/// An operator that occurs, with its attributes in the order of symbolic_fields().
struct KnownOperator {
  Operator op;
  std::uint32_t kind = 0;  ///< its place in all_operators()
  std::vector<Attribute> attributes;
};

struct Computation {
  const KnownOperator* op = nullptr;  ///< null for a leaf of the model and for opaque nodes
  const Node* origin = nullptr;       ///< the input, constant or opaque node, if it is one
  std::vector<ValueId> operands;
  std::size_t results = 1;
  /// Depends on constants only: it is computed once, on export or when the model is made ready to run, and costs nothing.
  bool weight_only = false;
  /// Computed on export, if so: nothing but constants and operators that we model goes into it.
  bool is_foldable = false;

  std::uint32_t kind() const { return op ? op->kind : no_kind; }
  /// An input or a constant.
  bool is_leaf() const { return op == nullptr && origin->as_opaque() == nullptr; }
  /// An operator that is not computed once and for all.
  bool is_work() const { return op != nullptr && !weight_only; }
  /// An operator on weights that an operator of the model's own makes: it costs nothing here, but stays in the model.
  bool is_lasting_work_on_weights() const { return op != nullptr && weight_only && !is_foldable; }
  static constexpr std::uint32_t no_kind = std::numeric_limits<std::uint32_t>::max();
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const KnownOperator& known(const Operator& op);
  /// The computation of these operands by this operator; throws ShapeError if it does not take them.
  ComputationId apply(const KnownOperator& op, std::vector<ValueId> operands);
  /// A leaf of the model, or an opaque node, which may have got other operands than it came with.
  ComputationId leaf(const Node& node, std::vector<ValueId> operands);
  /// The same on other operands, of the same types.
  ComputationId with_operands(ComputationId id, std::vector<ValueId> operands);

  const Computation& operator[](ComputationId id) const { return computations_[place(id)].computation; }
  const Type& type(ValueId id) const { return *values_[place(id)].type; }
  const Shape& shape(ValueId id) const { return *values_[place(id)].type->shape; }
  bool weight_only(ValueId id) const { return values_[place(id)].weight_only; }
  /// Computed on export, from constants alone, or a constant.
  bool is_foldable(ValueId id) const { return values_[place(id)].is_foldable; }

  /// Values for the results of a computation. Which of them a graph uses does not matter, as long as no other value of
  /// the graph is called the same: `attempt` 0 is tried first, so that graphs that are the same look the same.
  ValueId result(ComputationId id, std::size_t output, std::size_t attempt);
  const Type& result_type(ComputationId id, std::size_t output) const { return computations_[place(id)].types[output]; }

  std::size_t values() const { return values_.size(); }
  std::size_t computations() const { return computations_.size(); }

 private:
  struct Entry {
    Computation computation;
    std::vector<Type> types;                    // of the results
    std::vector<std::vector<ValueId>> results;  // by output, then by attempt
  };
  struct ValueEntry {
    const Type* type;  // in an entry, which never moves
    bool weight_only, is_foldable;
  };
  bool is_made(const Computation& computation) const;
  ComputationId intern(Computation computation, std::size_t hash, const std::vector<Type>* types);

  std::deque<Entry> computations_;
  std::vector<ValueEntry> values_;
  std::deque<KnownOperator> operators_;
  std::unordered_multimap<std::size_t, const KnownOperator*> operators_by_hash_;
  std::unordered_multimap<std::size_t, ComputationId> computations_by_hash_;
};

}  // namespace taso::search
