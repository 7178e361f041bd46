// The values and computations of the search, each stored once for all graphs.
//
// A value stands for a result, a computation for one way to get it: an operator, or a leaf of the model, applied to
// values. A graph of the search (see program.h) records for each value that it needs which computation gives it.
// Rewriting gives a value another computation and leaves all its users unchanged.
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
/// A missing operand of an opaque node, or an unused result.
inline constexpr ValueId no_value{std::numeric_limits<std::uint32_t>::max()};

constexpr std::size_t place(ValueId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t place(ComputationId id) { return static_cast<std::size_t>(id); }

/// An attribute of an operator in the form that rules use: numbers (one or a list; a Boolean is 0 or 1), or a real.
struct Attribute {
  std::vector<Dim> numbers;
  double real = 0;
  bool is_real = false;
  bool operator==(const Attribute&) const = default;
};

/// An operator in use, with its attributes in the order of symbolic_fields().
struct KnownOperator {
  Operator op;
  std::uint32_t kind = 0;  ///< its index in all_operators()
  std::vector<Attribute> attributes;
};

struct Computation {
  const KnownOperator* op = nullptr;  ///< null for a leaf of the model and for opaque nodes
  const Node* origin = nullptr;       ///< the input, constant or opaque node; else null
  std::vector<ValueId> operands;
  std::size_t results = 1;
  /// Depends on constants only: it is computed once, on export or when the model is prepared, and costs nothing.
  bool weight_only = false;
  /// Also computed on export: it uses only constants and operators that taso models.
  bool is_foldable = false;

  std::uint32_t kind() const { return op ? op->kind : no_kind; }
  /// An input or a constant.
  bool is_leaf() const { return op == nullptr && origin->as_opaque() == nullptr; }
  /// An operator that is computed in every run.
  bool is_work() const { return op != nullptr && !weight_only; }
  /// An operator on weights that an opaque operator produces: it costs nothing here, but stays in the model.
  bool is_lasting_work_on_weights() const { return op != nullptr && weight_only && !is_foldable; }
  static constexpr std::uint32_t no_kind = std::numeric_limits<std::uint32_t>::max();
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const KnownOperator& known(const Operator& op);
  /// The computation of this operator on these operands; throws ShapeError if it does not accept them.
  ComputationId apply(const KnownOperator& op, std::vector<ValueId> operands);
  /// A leaf of the model, or an opaque node, possibly with other operands than in the model.
  ComputationId leaf(const Node& node, std::vector<ValueId> operands);
  /// The same computation on other operands of the same types.
  ComputationId with_operands(ComputationId id, std::vector<ValueId> operands);

  const Computation& operator[](ComputationId id) const { return computations_[place(id)].computation; }
  const Type& type(ValueId id) const { return *values_[place(id)].type; }
  const Shape& shape(ValueId id) const { return *values_[place(id)].type->shape; }
  bool weight_only(ValueId id) const { return values_[place(id)].weight_only; }
  /// Whether it is a constant, or computed from constants on export.
  bool is_foldable(ValueId id) const { return values_[place(id)].is_foldable; }

  /// A value for a result of a computation. Any of them may be used, if no other value of the graph has it; `attempt` 0
  /// is tried first, so that equal graphs look the same.
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
