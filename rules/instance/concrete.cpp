#include "rules/instance/concrete.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/operators/fit.h"

namespace taso::rules {
namespace {

std::vector<std::size_t> needed(const Instance& instance, const std::vector<InstanceValue>& results) {
  std::vector<bool> wanted(instance.nodes.size(), false);
  for (const auto& [node, output] : results) wanted[node] = true;
  for (std::size_t i = instance.nodes.size(); i-- > 0;)
    if (wanted[i])
      for (const auto& [operand, output] : instance.nodes[i].operands) wanted[operand] = true;
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] && !instance.nodes[i].input) nodes.push_back(i);
  return nodes;
}

std::vector<CompiledDim> compiled(const std::vector<Dim>& dims, const Places& places) {
  std::vector<CompiledDim> result;
  for (const Dim& dim : dims) result.emplace_back(dim, places);
  return result;
}

std::optional<Extents> evaluated(const std::vector<CompiledDim>& dims, const Assignment& assignment) {
  Extents extents;
  for (const CompiledDim& dim : dims) {
    const auto value = dim.evaluate(assignment.unknowns);
    if (!value) return std::nullopt;
    extents.push_back(*value);
  }
  return extents;
}

Misfit ill_formed(bool in_target, const std::string& reason) {
  return {in_target, fmt::format("the {} is not well-formed: {}", in_target ? "target" : "source", reason)};
}

bool is_beyond_limits(const Operator& op) {
  const auto beyond = [](std::int64_t value) { return value > op::greatest_attribute; };
  for (const NamedField& field : fields_of(op)) {
    if (const auto* number = std::get_if<std::int64_t>(&field.value); number && beyond(*number)) return true;
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&field.value);
        list && std::any_of(list->begin(), list->end(), beyond))
      return true;
  }
  return false;
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

Concretizer::Concretizer(const Instance& instance) : instance_(instance) {
  const Places places = places_of(instance);
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    inputs_.push_back(compiled(instance.nodes[i].shapes[0], places));
  for (const InstanceNode& node : instance.nodes) {
    CompiledNode& mine = nodes_.emplace_back();
    if (node.input) continue;
    mine.kind = node.op.kind;
    std::size_t next = 0;
    for (const NamedField& field : fields_of(prototype(node.op.kind))) {
      if (field.name == "type") continue;
      check(next < node.op.fields.size(), "each field has a value");
      mine.fields.emplace_back(
          field.name,
          std::visit(Overloaded{[](bool value) -> CompiledField { return value; },
                                [](std::int64_t value) -> CompiledField { return value; },
                                [&](const Dim& dim) -> CompiledField { return CompiledDim(dim, places); },
                                [&](const RealAttribute& real) -> CompiledField {
                                  if (real.variable.empty()) return real.value;
                                  const auto found = std::find(instance.real_variables.begin(),
                                                               instance.real_variables.end(), real.variable);
                                  check(found != instance.real_variables.end(), "a real variable is in the list");
                                  return static_cast<std::size_t>(found - instance.real_variables.begin());
                                },
                                [](const std::vector<std::int64_t>& list) -> CompiledField { return list; },
                                [&](const std::vector<Dim>& dims) -> CompiledField { return compiled(dims, places); }},
                     node.op.fields[next++]));
    }
  }
  of_source_ = needed(instance, instance.source);
  if (!instance.target.empty()) {
    const auto all = needed(instance, instance.target);
    std::set_difference(all.begin(), all.end(), of_source_.begin(), of_source_.end(), std::back_inserter(of_target_));
  }
}

