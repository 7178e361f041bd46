#include "rules/instance/symbolic_operator.h"

#include <fmt/format.h>

#include "ops/text/literal.h"

namespace taso::rules {
namespace {

template <class Field>
SymbolicField sample_of(const Field& field) {
  if constexpr (std::is_same_v<Field, double>)
    return RealAttribute{{}, field};
  else
    return field;
}

struct Entry {
  Operator op;
  std::vector<SymbolicFieldName> fields;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> result;
    for (const Operator& op : all_operators()) {
      Entry entry{op, {}};
      std::visit(
          [&]<class Op>(const Op&) {
            const op::WithUnknowns<Op> sample;
            sample.fields(sample, [&]<class Field>(std::string_view name, const Field& field) {
              if constexpr (!std::is_same_v<Field, ElementType>) entry.fields.push_back({name, sample_of(field)});
            });
          },
          op);
      result.push_back(std::move(entry));
    }
    return result;
  }();
  return all;
}

std::string list_text(const auto& list, auto&& text) {
  std::string result = "[";
  for (std::size_t i = 0; i < list.size(); ++i) result += (i ? ", " : "") + text(list[i]);
  return result + "]";
}

struct FieldText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const Dim& value) const { return value.text(); }
  std::string operator()(const RealAttribute& value) const {
    return value.variable.empty() ? text_of_number(value.value) : value.variable;
  }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return list_text(value, [](std::int64_t v) { return std::to_string(v); });
  }
  std::string operator()(const std::vector<Dim>& value) const {
    return list_text(value, [](const Dim& v) { return v.text(); });
  }
};

}  // namespace

std::string text_of(const Requirement& requirement) {
  const std::string left = requirement.left.text(), right = requirement.right.text();
  switch (requirement.kind) {
    case Requirement::Kind::equal: return fmt::format("{} = {}", left, right);
    case Requirement::Kind::not_equal: return fmt::format("{} != {}", left, right);
    case Requirement::Kind::at_least: return fmt::format("{} >= {}", left, right);
    case Requirement::Kind::divides: return fmt::format("divides({}, {})", left, right);
  }
  return {};
}

bool holds(const Requirement& requirement, const std::function<std::int64_t(std::string_view)>& binding) {
  try {
    const std::int64_t left = requirement.left.evaluate(binding), right = requirement.right.evaluate(binding);
    switch (requirement.kind) {
      case Requirement::Kind::equal: return left == right;
      case Requirement::Kind::not_equal: return left != right;
      case Requirement::Kind::at_least: return left >= right;
      case Requirement::Kind::divides: return left > 0 && right % left == 0;
    }
  } catch (const ShapeError&) {
    return false;
  }
  return false;
}

const Operator& prototype(std::size_t kind) { return entries().at(kind).op; }

std::optional<std::size_t> kind_named(std::string_view name) {
  for (std::size_t i = 0; i < entries().size(); ++i)
    if (ops::name_of(entries()[i].op) == name) return i;
  return std::nullopt;
}

const std::vector<SymbolicFieldName>& symbolic_fields(std::size_t kind) { return entries().at(kind).fields; }

const SymbolicField& field(const SymbolicOperator& op, std::string_view name) {
  const auto& names = symbolic_fields(op.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].name == name) return op.fields.at(i);
  check(false, "an operator has the requested field");
  return op.fields.front();
}

std::string text_of(const SymbolicOperator& op) {
  std::string text(ops::name_of(prototype(op.kind)));
  const auto& names = symbolic_fields(op.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}={}", i ? ", " : "[", names[i].name, std::visit(FieldText{}, op.fields[i]));
  return names.empty() ? text : text + "]";
}

}  // namespace taso::rules
