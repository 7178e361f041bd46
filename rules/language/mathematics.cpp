#include "rules/language/mathematics.h"

#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/language/rule_text.h"
#include "rules/language/signature.h"

namespace taso::rules {
namespace {

/// How tightly an expression binds; the operands of a tighter one need parentheses.
enum class Binding { sum, product, power, atom };

struct Expression {
  std::string text;
  Binding binding = Binding::atom;
};

std::string within(const Expression& expression, Binding least) {
  return expression.binding < least ? fmt::format("({})", expression.text) : expression.text;
}

bool is_call(const Term& term, std::string_view name) { return term.kind == Term::Kind::call && term.name == name; }

/// How many axes from the end, for rank(x) - 1 and the like; 0 for any other term.
std::int64_t from_the_end(const Term& term) {
  const bool is_difference = is_call(term, "-") && is_call(*term.operands[0], "rank");
  return is_difference && term.operands[1]->kind == Term::Kind::integer ? term.operands[1]->integer : 0;
}

/// Sizes in short: x.1 is dim(x, 1), as in certificates; the last two are columns(x) and rows(x).
std::string mathematics_of_term(const Term& term) {
  if (is_call(term, "dim")) {
    const Term &of = *term.operands[0], &axis = *term.operands[1];
    if (axis.kind == Term::Kind::integer) return fmt::format("{}.{}", text_of(of), axis.integer);
    if (from_the_end(axis) == 1) return fmt::format("columns({})", text_of(of));
    if (from_the_end(axis) == 2) return fmt::format("rows({})", text_of(of));
  }
  if (term.operands.empty()) return text_of(term);
  Term simple = term;
  for (TermPtr& operand : simple.operands)  // a size is as tight as a variable
    if (is_call(*operand, "dim")) operand = variable_term(mathematics_of_term(*operand));
  return text_of(simple);
}

const Term* attribute_term(const Pattern& pattern, std::string_view name) {
  for (const auto& [given, term] : pattern.attributes)
    if (given == name) return term.get();
  return nullptr;
}

std::string attribute(const Pattern& pattern, std::string_view name) {
  const Term* const term = attribute_term(pattern, name);
  return term == nullptr ? "" : mathematics_of_term(*term);
}

/// The axis of a join or a cut: "rows" and "columns" for the last two of a matrix, however many precede them.
enum class Axis { rows, columns, other };
Axis axis_of(const Pattern& pattern) {
  const Term* const term = attribute_term(pattern, "axis");
  if (term == nullptr) return Axis::rows;
  if (const std::int64_t last = from_the_end(*term); last == 1 || last == 2)
    return last == 1 ? Axis::columns : Axis::rows;
  if (term->kind != Term::Kind::integer || term->integer > 1) return Axis::other;
  return term->integer == 0 ? Axis::rows : Axis::columns;
}

std::string subscript(std::string_view digits) {
  static const std::map<char, std::string_view> low{{'0', "₀"}, {'1', "₁"}, {'2', "₂"}, {'3', "₃"}, {'4', "₄"},
                                                    {'5', "₅"}, {'6', "₆"}, {'7', "₇"}, {'8', "₈"}, {'9', "₉"}};
  std::string text;
  for (const char digit : digits) {
    const auto found = low.find(digit);
    if (found == low.end()) return fmt::format("_{}", digits);
    text += found->second;
  }
  return text;
}

/// Brief: without parentheses that mean nothing, and a part of a split like a slice. Some rules are about just that.
enum class Style { brief, precise };

Expression expression_of(const Pattern& pattern, Style style);

std::vector<Expression> operands_of(const Pattern& pattern, Style style) {
  std::vector<Expression> operands;
  for (const PatternPtr& operand : pattern.operands) operands.push_back(expression_of(*operand, style));
  return operands;
}

/// name(operands; attributes)
Expression call(const Pattern& pattern, const std::vector<Expression>& operands) {
  std::vector<std::string> texts;
  for (const Expression& operand : operands) texts.push_back(operand.text);
  std::string text = fmt::format("{}", fmt::join(texts, ", "));
  std::vector<std::string> attributes;
  for (const auto& [name, term] : pattern.attributes)
    attributes.push_back(fmt::format("{} {}", name, mathematics_of_term(*term)));
  if (!attributes.empty()) text += fmt::format("{}{}", text.empty() ? "" : "; ", fmt::join(attributes, ", "));
  return {fmt::format("{}({})", pattern.op, text)};
}

Expression infix(const Pattern& pattern, std::string_view sign, Binding binding, bool is_associative, Style style) {
  const std::vector<Expression> operands = operands_of(pattern, style);
  const auto tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  const Binding left = style == Style::precise ? tighter : binding;
  const Binding right = is_associative && style == Style::brief ? binding : tighter;
  return {fmt::format("{}{}{}", within(operands[0], left), sign, within(operands[1], right)), binding};
}

Expression joined(const Pattern& pattern, Style style) {
  std::vector<std::string> parts;
  for (const Expression& operand : operands_of(pattern, style)) parts.push_back(operand.text);
  switch (axis_of(pattern)) {
    case Axis::rows: return {fmt::format("[{}]", fmt::join(parts, " ; "))};
    case Axis::columns: return {fmt::format("[{}]", fmt::join(parts, " | "))};
    case Axis::other: break;
  }
  return {fmt::format("[{}]{}", fmt::join(parts, ", "), subscript(attribute(pattern, "axis")))};
}

/// The part of a tensor from `begin` to `end` along an axis: rows x[b:e], columns x[:, b:e].
Expression part(const Pattern& pattern, const std::string& whole, const std::string& begin, const std::string& end) {
  const std::string range = fmt::format("{}:{}", begin == "0" ? "" : begin, end);
  switch (axis_of(pattern)) {
    case Axis::rows: return {fmt::format("{}[{}]", whole, range)};
    case Axis::columns: return {fmt::format("{}[:, {}]", whole, range)};
    case Axis::other: break;
  }
  return {fmt::format("{}[{}]{}", whole, range, subscript(attribute(pattern, "axis")))};
}

Expression expression_of(const Pattern& pattern, Style style) {
  if (pattern.is_input()) return {pattern.input};
  const std::string& op = pattern.op;
  const bool is_pair = pattern.operands.size() == 2;
  if (op == "add" && is_pair) return infix(pattern, " + ", Binding::sum, true, style);
  if (op == "sub" && is_pair) return infix(pattern, " − ", Binding::sum, false, style);
  if (op == "mul" && is_pair) return infix(pattern, " ⊙ ", Binding::product, true, style);
  if (op == "scalar_mul" && is_pair) return infix(pattern, " ", Binding::product, true, style);
  if (op == "div" && is_pair) return infix(pattern, " ⁄ ", Binding::product, false, style);
  if (op == "matmul" && is_pair) return infix(pattern, "·", Binding::product, false, style);
  if (op == "concat") return joined(pattern, style);
  const std::vector<Expression> operands = operands_of(pattern, style);
  if (operands.size() == 1) {
    const std::string tight = within(operands[0], Binding::atom);
    if (op == "neg") return {fmt::format("−{}", tight), Binding::power};
    if (op == "sqrt") return {fmt::format("√{}", tight), Binding::power};
    if (op == "sigmoid") return {fmt::format("σ({})", operands[0].text)};
    if (op == "transpose") {
      const std::string permutation = attribute(pattern, "permutation");
      if (permutation == "[1, 0]") return {fmt::format("{}ᵀ", tight), Binding::power};
    }
    if (op == "slice") return part(pattern, tight, attribute(pattern, "begin"), attribute(pattern, "end"));
    if (op == "split") {
      const std::string at = attribute(pattern, "at");
      if (style == Style::precise)
        return {fmt::format("{} part of {} cut at {}", pattern.output == 0 ? "first" : "second", tight, at),
                Binding::sum};
      return pattern.output == 0 ? part(pattern, tight, "0", at) : part(pattern, tight, at, "");
    }
    if (op == "reshape") return {fmt::format("reshape({} to {})", operands[0].text, attribute(pattern, "shape"))};
  }
  return call(pattern, operands);
}

/// Whether two patterns are the two results of one split.
bool are_both_parts(const Pattern& first, const Pattern& second) {
  if (first.op != "split" || first.output != 0) return false;
  Pattern expected = first;
  expected.output = 1;
  return expected == second;
}

std::string text_of_side(const std::vector<PatternPtr>& side, Style style) {
  std::vector<std::string> results;
  for (std::size_t i = 0; i < side.size(); ++i) {
    if (i + 1 < side.size() && are_both_parts(*side[i], *side[i + 1])) {
      const Axis axis = axis_of(*side[i]);
      const std::string along = axis == Axis::other ? fmt::format(" along axis {}", attribute(*side[i], "axis")) : "";
      const std::string_view into = axis == Axis::columns ? " between columns"
                                    : axis == Axis::rows  ? " between rows"
                                                          : "";
      results.push_back(fmt::format("{} cut{}{} at {}", expression_of(*side[i]->operands[0], style).text, into, along,
                                    attribute(*side[i], "at")));
      ++i;
    } else {
      results.push_back(expression_of(*side[i], style).text);
    }
  }
  return fmt::format("{}", fmt::join(results, ",  "));
}

}  // namespace

std::string mathematics_of(const Pattern& pattern) { return expression_of(pattern, Style::brief).text; }

WrittenSides mathematics_of(const Rule& rule) {
  WrittenSides sides{text_of_side(rule.source, Style::brief), text_of_side(rule.target, Style::brief)};
  if (sides.source == sides.target)
    sides = {text_of_side(rule.source, Style::precise), text_of_side(rule.target, Style::precise)};
  return sides;
}

std::string mathematics_of(const Condition& condition) {
  const std::string left = condition.left ? mathematics_of_term(*condition.left) : "";
  const std::string right = condition.right ? mathematics_of_term(*condition.right) : "";
  switch (condition.relation) {
    case Condition::Relation::equal: return fmt::format("{} = {}", left, right);
    case Condition::Relation::not_equal: return fmt::format("{} ≠ {}", left, right);
    case Condition::Relation::at_most: return fmt::format("{} ≤ {}", left, right);
    case Condition::Relation::less: return fmt::format("{} < {}", left, right);
    case Condition::Relation::divides: return fmt::format("{} divides {}", left, right);
    case Condition::Relation::even: return fmt::format("{} is even", left);
    case Condition::Relation::odd: return fmt::format("{} is odd", left);
    case Condition::Relation::broadcast: return fmt::format("{} broadcast together", fmt::join(condition.inputs, ", "));
  }
  return "";
}

}  // namespace taso::rules
