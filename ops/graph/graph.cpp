#include "ops/graph/graph.h"

#include <algorithm>
#include <queue>

#include <fmt/format.h>

namespace taso::ops {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 31); }

std::size_t hash_kind(const NodeKind& kind) {
  struct Visitor {
    std::size_t operator()(const Input& input) const { return mix(1, std::hash<std::string>{}(input.name)); }
    std::size_t operator()(const Constant& constant) const { return mix(2, std::hash<std::string>{}(constant.name)); }
    std::size_t operator()(const Opaque& opaque) const { return mix(3, opaque.serial); }
    std::size_t operator()(const Operator& op) const { return mix(4, hash_of(op)); }
  };
  return std::visit(Visitor{}, kind);
}

}  // namespace

std::optional<OpaqueBody::OperandPairs> OpaqueBody::agreement(const OpaqueBody&) const { return std::nullopt; }

const Type& Value::type() const {
  check(node != nullptr, "an omitted operand has no type");
  return node->outputs()[output];
}

const Shape& Value::shape() const {
  const auto& shape = type().shape;
  check(shape.has_value(), "the rank is known");
  return *shape;
}

const Node& Pool::intern(Node node) {
  node.hash_ = hash_kind(node.kind_);
  // Hash operands by creation order, not by address, so that the same program hashes the same in every run.
  for (const Value& value : node.inputs_)
    node.hash_ = mix(node.hash_, value ? value.node->id() * 64 + value.output + 1 : 0);
  node.id_ = nodes_.size();
  nodes_.push_back(std::move(node));
  const auto [known, is_new] = table_.insert(&nodes_.back());  // one search of the table, as most nodes are new
  if (!is_new) nodes_.pop_back();
  return **known;
}

Value Pool::input(std::string name, Type type) {
  Node node;
  node.outputs_ = {type};
  node.kind_ = Input{std::move(name), std::move(type)};
  return intern(std::move(node)).output();
}

Value Pool::constant(std::string name, Type type, std::shared_ptr<const Weight> weight) {
  Node node;
  node.outputs_ = {type};
  node.kind_ = Constant{std::move(name), std::move(type), std::move(weight)};
  return intern(std::move(node)).output();
}

const Node& Pool::add(const Operator& op, std::span<const Value> inputs) {
  Shapes shapes;
  ElementType element = ElementType::undefined;
  for (const Value& value : inputs) {
    check(static_cast<bool>(value), "operators omit no operands");
    const Type& type = value.type();
    if (!type.shape) throw ShapeError(fmt::format("{}: an operand has unknown rank", name_of(op)));
    if (element != ElementType::undefined && type.element != element)
      throw ShapeError(
          fmt::format("{}: operands of types {} and {}", name_of(op), name_of(element), name_of(type.element)));
    element = type.element;
    shapes.push_back(*type.shape);
  }
  if (inputs.empty())
    for (const NamedField& field : fields_of(op))
      if (const auto* type = std::get_if<ElementType>(&field.value)) element = *type;
  Node node;
  for (Shape& shape : infer(op, shapes)) node.outputs_.push_back({element, std::move(shape)});
  node.kind_ = op;
  node.inputs_.assign(inputs.begin(), inputs.end());
  return intern(std::move(node));
}

Value Pool::apply(const Operator& op, std::initializer_list<Value> inputs) {
  return add(op, std::span<const Value>(inputs.begin(), inputs.size())).output();
}

const Node& Pool::add_opaque(Opaque opaque, std::span<const Value> inputs) {
  Node node;
  opaque.serial = nodes_.size();
  node.outputs_ = opaque.outputs;
  node.kind_ = std::move(opaque);
  node.inputs_.assign(inputs.begin(), inputs.end());
  return intern(std::move(node));
}

std::vector<const Node*> Graph::nodes() const {
  // Operands are created before their users, so the order of creation is topological, and the latest of the nodes that
  // are still to be visited is not found again later.
  std::priority_queue<std::pair<std::uint64_t, const Node*>> left;
  const auto visit = [&](const Value& value) {
    if (value) left.emplace(value.node->id(), value.node);
  };
  std::vector<const Node*> found;
  for (const Value& value : outputs) visit(value);
  while (!left.empty()) {
    const Node* node = left.top().second;
    left.pop();
    if (!found.empty() && found.back() == node) continue;
    found.push_back(node);
    for (const Value& value : node->inputs()) visit(value);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

bool equal(const Graph& a, const Graph& b) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
  std::unordered_map<const Node*, const Node*> partner, back;
  std::vector<std::pair<const Node*, const Node*>> stack;
  const auto pair_up = [&](const Value& x, const Value& y) {
    if (static_cast<bool>(x) != static_cast<bool>(y)) return false;
    if (!x) return true;
    if (x.output != y.output) return false;
    const auto [there, fresh] = partner.try_emplace(x.node, y.node);
    const auto [here, fresh_back] = back.try_emplace(y.node, x.node);
    if (there->second != y.node || here->second != x.node) return false;
    if (fresh) stack.emplace_back(x.node, y.node);
    return true;
  };
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (!pair_up(a.inputs[i], b.inputs[i])) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (!pair_up(a.outputs[i], b.outputs[i])) return false;
  while (!stack.empty()) {
    const auto [x, y] = stack.back();
    stack.pop_back();
    if (!std::equal(x->outputs().begin(), x->outputs().end(), y->outputs().begin(), y->outputs().end())) return false;
    const Opaque* left = x->as_opaque();
    const Opaque* right = y->as_opaque();
    if ((left == nullptr) != (right == nullptr)) return false;
    if (left != nullptr) {
      if (left->kind != right->kind || (left->body == nullptr) != (right->body == nullptr)) return false;
      if (left->body && !left->body->same(*right->body)) return false;
    } else if (!(x->kind() == y->kind())) {
      return false;
    }
    if (x->inputs().size() != y->inputs().size()) return false;
    for (std::size_t i = 0; i < x->inputs().size(); ++i)
      if (!pair_up(x->inputs()[i], y->inputs()[i])) return false;
  }
  return true;
}

}  // namespace taso::ops
