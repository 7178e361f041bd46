#include "rules/taso/taso_terms.h"

#include <cstddef>

namespace taso::rules {
namespace {

std::int32_t parameter(const TasoOperator& op, TasoKey key, std::int32_t otherwise) {
  const auto place = op.parameters.find(key);
  return place == op.parameters.end() ? otherwise : place->second;
}

bool is_integer(const TermPtr& term, std::int64_t value) {
  return term->kind == Term::Kind::integer && term->integer == value;
}

// The number of windows: rounded up with same padding, otherwise those that fit.
TermPtr windows(const TermPtr& size, const TermPtr& kernel, const TermPtr& stride, bool same_padding) {
  if (same_padding) {
    if (is_integer(stride, 1)) return size;
    const TermPtr less = stride->kind == Term::Kind::integer ? integer_term(stride->integer - 1)
                                                             : call_term("-", {stride, integer_term(1)});
    return call_term("/", {call_term("+", {size, less}), stride});
  }
  const TermPtr steps = call_term("-", {size, kernel});
  return call_term("+", {is_integer(stride, 1) ? steps : call_term("/", {steps, stride}), integer_term(1)});
}

}  // namespace

TermPtr element_for(const TermPtr& list, std::int32_t axis) {
  const auto place = static_cast<std::size_t>(axis - 2);
  if (list->kind == Term::Kind::integer) return list;
  if (list->kind == Term::Kind::list && place < list->operands.size()) return list->operands[place];
  return call_term("[]", {list, integer_term(axis - 2)});
}

TermPtr TasoTerms::window_dim(const TasoOperator& op, const TasoAttributes& given, std::int32_t axis) const {
  return windows(dim(op.inputs[0], axis), element_for(given.kernel, axis), element_for(given.strides, axis),
                 given.same_padding);
}

TermPtr TasoTerms::dim(TasoValue value, std::int32_t axis) const {
  if (axis < 0) throw NoTerm{};
  if (value.is_input()) return call_term("dim", {variable_term(inputs_.at(value)), integer_term(axis)});
  const TasoOperator& op = this->op(value);
  const TasoAttributes& given = attributes.at(value.op);
  switch (op.type) {
    case TasoType::conv:
      return axis == 0 ? dim(op.inputs[0], 0) : axis == 1 ? dim(op.inputs[1], 0) : window_dim(op, given, axis);
    case TasoType::max_pool:
    case TasoType::average_pool: return axis < 2 ? dim(op.inputs[0], axis) : window_dim(op, given, axis);
    case TasoType::relu:
    case TasoType::sigmoid:
    case TasoType::tanh:
    case TasoType::add:
    case TasoType::mul:
    case TasoType::scalar_mul: return dim(op.inputs[0], axis);
    case TasoType::concat: {
      TermPtr sum = dim(op.inputs[0], axis);
      if (axis == parameter(op, TasoKey::axis, -1))
        for (std::size_t i = 1; i < op.inputs.size(); ++i) sum = call_term("+", {sum, dim(op.inputs[i], axis)});
      return sum;
    }
    case TasoType::split:
      if (axis != parameter(op, TasoKey::axis, -1)) return dim(op.inputs[0], axis);
      return value.output == 0 ? given.cut : call_term("-", {dim(op.inputs[0], axis), given.cut});
    case TasoType::transpose:
      if (static_cast<std::size_t>(axis) >= given.permutation.size()) throw NoTerm{};
      return dim(op.inputs[0], given.permutation[static_cast<std::size_t>(axis)]);
    case TasoType::matmul: {
      const auto known = rank(value);
      if (!known || axis >= *known) throw NoTerm{};
      return dim(op.inputs[axis == *known - 1 ? 1 : 0], axis);
    }
    case TasoType::enlarge: return axis < 2 ? dim(op.inputs[0], axis) : element_for(given.kernel, axis);
    case TasoType::identity_matrix: break;
    case TasoType::identity_kernel:
    case TasoType::pooling_kernel:
      if (given.extent) return axis < 2 ? given.extent : element_for(given.kernel, axis);
      break;
    case TasoType::ones:
      if (given.extent) return call_term("[]", {given.extent, integer_term(axis)});
      break;
  }
  if (!given.extent) throw NoTerm{};
  return given.extent;
}

TermPtr TasoTerms::last_dim(TasoValue value, std::int32_t from_the_end) const {
  if (const auto known = rank(value)) return dim(value, *known - from_the_end);
  if (value.is_input()) {
    const TermPtr input = variable_term(inputs_.at(value));
    return call_term("dim", {input, call_term("-", {call_term("rank", {input}), integer_term(from_the_end)})});
  }
  const TasoOperator& op = this->op(value);
  switch (op.type) {
    case TasoType::relu:
    case TasoType::sigmoid:
    case TasoType::tanh:
    case TasoType::add:
    case TasoType::mul:
    case TasoType::scalar_mul: return last_dim(op.inputs[0], from_the_end);
    case TasoType::matmul: return last_dim(op.inputs[from_the_end == 1 ? 1 : 0], from_the_end);
    case TasoType::identity_matrix: return dim(value, 0);
    default: throw NoTerm{};
  }
}

TermPtr TasoTerms::spatial(TasoValue value) const {
  if (value.is_input()) return call_term("spatial", {variable_term(inputs_.at(value))});
  const TasoOperator& op = this->op(value);
  const TasoAttributes& given = attributes.at(value.op);
  switch (op.type) {
    case TasoType::conv:
    case TasoType::max_pool:
    case TasoType::average_pool: return windows(spatial(op.inputs[0]), given.kernel, given.strides, given.same_padding);
    case TasoType::relu:
    case TasoType::sigmoid:
    case TasoType::tanh:
    case TasoType::add:
    case TasoType::mul:
    case TasoType::scalar_mul: return spatial(op.inputs[0]);
    case TasoType::concat:
    case TasoType::split:
      if (parameter(op, TasoKey::axis, -1) < 2) return spatial(op.inputs[0]);
      break;
    case TasoType::enlarge:
    case TasoType::identity_kernel:
    case TasoType::pooling_kernel: return given.kernel;
    default: break;
  }
  return list_term({dim(value, 2), dim(value, 3)});
}

TermPtr TasoTerms::shape(TasoValue value) const {
  if (value.is_input()) return call_term("shape", {variable_term(inputs_.at(value))});
  const TasoOperator& op = this->op(value);
  switch (op.type) {
    case TasoType::relu:
    case TasoType::sigmoid:
    case TasoType::tanh:
    case TasoType::add:
    case TasoType::mul:
    case TasoType::scalar_mul: return shape(op.inputs[0]);
    default: break;
  }
  const auto known = rank(value);
  if (!known) throw NoTerm{};
  std::vector<TermPtr> dims;
  dims.reserve(static_cast<std::size_t>(*known));
  for (std::int32_t axis = 0; axis < *known; ++axis) dims.push_back(dim(value, axis));
  return list_term(std::move(dims));
}

TermPtr TasoTerms::joint(TasoValue value, std::int32_t axis) const {
  if (value.is_input() || axis < 0) return nullptr;
  const TasoOperator& op = this->op(value);
  const TasoAttributes& given = attributes.at(value.op);
  switch (op.type) {
    case TasoType::concat:
      return parameter(op, TasoKey::axis, -1) == axis ? dim(op.inputs[0], axis) : joint(op.inputs[0], axis);
    case TasoType::conv: return axis == 0 ? joint(op.inputs[0], 0) : axis == 1 ? joint(op.inputs[1], 0) : nullptr;
    case TasoType::max_pool:
    case TasoType::average_pool:
    case TasoType::enlarge: return axis < 2 ? joint(op.inputs[0], axis) : nullptr;
    case TasoType::add:
    case TasoType::mul: {
      TermPtr first = joint(op.inputs[0], axis);
      return first ? first : joint(op.inputs[1], axis);
    }
    case TasoType::transpose:
      return static_cast<std::size_t>(axis) < given.permutation.size()
                 ? joint(op.inputs[0], given.permutation[static_cast<std::size_t>(axis)])
                 : nullptr;
    case TasoType::matmul: {
      const auto known = rank(value);
      return known ? joint(op.inputs[axis == *known - 1 ? 1 : 0], axis) : nullptr;
    }
    default: return op.inputs.empty() ? nullptr : joint(op.inputs[0], axis);
  }
}

std::set<TasoValue> TasoTerms::same_rank(TasoValue value, Pairs pairs) const {
  std::set<TasoValue> seen, inputs;
  std::vector<TasoValue> open{value};
  while (!open.empty()) {
    const TasoValue next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (next.is_input()) {
      inputs.insert(next);
      continue;
    }
    const TasoOperator& op = this->op(next);
    const bool pair = op.type == TasoType::matmul || op.type == TasoType::add || op.type == TasoType::mul;
    if (pair && pairs == Pairs::left_out) continue;
    const std::size_t operands = op.type == TasoType::scalar_mul ? 1 : op.inputs.size();
    open.insert(open.end(), op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(operands));
  }
  return inputs;
}

std::optional<std::int32_t> TasoTerms::rank(TasoValue value) const {
  for (const TasoValue& input : same_rank(value, Pairs::included))
    if (const auto place = ranks.find(input); place != ranks.end()) return place->second;
  return std::nullopt;
}

}  // namespace taso::rules
