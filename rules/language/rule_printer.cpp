#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/function_class.h"
#include "rules/language/rule_text.h"
#include "rules/language/signature.h"

namespace taso::rules {
namespace {

constexpr std::size_t widest_line = 120;
// Lines of a deep expression begin no further to the right.
constexpr std::size_t widest_indent = 40;

template <class Range, class Text>
std::string joined(const Range& range, Text text) {
  std::string result;
  for (const auto& element : range) {
    if (!result.empty()) result += ", ";
    result += text(element);
  }
  return result;
}

// The variables that a rule may write as operands, because they also occur elsewhere. Null: none, and no literals.
using Numbers = std::set<std::string>;

std::string text_of(const Pattern& pattern, const Numbers* numbers);

// The number, if the operand is a number beside the other operand: the latter, clipped to it from both sides.
const Term* number_beside(const Pattern& pattern, std::size_t operand) {
  const auto& members = class_named("binary")->members;
  const bool is_binary =
      std::any_of(members.begin(), members.end(), [&](const Signature* member) { return member->name == pattern.op; });
  if (pattern.operands.size() != 2 || (signature_of(pattern.op) && !is_binary)) return nullptr;
  const Pattern& number = *pattern.operands[operand];
  if (number.op != "clip" || number.attributes.size() != 2 || !(*number.operands[0] == *pattern.operands[1 - operand]))
    return nullptr;
  const Term &low = *number.attributes[0].second, &high = *number.attributes[1].second;
  const bool is_number = low.kind == Term::Kind::variable || (low.kind == Term::Kind::real && std::isfinite(low.real));
  return is_number && low == high ? &low : nullptr;
}

// Skips the numbers of operands that are numbers.
void collect_numbers(const std::vector<PatternPtr>& patterns, Numbers& numbers) {
  for (const PatternPtr& pattern : patterns) {
    for (const auto& [name, term] : pattern->attributes)
      if (term->kind == Term::Kind::variable) numbers.insert(term->name);
    std::vector<PatternPtr> others;
    for (std::size_t i = 0; i < pattern->operands.size(); ++i)
      if (!number_beside(*pattern, i)) others.push_back(pattern->operands[i]);
    collect_numbers(others, numbers);
  }
}

std::string operand_text(const Pattern& pattern, std::size_t operand, const Numbers* numbers) {
  const Term* number = numbers ? number_beside(pattern, operand) : nullptr;
  const bool is_known = number && (number->kind != Term::Kind::variable || numbers->contains(number->name));
  return is_known ? rules::text_of(*number) : text_of(*pattern.operands[operand], numbers);
}

std::string without_output(const Pattern& pattern, const Numbers* numbers) {
  if (pattern.is_input()) return pattern.input;
  if (is_number(pattern)) return rules::text_of(*pattern.attributes[0].second);
  std::string text = pattern.op;
  if (!pattern.attributes.empty())
    text +=
        '[' +
        joined(pattern.attributes, [](const auto& a) { return fmt::format("{}={}", a.first, text_of(*a.second)); }) +
        ']';
  if (!pattern.operands.empty())
    text += '(' +
            joined(pattern.operands,
                   [&, i = std::size_t{0}](const auto&) mutable { return operand_text(pattern, i++, numbers); }) +
            ')';
  return text;
}

std::size_t results_of(const Pattern& pattern) {
  if (pattern.is_input()) return 1;
  const Signature* signature = signature_of(pattern.op);
  return signature ? signature->results : 1;
}

// Whether all results of one operator begin here, in their order.
bool all_results_at(const std::vector<PatternPtr>& side, std::size_t place) {
  const std::size_t results = results_of(*side[place]);
  if (results == 1 || place + results > side.size()) return false;
  for (std::size_t i = 0; i < results; ++i) {
    Pattern expected = *side[place];
    expected.output = i;
    if (!(*side[place + i] == expected)) return false;
  }
  return true;
}

std::string text_of(const Pattern& pattern, const Numbers* numbers) {
  if (results_of(pattern) == 1) return without_output(pattern, numbers);
  check(pattern.output < 2, "results beyond the second have no name");
  return fmt::format("{}({})", pattern.output == 0 ? "first" : "second", without_output(pattern, numbers));
}

std::string text_of(const std::vector<PatternPtr>& side, const Numbers* numbers) {
  std::string text;
  for (std::size_t i = 0; i < side.size(); ++i) {
    if (!text.empty()) text += ", ";
    if (all_results_at(side, i)) {
      text += without_output(*side[i], numbers);
      i += results_of(*side[i]) - 1;
    } else {
      text += text_of(*side[i], numbers);
    }
  }
  return text;
}

// A place where a line may be broken: after a comma, before an operator, or before the operands of an operator with
// attributes.
struct Break {
  std::size_t at = 0;     ///< of the space, or of what follows if there is none
  std::size_t depth = 0;  ///< how bad the break is: the deeper in brackets, the worse
  std::size_t width = 1;  ///< of the space
};

std::vector<Break> breaks_of(std::string_view text) {
  std::vector<Break> breaks;
  // Break between operands rather than attributes, and at commas rather than operators.
  constexpr std::size_t in_parentheses = 2, in_brackets = 3;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') {
      depth += in_parentheses;
      if (i > 0 && text[i - 1] == ']') breaks.push_back({i + 1, depth + 1, 0});
    }
    if (text[i] == '[') depth += in_brackets;
    if (text[i] == ')') depth -= in_parentheses;
    if (text[i] == ']') depth -= in_brackets;
    if (text[i] != ' ' || i == 0 || i + 2 >= text.size()) continue;
    if (text[i - 1] == ',')
      breaks.push_back({i, depth});
    else if (text[i + 2] == ' ' || text[i + 2] == '+' || text[i + 2] == '=')
      breaks.push_back({i, depth + 1});
  }
  return breaks;
}

