// A tensor program: an immutable, hash-consed graph of operators with several outputs each.
//
// Nodes live in a Pool, where equal nodes are one node: two values of a pool are structurally equal exactly if they are
// the same (node, output) pair. A Graph is a choice of outputs over such nodes, so graphs share what they have in common.
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
#include "ops/graph/plain_function.h"

namespace taso::ops {

class Node;

/// One output of a node. A null value stands for an optional operand that an opaque node leaves out.
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

/// An operand of the program, known by its name.
struct Input {
  std::string name;
  Type type;
  bool operator==(const Input&) const = default;
};

/// The data of a constant, read when somebody asks for it.
class Weight {
 public:
  virtual ~Weight() = default;
  virtual Array load() const = 0;
};

/// A constant, known by its name; its data stays where it is.
struct Constant {
  std::string name;
  Type type;
  std::shared_ptr<const Weight> weight;  // may be null: a constant whose data nobody gave
  bool operator==(const Constant& other) const { return name == other.name && type == other.type; }
};

/// What is known of an operator that no rule knows, but that every device can do.
struct PlainMovement {
  enum class Kind : std::uint8_t {
    cast,    ///< every element in the result's type, as Array::cast does it
    gather,  ///< the parts of the first operand along an axis that the second one counts out; negative ones from the end
    expand,  ///< the first operand, repeated along axes, in the result's shape
  };
  Kind kind = Kind::cast;
  std::int64_t axis = 0;  ///< may be negative
};

/// What the interpreter needs of an operator that we do not model.
class OpaqueBody {
 public:
  virtual ~OpaqueBody() = default;
  /// Why it cannot be run; empty if it can.
  virtual std::string obstacle() const = 0;
  virtual std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const = 0;
  /// Whether the other does the same thing, to the letter.
  virtual bool same(const OpaqueBody& other) const = 0;
  virtual std::optional<PlainMovement> movement() const { return std::nullopt; }
  virtual std::optional<PlainFunction> function() const { return std::nullopt; }
  /// Whether it can be run, and equal operands give equal results every time.
  virtual bool is_deterministic() const { return false; }
  /// Whether it holds programs of its own, of which one run shows a part only: the branches of an If.
  virtual bool has_programs() const { return false; }
  /// Places of operands, of this and of the other, that must hold equal values for both to do the same, whatever the values
  /// are called; nothing if they differ in anything else.
  using OperandPairs = std::vector<std::pair<std::size_t, std::size_t>>;
  virtual std::optional<OperandPairs> agreement(const OpaqueBody& other) const;
};

/// An operator that we do not model: kept as it is, never merged with another (`serial` tells them apart).
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
  /// The order of creation in its pool: operands come before what uses them.
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

/// Where nodes live and equal nodes become one. Not for several threads at once.
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Value input(std::string name, Type type);
  Value constant(std::string name, Type type, std::shared_ptr<const Weight> weight = nullptr);
  /// Infers the types of the outputs; throws ShapeError. All operands have one element type, and known ranks.
  const Node& add(const Operator& op, std::span<const Value> inputs);
  /// The first output of `add`.
  Value apply(const Operator& op, std::initializer_list<Value> inputs);
  /// A new node, always; `serial` is given here.
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

  /// Every node that the outputs need, operands first; among those that are free, in order of creation.
  std::vector<const Node*> nodes() const;
};

/// Equality of structure across pools: the same inputs and outputs, constants by name and type, opaque nodes by what
/// they do (their body), each matched with one partner.
bool equal(const Graph& a, const Graph& b);

}  // namespace taso::ops
