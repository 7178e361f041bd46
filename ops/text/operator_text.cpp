#include "ops/text/operator_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/text/literal.h"
#include "ops/text/spelling.h"

namespace taso::ops {
namespace {

struct PrintValue {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return text_of_number(value); }
  std::string operator()(const Dim& value) const { return value.text(); }
  std::string operator()(ElementType value) const { return std::string(name_of(value)); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text = "[";
    for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + (*this)(values[i]);
    return text + "]";
  }
};

struct ParseValue {
  Lexer& lexer;
  void operator()(bool& value) const { value = parse_bool(lexer); }
  void operator()(std::int64_t& value) const { value = parse_integer(lexer); }
  void operator()(double& value) const { value = parse_double(lexer); }
  void operator()(Dim& value) const { value = parse_dim(lexer); }
  void operator()(ElementType& value) const { value = parse_element_type(lexer); }
  template <class T>
  void operator()(std::vector<T>& values) const {
    values.clear();
    lexer.expect("[", "before the list");
    if (lexer.accept("]")) return;
    do {
      T value{};
      (*this)(value);
      values.push_back(std::move(value));
    } while (lexer.accept(","));
    lexer.expect("]", "after the list");
  }
};

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const Operator& op : all_operators()) names.emplace_back(name_of(op));
  return names;
}

void parse_field(Lexer& lexer, Operator& op, std::vector<std::string>& given) {
  if (lexer.peek().kind != Token::Kind::name) lexer.fail_expected("the name of a field");
  const Token name = lexer.peek();
  const auto fields = fields_of(op);
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name.text; });
  if (field == fields.end()) {
    std::vector<std::string> names;
    for (const NamedField& f : fields) names.emplace_back(f.name);
    lexer.fail(fmt::format("{} has no field '{}'{}", name_of(op), excerpt(name.text), did_you_mean(name.text, names)));
  }
  if (std::find(given.begin(), given.end(), name.text) != given.end())
    lexer.fail(fmt::format("field '{}' is given twice", name.text));
  given.emplace_back(name.text);
  lexer.next();
  lexer.expect("=", "after the name of a field");
  const FieldValue value = parse_field_value(lexer, field->value);
  if (!lexer.peek().is(",") && !lexer.peek().is("]"))
    lexer.fail_expected(fmt::format("',' or ']' after field '{}', which is {}", name.text, kind_of(field->value)));
  check(set_field(op, name.text, value), "a field takes a value of its kind");
}

}  // namespace

std::string text_of_field(const FieldValue& value) { return std::visit(PrintValue{}, value); }

std::string text_of(const Operator& op) {
  std::string text(name_of(op));
  std::string_view separator = "[";
  for (const NamedField& field : fields_of(op)) {
    text += fmt::format("{}{}={}", separator, field.name, text_of_field(field.value));
    separator = ", ";
  }
  return separator == "[" ? text : text + "]";
}

std::string_view kind_of(const FieldValue& value) {
  struct Visitor {
    std::string_view operator()(bool) const { return "true or false"; }
    std::string_view operator()(std::int64_t) const { return "an integer"; }
    std::string_view operator()(double) const { return "a number"; }
    std::string_view operator()(const Dim&) const { return "a dimension"; }
    std::string_view operator()(ElementType) const { return "an element type"; }
    std::string_view operator()(const std::vector<std::int64_t>&) const { return "a list of integers"; }
    std::string_view operator()(const std::vector<Dim>&) const { return "a list of dimensions"; }
  };
  return std::visit(Visitor{}, value);
}

FieldValue parse_field_value(Lexer& lexer, const FieldValue& sample) {
  FieldValue value = sample;
  std::visit(ParseValue{lexer}, value);
  return value;
}

Operator parse_operator(Lexer& lexer) {
  if (lexer.peek().kind != Token::Kind::name) lexer.fail_expected("an operator");
  const Token name = lexer.peek();
  auto op = operator_named(name.text);
  if (!op)
    lexer.fail(fmt::format("unknown operator '{}'{}", excerpt(name.text), did_you_mean(name.text, operator_names())));
  lexer.next();
  if (lexer.accept("[") && !lexer.accept("]")) {
    std::vector<std::string> given;
    do parse_field(lexer, *op, given);
    while (lexer.accept(","));
    lexer.expect("]", "after the fields");
  }
  return std::move(*op);
}

}  // namespace taso::ops
