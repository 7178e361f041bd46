// The current graph of the search: which computation gives each value that the outputs need.
//
// It is changed in place, and every change can be undone: the search moves between graphs along the rewrites that
// connect them, and any other graph is only the list of its changes. Equal computations are one; unused ones are
// removed.
#pragma once

#include <cstdint>
#include <vector>

#include "search/program/store.h"

namespace taso::search {

/// A sum over the contents of a graph: equal for equal graphs, however they were made. Two different graphs with one
/// hash are as likely as a guess of 128 bits; the search would then only overlook one of them.
struct ProgramHash {
  std::uint64_t high = 0, low = 0;
  bool operator==(const ProgramHash&) const = default;
  ProgramHash& operator+=(const ProgramHash& other) {
    high += other.high;
    low += other.low;
    return *this;
  }
  ProgramHash& operator-=(const ProgramHash& other) {
    high -= other.high;
    low -= other.low;
    return *this;
  }
};

struct HashProgramHash {
  std::size_t operator()(const ProgramHash& hash) const { return static_cast<std::size_t>(hash.high ^ hash.low); }
};

struct Change {
  enum class Kind : std::uint8_t {
    added,    ///< a computation, with names for its results
    removed,  ///< a computation, with the names that its results had
    output,   ///< the output `output` of the graph is `names[1]` instead of `names[0]`
    merged,   ///< `names[0]` turned out to be `names[1]`: for information, changes nothing by itself
  };
  Kind kind = Kind::added;
  ComputationId computation{};
  std::uint32_t output = 0;
  std::vector<ValueId> names;
};

class Program {
 public:
  /// Copies the graph into the store.
  Program(Store& store, const Graph& graph);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Store& store() { return store_; }
  const Store& store() const { return store_; }

  struct Definition {
    ComputationId computation{};
    std::uint32_t output = 0;
    bool exists = false;
  };
  /// The computation of a value; `exists` is false if the graph does not have it.
  const Definition& definition(ValueId id) const {
    static const Definition none{};
    return place(id) < values_.size() ? values_[place(id)].definition : none;
  }
  /// The computations that use a value, each once, in order of their ids.
  const std::vector<ComputationId>& users(ValueId id) const {
    static const std::vector<ComputationId> none;
    return place(id) < values_.size() ? values_[place(id)].users : none;
  }
  bool is_output(ValueId id) const { return place(id) < values_.size() && values_[place(id)].outputs > 0; }
  bool is_used(ValueId id) const { return !users(id).empty() || is_output(id); }
  bool has(ComputationId id) const { return place(id) < computations_.size() && computations_[place(id)].exists; }
  /// The names of a computation's results; `no_value` for an unnamed one.
  const std::vector<ValueId>& results(ComputationId id) const { return computations_[place(id)].results; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const ProgramHash& hash() const { return hash_; }
  std::size_t size() const { return size_; }
  /// All computations, operands first, in an order that depends on the graph alone.
  std::vector<ComputationId> computations() const;
  /// The value of a node of the input graph.
  ValueId value_of(const Value& value) const { return original_.at(value); }
  const std::unordered_map<Value, ValueId, HashValue>& original_values() const { return original_; }

  /// Whether `value` is one of `targets` or is computed from one. Skips everything that depends on constants only.
  bool depends_on(ValueId value, std::span<const ValueId> targets) const;

  // Changes. Each is appended to `log`.
  using Log = std::vector<Change>;
  /// `no_value` stands for a result that needs no name.
  void add(ComputationId id, std::vector<ValueId> results, Log& log);
  void remove(ComputationId id, Log& log);
  void rename_results(ComputationId id, std::vector<ValueId> results, Log& log);
  /// Makes all users of `old` use `by`, and merges computations that become equal. Afterwards `old` is unused.
  void replace(ValueId old, ValueId by, Log& log);
  /// Removes those of these computations that are unused, and everything that only they used.
  void collect(std::vector<ComputationId> suspects, Log& log);
  /// A name for a result that is not in use.
  ValueId free_name(ComputationId id, std::size_t output);

  /// Whether the change re-creates an original computation under a new value id while the original id now means
  /// something else. Export identifies values by computation, so it could not distinguish the two.
  bool doubles_original(const Log& log) const;

  /// The change in the number of operators, without those that depend on constants only.
  std::int64_t operators_added(const Log& log) const;

  /// The same for operators on weights that would stay in the model.
  std::int64_t lasting_work_on_weights_added(const Log& log) const;

  void undo(const Log& log);
  void redo(const Log& log);

 private:
  struct ValueEntry {
    Definition definition;
    std::vector<ComputationId> users;
    std::uint32_t outputs = 0;  // how many outputs of the graph it is
  };
  struct ComputationEntry {
    bool exists = false;
    std::vector<ValueId> results;
  };
  ValueEntry& value(ValueId id);
  void link(ComputationId id, const std::vector<ValueId>& results);
  void unlink(ComputationId id);
  void set_output(std::size_t index, ValueId id);
  void merge_into(ComputationId id, const std::vector<ValueId>& names,
                  std::vector<std::pair<ValueId, ValueId>>& replacements, Log& log);

  Store& store_;
  std::vector<ValueEntry> values_;
  std::vector<ComputationEntry> computations_;
  std::vector<ValueId> outputs_;
  std::unordered_map<Value, ValueId, HashValue> original_;
  std::vector<bool> is_original_;  // by value
  ProgramHash hash_;
  std::size_t size_ = 0;
  mutable std::vector<std::uint32_t> seen_;  // for depends_on: the number of the last visit, by computation
  mutable std::uint32_t look_ = 0;
};

}  // namespace taso::search