// Breaks text[begin, end) in the outermost brackets that allow it, as rarely as possible there; parts that are still
// too long are broken further inside.
void wrap(std::string_view text, std::span<const Break> breaks, std::size_t begin, std::size_t end, std::size_t column,
          std::size_t indent, std::string& result) {
  std::size_t depth = SIZE_MAX;
  for (const Break& place : breaks) depth = std::min(depth, place.depth);
  if (column + (end - begin) <= widest_line || breaks.empty()) {
    result += text.substr(begin, end - begin);
    return;
  }
  std::vector<Break> cuts;
  std::size_t from = begin, start = column;
  const auto fits = [&](std::size_t to) { return start + (to - from) <= widest_line; };
  Break last{begin, depth, 1};
  for (const Break& place : breaks) {
    if (place.depth != depth) continue;
    if (!fits(place.at) && last.at > from) {
      cuts.push_back(last);
      from = last.at + last.width;
      start = indent;
    }
    last = place;
  }
  if (!fits(end) && last.at > from) cuts.push_back(last);

  from = begin;
  start = column;
  cuts.push_back({end, depth, 1});
  for (const Break& cut : cuts) {
    if (from != begin) {
      result += '\n' + std::string(indent, ' ');
      start = indent;
    }
    const auto first = std::find_if(breaks.begin(), breaks.end(), [&](const Break& b) { return b.at >= from; });
    const auto past = std::find_if(first, breaks.end(), [&](const Break& b) { return b.at >= cut.at; });
    // Further inside, breaks of this depth are no longer considered.
    std::vector<Break> inner;
    std::copy_if(first, past, std::back_inserter(inner), [&](const Break& b) { return b.depth != depth; });
    wrap(text, inner, from, cut.at, start, std::min(indent + 2, widest_indent), result);
    from = cut.at + cut.width;
  }
}

// Adds a line of an item, with its indentation.
void add_lines(std::size_t indent, std::string_view text, std::string& result) {
  result += std::string(indent, ' ');
  wrap(text, breaks_of(text), 0, text.size(), indent, indent + 4, result);
  result += '\n';
}

void add_comments(const std::vector<std::string>& lines, std::string& result) {
  for (const std::string& line : lines) {
    std::size_t begin = 0;
    while (begin <= line.size()) {  // a comment of several lines stays one
      const std::size_t end = std::min(line.find('\n', begin), line.size());
      const std::size_t last = end > begin ? line.find_last_not_of(" \t\r", end - 1) : std::string::npos;
      result += last != std::string::npos && last >= begin ? "# " + line.substr(begin, last + 1 - begin) : "#";
      result += '\n';
      begin = end + 1;
    }
  }
}

}  // namespace

std::string_view text_of(Rule::Kind kind) {
  switch (kind) {
    case Rule::Kind::axiom: return "axiom";
    case Rule::Kind::candidate: return "candidate";
    case Rule::Kind::rule: return "rule";
  }
  fail_check("a rule is an axiom, a candidate or a rule", SourcePlace::current());
}