std::optional<Operator> Concretizer::operator_at(std::size_t node, const Assignment& assignment) const {
  Operator op = prototype(nodes_[node].kind);
  for (const auto& [name, field] : nodes_[node].fields) {
    const auto value =
        std::visit(Overloaded{[](bool flag) -> std::optional<FieldValue> { return flag; },
                              [](std::int64_t number) -> std::optional<FieldValue> { return number; },
                              [](double number) -> std::optional<FieldValue> { return number; },
                              [](const std::vector<std::int64_t>& list) -> std::optional<FieldValue> { return list; },
                              [&](std::size_t real) -> std::optional<FieldValue> { return assignment.reals[real]; },
                              [&](const CompiledDim& dim) -> std::optional<FieldValue> {
                                const auto number = dim.evaluate(assignment.unknowns);
                                if (!number) return std::nullopt;
                                return *number;
                              },
                              [&](const std::vector<CompiledDim>& dims) -> std::optional<FieldValue> {
                                auto list = evaluated(dims, assignment);
                                if (!list) return std::nullopt;
                                return std::move(*list);
                              }},
                   field);
    if (!value) return std::nullopt;
    check(set_field(op, name, *value), "an attribute has the kind that its operator needs");
  }
  return op;
}

std::optional<Extents> Concretizer::input_at(std::size_t input, const Assignment& assignment) const {
  return evaluated(inputs_[input], assignment);
}

std::variant<ConcreteInstance, Misfit> Concretizer::at(const Assignment& assignment) const {
  ConcreteInstance result;
  result.source = instance_.source;
  result.target = instance_.target;
  result.nodes.resize(nodes_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    auto extents = input_at(i, assignment);
    if (!extents || std::any_of(extents->begin(), extents->end(), [](std::int64_t size) { return size < 1; }))
      return Misfit{false, fmt::format("{} has a dimension below 1 or one that overflows", instance_.inputs[i])};
    result.nodes[i].input = i;
    result.nodes[i].shapes = {shape_of(*extents)};
    result.inputs.push_back(std::move(*extents));
  }
  const auto build = [&](const std::vector<std::size_t>& places, bool in_target) -> std::optional<Misfit> {
    for (const std::size_t place : places) {
      ConcreteInstance::Node& node = result.nodes[place];
      node.operands = instance_.nodes[place].operands;
      const std::string_view name = ops::name_of(prototype(nodes_[place].kind));
      auto op = operator_at(place, assignment);
      if (!op) return ill_formed(in_target, fmt::format("{}: an attribute has no value", name));
      // Operators refuse attributes whose products would overflow; rules apply to those that they accept.
      if (is_beyond_limits(*op)) return ill_formed(false, fmt::format("{}: an attribute is too large", name));
      node.op = std::move(*op);
      Shapes operands;
      for (const auto& [operand, output] : node.operands) operands.push_back(result.nodes[operand].shapes[output]);
      try {
        node.shapes = ops::infer(node.op, operands);
        result.work += work_of(node.op, operands).flops;
      } catch (const ShapeError& error) {
        return ill_formed(in_target, error.what());
      }
      for (const Shape& shape : node.shapes) {
        for (const Dim& dim : shape)
          if (dim.value() < 1)
            return ill_formed(in_target, fmt::format("{}: the result {} has no elements", name, ops::text_of(shape)));
        result.work += size_estimate(shape);
      }
    }
    return std::nullopt;
  };
  if (auto misfit = build(of_source_, false)) return *misfit;
  if (instance_.target.empty()) return ill_formed(true, "ranks do not fit, whatever the dimensions are");
  if (auto misfit = build(of_target_, true)) return *misfit;
  if (instance_.source.size() != instance_.target.size())
    return Misfit{true, "the two sides have different numbers of results"};
  for (std::size_t i = 0; i < instance_.source.size(); ++i) {
    const auto shape = [&](InstanceValue value) { return result.nodes[value.first].shapes[value.second]; };
    const Shape source = shape(instance_.source[i]), target = shape(instance_.target[i]);
    if (source != target)
      return Misfit{true, fmt::format("the results have different shapes: {} and {}", ops::text_of(source),
                                      ops::text_of(target))};
  }
  return result;
}

}  // namespace taso::rules
