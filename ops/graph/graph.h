// A tensor program: an immutable, hash-consed graph of operators, each with one or more outputs.
//
// Nodes live in a Pool, which merges equal nodes: two values of a pool are structurally equal exactly if they are the
// same (node, output) pair. A Graph is a choice of outputs over such nodes, so graphs share their common parts.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "ops/core/array.h"
#include "ops/graph/operator.h"

namespace taso::ops {

class Node;

/// One output of a node. A null value stands for an optional operand that an opaque node omits.
struct Value {
  const Node* node = nullptr;
  std::uint32_t output = 0;
  bool operator==(const Value&) const = default;
  explicit operator bool() const { return node != nullptr; }
  const Type& type() const;
  /// The shape; the rank must be known.
  const Shape& shape() const;
};

struct HashValue {
  std::size_t operator()(const Value& value) const { return std::hash<const void*>{}(value.node) * 31 + value.output; }
};

/// An operand of the program, identified by name.
struct Input {
  std::string name;
  Type type;
  bool operator==(const Input&) const = default;
};

/// The data of a constant, loaded on demand.
class Weight {
 public:
  virtual ~Weight() = default;
  virtual Array load() const = 0;
};

/// A constant, identified by name and type.
struct Constant {
  std::string name;
  Type type;
  std::shared_ptr<const Weight> weight;  // may be null: data unknown
  bool operator==(const Constant& other) const { return name == other.name && type == other.type; }
};

/// A data movement that no rule knows but every device can run.
struct PlainMovement {
  enum class Kind : std::uint8_t {
    cast,    ///< each element converted to the result's type, as by Array::cast
    gather,  ///< slices of operand 0 along `axis`, at the indices in operand 1; negative indices count from the end
    expand,  ///< operand 0 broadcast to the result's shape
  };
  Kind kind = Kind::cast;
  std::int64_t axis = 0;  ///< may be negative
};

struct PlainFunction;  // plain_function.h

/// How the interpreter runs an operator that we do not model.
class OpaqueBody {
 public:
  virtual ~OpaqueBody() = default;
  /// Why it cannot run; empty if it can.
  virtual std::string obstacle() const = 0;
  virtual std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const = 0;
  /// Whether the other body does exactly the same.
  virtual bool same(const OpaqueBody& other) const = 0;
  virtual std::optional<PlainMovement> movement() const { return std::nullopt; }
  /// What a device needs to know to compute it; null if only the host can.
  virtual const PlainFunction* function() const { return nullptr; }
  /// Whether it can run, and equal operands always give equal results.
  virtual bool is_deterministic() const { return false; }
  /// Whether it contains graphs of its own, of which one run may execute only a part: the branches of an If.
  virtual bool has_programs() const { return false; }
  /// Pairs of operand positions, here and in the other body, that must hold equal values for both to do the same,
  /// whatever the values are called. Nothing if the bodies differ in anything else.
  using OperandPairs = std::vector<std::pair<std::size_t, std::size_t>>;
  virtual std::optional<OperandPairs> agreement(const OpaqueBody& other) const;
};

/// An operator that we do not model. It is kept as it is and never merged with another; `serial` is unique.
struct Opaque {
  std::string kind;
  std::uint64_t serial = 0;
  std::vector<Type> outputs;
  std::shared_ptr<const OpaqueBody> body;
  bool operator==(const Opaque& other) const { return serial == other.serial; }
};

using NodeKind = std::variant<Input, Constant, Opaque, Operator>;

class Node {
 public:
  const NodeKind& kind() const { return kind_; }
  const Operator* as_operator() const { return std::get_if<Operator>(&kind_); }
  const Opaque* as_opaque() const { return std::get_if<Opaque>(&kind_); }
  const Input* as_input() const { return std::get_if<Input>(&kind_); }
  const Constant* as_constant() const { return std::get_if<Constant>(&kind_); }
  std::span<const Value> inputs() const { return inputs_; }
  std::span<const Type> outputs() const { return outputs_; }
  Value output(std::size_t index = 0) const { return {this, static_cast<std::uint32_t>(index)}; }
  /// The index in order of creation in its pool: operands come before their users.
  std::uint64_t id() const { return id_; }
  std::size_t hash() const { return hash_; }

 private:
  friend class Pool;
  NodeKind kind_;
  std::vector<Value> inputs_;
  std::vector<Type> outputs_;
  std::uint64_t id_ = 0;
  std::size_t hash_ = 0;
};

/// Owns nodes and merges equal ones. Not thread-safe.
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Value input(std::string name, Type type);
  Value constant(std::string name, Type type, std::shared_ptr<const Weight> weight = nullptr);
  /// Infers the types of the outputs; throws ShapeError. All operands must have the same element type and known ranks.
  const Node& add(const Operator& op, std::span<const Value> inputs);
  /// The first output of `add`.
  Value apply(const Operator& op, std::initializer_list<Value> inputs);
  /// Always creates a new node and sets its `serial`.
  const Node& add_opaque(Opaque opaque, std::span<const Value> inputs);

  std::size_t size() const { return nodes_.size(); }

 private:
  struct HashNode {
    std::size_t operator()(const Node* node) const { return node->hash(); }
  };
  struct SameNode {
    bool operator()(const Node* a, const Node* b) const { return a->kind_ == b->kind_ && a->inputs_ == b->inputs_; }
  };
  const Node& intern(Node node);
  std::deque<Node> nodes_;
  std::unordered_set<const Node*, HashNode, SameNode> table_;
};

struct Graph {
  std::shared_ptr<Pool> pool;
  std::vector<Value> inputs;  ///< in the order of the program's signature, used or not
  std::vector<Value> outputs;

  /// Every node that the outputs need, in order of creation, so that operands come first.
  std::vector<const Node*> nodes() const;
};

/// Structural equality across pools: the same inputs and outputs, constants of the same name and type, and opaque nodes
/// with the same body, matched one to one.
bool equal(const Graph& a, const Graph& b);

}  // namespace taso::ops
