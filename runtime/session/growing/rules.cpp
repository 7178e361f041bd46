#include "runtime/session/growing/rules.h"

#include <fmt/format.h>

#include "onnx/import/view.h"
#include "ops/text/characters.h"

namespace taso::runtime::growing {

void Step::refuse(const std::string& why) const {
  const std::string& name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  throw InputError(fmt::format("a past of fixed capacity cannot be derived: {} '{}' {}", on_one_line(node.op_type()),
                               on_one_line(name), why));
}

const Tracked& Step::operand(int index) const {
  if (!has(index)) refuse(fmt::format("has no operand {}", index));
  return all.find(node.input(index));
}

const Shape& Step::shape(int index) const {
  const Tracked& value = operand(index);
  if (!value.fact.type.shape) refuse(fmt::format("has an operand {} of unknown shape", index));
  return *value.fact.type.shape;
}

std::vector<Affine> Step::content(int index) const {
  const Fact& fact = operand(index).fact;
  std::vector<Affine> numbers;
  if (fact.content) {
    for (const Dim& dim : *fact.content) {
      const std::optional<Affine> number = all.affine(dim);
      if (!number) refuse(fmt::format("has an operand {} that is no sum of lengths", index));
      numbers.push_back(*number);
    }
  } else if (fact.constant && is_integer(fact.constant->type())) {
    for (const std::int64_t number : fact.constant->integers()) numbers.push_back({0, number});
  } else {
    refuse(fmt::format("has an operand {} that only a run tells", index));
  }
  return numbers;
}

std::vector<std::int64_t> Step::numbers(int index) const {
  std::vector<std::int64_t> all_numbers;
  for (const Affine& number : content(index)) {
    if (number.slope != 0) refuse(fmt::format("has an operand {} that depends on the length", index));
    all_numbers.push_back(number.offset);
  }
  return all_numbers;
}

std::size_t Step::axis_of(std::int64_t given, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (given < -signed_rank || given >= signed_rank) refuse(fmt::format("has no axis {}", given));
  return static_cast<std::size_t>(given < 0 ? given + signed_rank : given);
}

std::size_t Step::axis(std::int64_t otherwise, int index) const {
  return axis_of(attributes.integer("axis", otherwise), shape(index).size());
}

proto::NodeProto Step::copy() const {
  proto::NodeProto copied = node;
  for (std::string& name : *copied.mutable_input()) name = all.data(name);
  for (const std::string& name : onnx::captured_names(node))
    if (all.data(name) != name) refuse(fmt::format("has a graph that uses '{}'", on_one_line(name)));
  return copied;
}

std::optional<Rows> Step::rows_in(const Shape& shape) const {
  try {
    return all.rows_in(shape);
  } catch (const InputError& error) {
    refuse(fmt::format("has a result of which {}", error.what()));
  }
}

void Step::result(const Shape& shape, const std::string& name, const std::optional<Rows>& rows) {
  Fact fact = facts.at(0);
  fact.type.shape = shape;
  if (rows) all.limit(all.capacity() - rows->more);
  all.set(node.output(0), {std::move(fact), rows, name});
}

void Step::results(const std::optional<Rows>& rows) {
  if (rows) all.limit(all.capacity() - rows->more);
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (const std::string& name = node.output(static_cast<int>(i)); !name.empty())
      all.set(name, {facts[i], rows, name});
}

Rule rule_for(std::string_view operator_type) {
  static const Rules all = [] {
    Rules rules;
    for (const Rules& family : {element_rules(), movement_rules(), cut_rules(), reduction_rules()})
      for (const auto& [name, rule] : family) check(rules.emplace(name, rule).second, "one rule for each operator");
    return rules;
  }();
  const auto found = all.find(operator_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace taso::runtime::growing