std::string_view arrow_of(const Rule& rule) {
  if (rule.kind == Rule::Kind::axiom) return "=";
  return rule.both_ways ? "<=>" : "=>";
}

std::string text_of(const Pattern& pattern) { return text_of(pattern, nullptr); }
std::string text_of(const std::vector<PatternPtr>& side) { return text_of(side, nullptr); }

std::string text_of(const Condition& condition) {
  using Relation = Condition::Relation;
  const auto between = [&](std::string_view relation) {
    return fmt::format("{} {} {}", text_of(*condition.left), relation, text_of(*condition.right));
  };
  // People write numbers last: k >= 2, not 2 <= k.
  const auto ordered = [&](std::string_view relation, std::string_view turned) {
    if (condition.left->kind != Term::Kind::integer || condition.right->kind == Term::Kind::integer)
      return between(relation);
    return fmt::format("{} {} {}", text_of(*condition.right), turned, text_of(*condition.left));
  };
  switch (condition.relation) {
    case Relation::equal: return between("=");
    case Relation::not_equal: return between("!=");
    case Relation::at_most: return ordered("<=", ">=");
    case Relation::less: return ordered("<", ">");
    case Relation::divides: return fmt::format("divides({}, {})", text_of(*condition.left), text_of(*condition.right));
    case Relation::even: return fmt::format("parity({}) = even", text_of(*condition.left));
    case Relation::odd: return fmt::format("parity({}) = odd", text_of(*condition.left));
    case Relation::broadcast:
      return fmt::format("broadcast({})", joined(condition.inputs, [](const std::string& name) { return name; }));
  }
  fail_check("a condition has a relation", SourcePlace::current());
}

std::string print(const Rule& rule) {
  std::string result;
  check(is_rule_name(rule.name), "a rule has a name before it is printed");
  add_comments(rule.comments, result);
  result += fmt::format("{} {}", text_of(rule.kind), rule.name);
  if (!rule.functions.empty())
    result += " for " +
              joined(rule.functions, [](const FunctionVariable& f) { return fmt::format("{} in {}", f.name, f.of); });
  result += '\n';
  Numbers numbers;
  collect_numbers(rule.source, numbers);
  collect_numbers(rule.target, numbers);
  const std::string source = text_of(rule.source, &numbers), target = text_of(rule.target, &numbers);
  const std::string_view arrow = arrow_of(rule);
  if (2 + source.size() + 1 + arrow.size() + 1 + target.size() <= widest_line) {
    result += fmt::format("  {} {} {}\n", source, arrow, target);
  } else {
    add_lines(2, source, result);
    add_lines(4, fmt::format("{} {}", arrow, target), result);
  }
  if (!rule.conditions.empty())
    add_lines(2, "where " + joined(rule.conditions, [](const Condition& c) { return text_of(c); }), result);
  if (!rule.by.empty()) add_lines(2, "by " + joined(rule.by, [](const std::string& name) { return name; }), result);
  return result;
}

std::string print(const Definition& definition) {
  std::string result;
  add_comments(definition.comments, result);
  result += "definition " + definition.name;
  if (!definition.fields.empty())
    result +=
        '[' + joined(definition.fields, [](const auto& f) { return fmt::format("{}={}", f.name, f.variable); }) + ']';
  if (!definition.inputs.empty())
    result += '(' + joined(definition.inputs, [](const std::string& name) { return name; }) + ')';
  result += '\n';
  add_lines(2, "= " + text_of(*definition.body, nullptr), result);
  return result;
}

std::string print(const RuleFile& file) {
  const bool defines = std::any_of(file.items.begin(), file.items.end(),
                                   [](const auto& item) { return std::holds_alternative<Definition>(item); });
  const std::string version = defines && file.version == "1" ? "1.1" : file.version;  // definitions are new in 1.1
  std::string result = fmt::format("taso rules {}\n", version);
  for (const auto& item : file.items) {
    const auto* block = std::get_if<CommentBlock>(&item);
    if (block && block->lines.empty()) continue;
    result += '\n';
    if (block)
      add_comments(block->lines, result);
    else if (const auto* definition = std::get_if<Definition>(&item))
      result += print(*definition);
    else
      result += print(std::get<Rule>(item));
  }
  return result;
}

}  // namespace taso::rules
