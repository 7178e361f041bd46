#include "rules/instance/symbolic_operator.h"

#include <fmt/format.h>

#include "ops/text/literal.h"

namespace taso::rules {
namespace {

std::optional<SymbolicField> sample_of(const NamedField& field) {
  struct Visitor {
    std::string_view name;
    std::optional<SymbolicField> operator()(bool value) const { return value; }
    std::optional<SymbolicField> operator()(std::int64_t value) const {
      return name == "axis" ? SymbolicField(value) : SymbolicField(Dim(value));
    }
    std::optional<SymbolicField> operator()(double value) const { return RealAttribute{{}, value}; }
    std::optional<SymbolicField> operator()(const Dim& value) const { return value; }
    std::optional<SymbolicField> operator()(ElementType) const { return std::nullopt; }
    std::optional<SymbolicField> operator()(const std::vector<std::int64_t>& value) const {
      if (name == "axes" || name == "permutation") return value;
      return std::vector<Dim>(value.begin(), value.end());
    }
    std::optional<SymbolicField> operator()(const std::vector<Dim>& value) const { return value; }
  };
  return std::visit(Visitor{field.name}, field.value);
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
      for (const NamedField& field : fields_of(op))
        if (auto sample = sample_of(field)) entry.fields.push_back({field.name, std::move(*sample)});
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
