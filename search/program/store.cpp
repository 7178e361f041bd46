#include "search/program/store.h"

#include <algorithm>

#include <fmt/format.h>

#include "cost/plan/graph_view.h"
#include "rules/instance/symbolic_operator.h"

namespace taso::search {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  std::size_t mixed = (seed ^ value) * 0x9e3779b97f4a7c15u;
  return mixed ^ (mixed >> 29);
}

Attribute attribute_of(const FieldValue& value) {
  struct Visitor {
    Attribute operator()(bool truth) const { return {{truth ? 1 : 0}, 0, false}; }
    Attribute operator()(std::int64_t number) const { return {{number}, 0, false}; }
    Attribute operator()(double real) const { return {{}, real, true}; }
    Attribute operator()(const Dim& dim) const { return {{dim}, 0, false}; }
    Attribute operator()(ElementType) const { return {}; }
    Attribute operator()(const std::vector<std::int64_t>& list) const {
      return {std::vector<Dim>(list.begin(), list.end()), 0, false};
    }
    Attribute operator()(const std::vector<Dim>& list) const { return {list, 0, false}; }
  };
  return std::visit(Visitor{}, value);
}

}  // namespace

const KnownOperator& Store::known(const Operator& op) {
  const std::size_t hash = hash_of(op);
  const auto [begin, end] = operators_by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found)
    if (found->second->op == op) return *found->second;
  KnownOperator entry{op, static_cast<std::uint32_t>(op.index()), {}};
  for (const NamedField& field : fields_of(op))
    if (!std::holds_alternative<ElementType>(field.value)) entry.attributes.push_back(attribute_of(field.value));
  check(entry.attributes.size() == rules::symbolic_fields(entry.kind).size(), "fields are listed in one order");
  operators_.push_back(std::move(entry));
  operators_by_hash_.emplace(hash, &operators_.back());
  return operators_.back();
}

/// Whether an operator that stays in the model produces the weights, so that they are not stored.
bool Store::is_made(const Computation& computation) const {
  const Opaque* opaque = computation.origin->as_opaque();
  return opaque != nullptr &&
         std::all_of(computation.operands.begin(), computation.operands.end(),
                     [&](ValueId operand) { return operand == no_value || weight_only(operand); }) &&
         cost::gives_weights(*opaque);
}

ComputationId Store::intern(Computation computation, std::size_t hash, const std::vector<Type>* types) {
  for (const ValueId operand : computation.operands) hash = mix(hash, place(operand));
  const auto [begin, end] = computations_by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    const Computation& other = (*this)[found->second];
    if (other.op == computation.op && other.origin == computation.origin && other.operands == computation.operands)
      return found->second;
  }
  Entry entry;
  if (types != nullptr) {
    entry.types = *types;
    computation.is_foldable = computation.origin->as_constant() != nullptr;
    computation.weight_only = computation.is_foldable || is_made(computation);
  } else {
    Shapes shapes;
    ElementType element = ElementType::undefined;
    for (const ValueId operand : computation.operands) {
      const Type& operand_type = type(operand);
      if (!operand_type.shape) throw ShapeError("an operand has unknown rank");
      if (element != ElementType::undefined && element != operand_type.element)
        throw ShapeError(fmt::format("{}: operands have two types", ops::name_of(computation.op->op)));
      element = operand_type.element;
      shapes.push_back(*operand_type.shape);
    }
    if (computation.operands.empty())
      for (const NamedField& field : fields_of(computation.op->op))
        if (const auto* given = std::get_if<ElementType>(&field.value)) element = *given;
    for (Shape& shape : infer(computation.op->op, shapes)) entry.types.push_back({element, std::move(shape)});
    computation.weight_only = std::all_of(computation.operands.begin(), computation.operands.end(),
                                          [&](ValueId operand) { return weight_only(operand); });
    computation.is_foldable = std::all_of(computation.operands.begin(), computation.operands.end(),
                                          [&](ValueId operand) { return values_[place(operand)].is_foldable; });
  }
  computation.results = entry.types.size();
  entry.results.resize(computation.results);
  entry.computation = std::move(computation);
  const ComputationId id{static_cast<std::uint32_t>(computations_.size())};
  computations_.push_back(std::move(entry));
  computations_by_hash_.emplace(hash, id);
  return id;
}

ComputationId Store::apply(const KnownOperator& op, std::vector<ValueId> operands) {
  Computation computation;
  computation.op = &op;
  computation.operands = std::move(operands);
  return intern(std::move(computation), mix(1, hash_of(op.op)), nullptr);
}

ComputationId Store::leaf(const Node& node, std::vector<ValueId> operands) {
  check(node.as_operator() == nullptr, "a leaf is not an operator");
  Computation computation;
  computation.origin = &node;
  computation.operands = std::move(operands);
  const std::vector<Type> types(node.outputs().begin(), node.outputs().end());
  return intern(std::move(computation), mix(2, static_cast<std::size_t>(node.id())), &types);
}

ComputationId Store::with_operands(ComputationId id, std::vector<ValueId> operands) {
  const Computation& old = (*this)[id];
  return old.op != nullptr ? apply(*old.op, std::move(operands)) : leaf(*old.origin, std::move(operands));
}

ValueId Store::result(ComputationId id, std::size_t output, std::size_t attempt) {
  Entry& entry = computations_[place(id)];
  auto& names = entry.results[output];
  check(attempt <= names.size(), "names are tried in their order");
  if (attempt == names.size()) {
    names.push_back(ValueId{static_cast<std::uint32_t>(values_.size())});
    values_.push_back({&entry.types[output], entry.computation.weight_only, entry.computation.is_foldable});
  }
  return names[attempt];
}

}  // namespace taso::search
