#include "ops/graph/operator.h"

#include <fmt/format.h>

namespace taso::ops {
namespace {

template <std::size_t I = 0>
void for_each_type(auto&& visit) {
  if constexpr (I < std::variant_size_v<AnyOperator>) {
    visit(std::variant_alternative_t<I, AnyOperator>{});
    for_each_type<I + 1>(visit);
  }
}

std::size_t combine(std::size_t seed, std::size_t value) {
  std::size_t mixed = seed * 0x9e3779b97f4a7c15u + value + 1;
  mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
  return mixed ^ (mixed >> 32);
}

std::size_t hash_field(const Dim& dim) { return dim.hash(); }
std::size_t hash_field(ElementType type) { return static_cast<std::size_t>(type); }
template <class T>
requires std::is_arithmetic_v<T> std::size_t hash_field(T value) { return std::hash<T>{}(value); }
template <class T>
std::size_t hash_field(const std::vector<T>& values) {
  std::size_t hash = values.size();
  for (const T& value : values) hash = combine(hash, hash_field(value));
  return hash;
}

bool assign(std::int64_t& field, const FieldValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return field = *integer, true;
  return false;
}
bool assign(double& field, const FieldValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return field = static_cast<double>(*integer), true;
  if (const auto* number = std::get_if<double>(&value)) return field = *number, true;
  return false;
}
bool assign(bool& field, const FieldValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return field = *truth, true;
  return false;
}
bool assign(Dim& field, const FieldValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return field = Dim(*integer), true;
  if (const auto* dim = std::get_if<Dim>(&value)) return field = *dim, true;
  return false;
}
bool assign(ElementType& field, const FieldValue& value) {
  if (const auto* type = std::get_if<ElementType>(&value)) return field = *type, true;
  return false;
}
bool assign(std::vector<std::int64_t>& field, const FieldValue& value) {
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return field = *list, true;
  return false;
}
bool assign(std::vector<Dim>& field, const FieldValue& value) {
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    return field.assign(list->begin(), list->end()), true;
  if (const auto* list = std::get_if<std::vector<Dim>>(&value)) return field = *list, true;
  return false;
}

void check_arity(const Operator& op, std::size_t inputs) {
  if (inputs < min_inputs(op) || inputs > max_inputs(op))
    throw ShapeError(fmt::format("{} takes {} operand{}, not {}", name_of(op), min_inputs(op),
                                 min_inputs(op) == 1 ? "" : "s", inputs));
}

}  // namespace

Operator::Operator() = default;
Operator::Operator(const Operator& other) = default;
Operator::Operator(Operator&& other) noexcept = default;
Operator& Operator::operator=(const Operator& other) = default;
Operator& Operator::operator=(Operator&& other) noexcept = default;
Operator::~Operator() = default;

bool operator==(const Operator& a, const Operator& b) {
  return static_cast<const AnyOperator&>(a) == static_cast<const AnyOperator&>(b);
}

std::string_view name_of(const Operator& op) {
  return std::visit([](const auto& o) { return o.name; }, op);
}
std::size_t min_inputs(const Operator& op) {
  return std::visit([](const auto& o) { return o.min_inputs; }, op);
}
std::size_t max_inputs(const Operator& op) {
  return std::visit([](const auto& o) { return o.max_inputs; }, op);
}
Traits traits_of(const Operator& op) {
  return std::visit([]<class Op>(const Op&) { return Op::traits; }, op);
}
KernelRole role_of(const Operator& op) {
  return std::visit(
      []<class Op>(const Op&) {
        if constexpr (requires { Op::role; })
          return Op::role;
        else {
          static_assert(Op::traits.has(Trait::element_wise), "an operator that is not element-wise says its role");
          return KernelRole::element_wise;
        }
      },
      op);
}
std::optional<OnnxForm> onnx_form_of(const Operator& op) {
  return std::visit(
      []<class Op>(const Op&) -> std::optional<OnnxForm> {
        if constexpr (requires { Op::onnx; }) return Op::onnx;
        return std::nullopt;
      },
      op);
}
std::size_t outputs_of(const Operator& op) {
  return std::visit(
      [](const auto& o) -> std::size_t {
        if constexpr (requires { o.outputs; })
          return o.outputs;
        else
          return 1;
      },
      op);
}

std::vector<Operator> all_operators() {
  std::vector<Operator> all;
  for_each_type([&](const auto& o) { all.emplace_back(o); });
  return all;
}

std::optional<Operator> operator_named(std::string_view name) {
  for (const Operator& op : all_operators())
    if (name_of(op) == name) return op;
  return std::nullopt;
}

std::vector<NamedField> fields_of(const Operator& op) {
  std::vector<NamedField> result;
  std::visit(
      [&](const auto& o) {
        o.fields(o, [&](std::string_view name, const auto& value) { result.push_back({name, FieldValue(value)}); });
      },
      op);
  return result;
}

bool set_field(Operator& op, std::string_view name, const FieldValue& value) {
  bool done = false;
  std::visit(
      [&](auto& o) {
        o.fields(o, [&](std::string_view field_name, auto& field) {
          if (field_name == name) done = assign(field, value);
        });
      },
      op);
  return done;
}

std::size_t hash_of(const Operator& op) {
  std::size_t hash = op.index();
  std::visit(
      [&](const auto& o) {
        o.fields(o, [&](std::string_view, const auto& value) { hash = combine(hash, hash_field(value)); });
      },
      op);
  return hash;
}

Shapes infer(const Operator& op, std::span<const Shape> inputs) {
  check_arity(op, inputs.size());
  return std::visit(
      [&](const auto& o) -> Shapes {
        if constexpr (requires { o.outputs; })
          return op::inferred(o, inputs);
        else
          return {op::inferred(o, inputs)};
      },
      op);
}

Work work_of(const Operator& op, std::span<const Shape> inputs) {
  check_arity(op, inputs.size());
  return std::visit([&](const auto& o) { return o.work(inputs); }, op);
}

}  // namespace taso::ops
