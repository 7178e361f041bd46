#include "generator/selection/abstraction.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rules/language/signature.h"

namespace taso::generator {
namespace {

using rules::Condition;
using rules::Pattern;
using rules::PatternPtr;
using rules::Rule;
using rules::TermPtr;
using Names = std::set<std::string_view>;

const Names functions = [] {
  Names names;
  for (const rules::Signature& signature : rules::signatures())
    if (rules::is_function(signature.name, 1)) names.insert(signature.name);
  return names;
}();
const Names arithmetic{"add", "sub", "mul"};
const Names with_axis{"concat", "split", "slice"};

Names joined(Names a, const Names& b) {
  a.insert(b.begin(), b.end());
  return a;
}

void visit(const Pattern& pattern, const std::function<void(const Pattern&)>& look) {
  if (pattern.is_input()) return;
  look(pattern);
  for (const PatternPtr& operand : pattern.operands) visit(*operand, look);
}
void visit(const Rule& rule, const std::function<void(const Pattern&)>& look) {
  for (const auto* side : {&rule.source, &rule.target})
    for (const PatternPtr& pattern : *side) visit(*pattern, look);
}

bool has_only(const Rule& rule, const Names& names) {
  bool all = true;
  visit(rule, [&](const Pattern& pattern) { all = all && names.contains(pattern.op); });
  return all;
}
bool has(const Rule& rule, std::string_view op) {
  bool is_there = false;
  visit(rule, [&](const Pattern& pattern) { is_there = is_there || pattern.op == op; });
  return is_there;
}

TermPtr attribute(const Pattern& pattern, std::string_view name) {
  for (const auto& [field, term] : pattern.attributes)
    if (field == name) return term;
  return nullptr;
}
void set_attribute(Pattern& pattern, const std::string& name, TermPtr term) {
  for (auto& [field, old] : pattern.attributes)
    if (field == name) {
      old = std::move(term);
      return;
    }
  // Operators that have an axis have it as their first attribute.
  pattern.attributes.emplace(pattern.attributes.begin(), name, std::move(term));
}

/// Nothing if it is not a number; an omitted axis is 0.
std::optional<std::int64_t> axis_of(const Pattern& pattern) {
  const TermPtr axis = attribute(pattern, "axis");
  if (!axis) return 0;
  if (axis->kind != rules::Term::Kind::integer) return std::nullopt;
  return axis->integer;
}

/// All axes, if all are numbers; otherwise nothing.
std::optional<std::set<std::int64_t>> axes_of(const Rule& rule) {
  std::set<std::int64_t> axes;
  bool are_numbers = true;
  visit(rule, [&](const Pattern& pattern) {
    if (!with_axis.contains(pattern.op)) return;
    const auto axis = axis_of(pattern);
    if (axis) axes.insert(*axis);
    are_numbers = are_numbers && axis;
  });
  return are_numbers ? std::optional(axes) : std::nullopt;
}

using ChangeTerm = std::function<TermPtr(const TermPtr&)>;  ///< operands are changed already

TermPtr changed(const TermPtr& term, const ChangeTerm& change) {
  if (!term) return term;
  auto copy = std::make_shared<rules::Term>(*term);
  for (TermPtr& operand : copy->operands) operand = changed(operand, change);
  return change(copy);
}
PatternPtr changed(const PatternPtr& pattern, const std::function<void(Pattern&)>& change) {
  if (pattern->is_input()) return pattern;
  auto copy = std::make_shared<Pattern>(*pattern);
  for (PatternPtr& operand : copy->operands) operand = changed(operand, change);
  change(*copy);
  return copy;
}
Rule changed(const Rule& rule, const std::function<void(Pattern&)>& change) {
  Rule result = rule;
  for (auto* side : {&result.source, &result.target})
    for (PatternPtr& pattern : *side) pattern = changed(pattern, change);
  result.by.clear();
  result.kind = Rule::Kind::candidate;
  return result;
}
void change_terms(Rule& rule, const ChangeTerm& change) {
  rule = changed(rule, [&](Pattern& pattern) {
    for (auto& [field, term] : pattern.attributes) term = changed(term, change);
  });
  for (Condition& condition : rule.conditions) {
    condition.left = changed(condition.left, change);
    condition.right = changed(condition.right, change);
  }
}

bool is_call(const rules::Term& term, std::string_view name) {
  return term.kind == rules::Term::Kind::call && term.name == name;
}
/// The input and the axis of a term such as dim(x, 1).
std::optional<std::pair<std::string, std::int64_t>> dimension(const rules::Term& term) {
  if (!is_call(term, "dim") || term.operands[1]->kind != rules::Term::Kind::integer) return std::nullopt;
  return std::pair(term.operands[0]->name, term.operands[1]->integer);
}
bool mentions(const TermPtr& term, std::string_view function) {
  return term &&
         (is_call(*term, function) || std::any_of(term->operands.begin(), term->operands.end(),
                                                  [&](const TermPtr& operand) { return mentions(operand, function); }));
}
bool mentions(const Condition& condition, std::string_view function) {
  return mentions(condition.left, function) || mentions(condition.right, function);
}

void forget(Rule& rule, const Names& functions_in_conditions) {
  std::erase_if(rule.conditions, [&](const Condition& condition) {
    return std::any_of(functions_in_conditions.begin(), functions_in_conditions.end(),
                       [&](std::string_view function) { return mentions(condition, function); });
  });
}
void demand(Rule& rule, Condition::Relation relation, TermPtr left, TermPtr right) {
  rule.conditions.push_back({relation, std::move(left), std::move(right), {}});
}
/// Demands that all inputs have the same shape, or the same rank.
void demand_one(Rule& rule, const std::string& function) {
  const auto inputs = rule.inputs();
  for (std::size_t i = 1; i < inputs.size(); ++i)
    demand(rule, Condition::Relation::equal, rules::call_term(function, {rules::variable_term(inputs[0])}),
           rules::call_term(function, {rules::variable_term(inputs[i])}));
}

TermPtr element(const TermPtr& list, const TermPtr& place) { return rules::call_term("[]", {list, place}); }

/// Replaces numbers by variables wherever they mean these axes; nothing if the rule mentions another dimension.
std::optional<Rule> with_axes(const Rule& rule, const std::map<std::int64_t, TermPtr>& names) {
  Rule result = rule;
  forget(result, {"rank"});
  if (std::any_of(result.conditions.begin(), result.conditions.end(), [](const Condition& condition) {
        return mentions(condition, "shape") || mentions(condition, "spatial");
      }))
    return std::nullopt;
  result = changed(result, [&](Pattern& pattern) {
    if (with_axis.contains(pattern.op)) set_attribute(pattern, "axis", names.at(*axis_of(pattern)));
  });
  bool is_other = false;
  change_terms(result, [&](const TermPtr& term) -> TermPtr {
    const auto found = dimension(*term);
    if (!found) return term;
    const auto name = names.find(found->second);
    is_other = is_other || name == names.end();
    return is_other ? term : rules::call_term("dim", {term->operands[0], name->second});
  });
  return is_other ? std::nullopt : std::optional(result);
}

/// Generalises two axes to any two.
std::optional<Rule> with_two_axes(const Rule& rule) {
  static const Names known = joined(joined(functions, arithmetic), with_axis);
  const auto axes = axes_of(rule);
  if (!has_only(rule, known) || !axes || axes->size() != 2) return std::nullopt;
  const TermPtr first = rules::variable_term("axis_1"), second = rules::variable_term("axis_2");
  auto result = with_axes(rule, {{*axes->begin(), first}, {*axes->rbegin(), second}});
  if (result) demand(*result, Condition::Relation::not_equal, first, second);
  return result;
}

/// Generalises slices along one axis to any bounds.
std::vector<Rule> with_any_slices(const Rule& rule) {
  std::set<std::string> axes;
  visit(rule, [&](const Pattern& pattern) {
    if (pattern.op != "slice") return;
    const TermPtr axis = attribute(pattern, "axis");
    axes.insert(axis ? rules::text_of(*axis) : "0");
  });
  if (axes.size() != 1 || has(rule, "pad") || has(rule, "split")) return {};
  Rule result = changed(rule, [&](Pattern& pattern) {
    if (pattern.op != "slice") return;
    set_attribute(pattern, "begin", rules::variable_term("begin_"));
    set_attribute(pattern, "end", rules::variable_term("end_"));
  });
  if (const auto apart = with_two_axes(result)) result = *apart;
  Rule alike = result;
  demand_one(alike, "shape");
  return {result, alike};
}

/// Generalises a padding to any, if it leaves the joined axis alone.
std::optional<Rule> with_any_padding(const Rule& rule) {
  static const Names known = joined(joined(functions, arithmetic), {"pad", "concat", "scalar_mul"});
  std::set<std::string> paddings;
  visit(rule, [&](const Pattern& pattern) {
    if (pattern.op == "pad")
      paddings.insert(rules::text_of(*attribute(pattern, "before")) + rules::text_of(*attribute(pattern, "after")));
  });
  const auto axes = axes_of(rule);
  if (!has_only(rule, known) || paddings.size() != 1 || !axes || axes->size() > 1) return std::nullopt;
  const TermPtr before = rules::variable_term("before_"), after = rules::variable_term("after_"),
                axis = rules::variable_term("axis_1");
  std::optional<Rule> result = rule;
  if (!axes->empty()) result = with_axes(rule, {{*axes->begin(), axis}});
  if (!result) return std::nullopt;
  result = changed(*result, [&](Pattern& pattern) {
    if (pattern.op != "pad") return;
    set_attribute(pattern, "before", before);
    set_attribute(pattern, "after", after);
  });
  if (axes->empty()) return result;
  for (const TermPtr& list : {before, after})
    demand(*result, Condition::Relation::equal, element(list, axis), rules::integer_term(0));
  return result;
}

/// Generalises one permutation of what is joined or cut to any. The axis is named where it occurs first.
std::vector<Rule> with_moved_axis(const Rule& rule) {
  static const Names known{"transpose", "concat", "split"};
  std::set<std::string> permutations;
  visit(rule, [&](const Pattern& pattern) {
    if (pattern.op == "transpose") permutations.insert(rules::text_of(*attribute(pattern, "permutation")));
  });
  if (!has_only(rule, known) || permutations.size() != 1) return {};
  const auto speaks_of_dimensions = [&] {
    bool speaks = false;
    visit(rule, [&](const Pattern& pattern) {
      for (const auto& [field, term] : pattern.attributes) speaks = speaks || mentions(term, "dim");
    });
    return speaks;
  };
  if (speaks_of_dimensions()) return {};
  const TermPtr permutation = rules::variable_term("permutation_"), axis = rules::variable_term("axis_1");
  const auto form = [&](const TermPtr& inside, const TermPtr& outside) {
    const std::function<PatternPtr(const PatternPtr&, bool)> moved = [&](const PatternPtr& pattern, bool is_inside) {
      if (pattern->is_input()) return pattern;
      auto copy = std::make_shared<Pattern>(*pattern);
      if (copy->op == "transpose")
        set_attribute(*copy, "permutation", permutation);
      else
        set_attribute(*copy, "axis", is_inside ? inside : outside);
      for (PatternPtr& operand : copy->operands) operand = moved(operand, is_inside || copy->op == "transpose");
      return PatternPtr(copy);
    };
    Rule result = rule;
    result.by.clear();
    result.kind = Rule::Kind::candidate;
    result.conditions.clear();
    for (auto* side : {&result.source, &result.target})
      for (PatternPtr& pattern : *side) pattern = moved(pattern, false);
    return result;
  };
  return {form(axis, rules::call_term("position", {permutation, axis})), form(element(permutation, axis), axis)};
}

/// Lets the operands of element-wise sums and products broadcast.
std::optional<Rule> with_broadcasting(const Rule& rule) {
  Rule result = changed(rule, [](Pattern&) {});
  forget(result, {"shape", "rank", "dim"});
  const auto inputs = rule.inputs();
  if (!has_only(rule, arithmetic) || !result.conditions.empty() || inputs.size() < 2) return std::nullopt;
  result.conditions.push_back({Condition::Relation::broadcast, nullptr, nullptr, inputs});
  return result;
}

/// Pools treat images and channels separately, so either may be joined.
std::optional<Rule> with_images_or_channels(const Rule& rule) {
  static const Names known = joined(functions, {"average_pool", "max_pool", "concat"});
  const auto axes = axes_of(rule);
  if (!has_only(rule, known) || !axes || axes->size() != 1 || *axes->begin() > 1) return std::nullopt;
  for (const Condition& condition : rule.conditions)
    if (mentions(condition, "dim")) return std::nullopt;
  const TermPtr axis = rules::variable_term("axis_1");
  Rule result = changed(rule, [&](Pattern& pattern) {
    if (pattern.op == "concat") set_attribute(pattern, "axis", axis);
  });
  demand(result, Condition::Relation::at_most, axis, rules::integer_term(1));
  return result;
}

/// Element-wise functions work in any shape.
std::vector<Rule> with_any_shape(const Rule& rule) {
  static const Names known = joined(joined(functions, arithmetic), {"reshape", "scalar_mul"});
  if (!has(rule, "reshape") || !has_only(rule, known)) return {};
  const Pattern &outer = *rule.source[0], &target = *rule.target[0];
  const bool leads_back = outer.op == "reshape" && target.is_input() && outer.operands[0]->op == "reshape" &&
                          outer.operands[0]->operands[0]->is_input();
  Rule result = changed(rule, [&](Pattern& pattern) {
    if (pattern.op != "reshape") return;
    const bool is_outer = leads_back && !pattern.operands[0]->is_input();
    set_attribute(
        pattern, "shape",
        is_outer ? rules::call_term("shape", {rules::variable_term(target.input)}) : rules::variable_term("shape_"));
  });
  result.conditions.clear();
  Rule alike = result;
  if (!has(rule, "scalar_mul")) demand_one(alike, "shape");
  return {result, alike};
}

std::map<std::string, std::int64_t> stated_ranks(const Rule& rule) {
  std::map<std::string, std::int64_t> ranks;
  for (const Condition& condition : rule.conditions)
    for (const auto& [term, value] : {std::pair(condition.left, condition.right), {condition.right, condition.left}})
      if (term && value && is_call(*term, "rank") && value->kind == rules::Term::Kind::integer)
        ranks[term->operands[0]->name] = value->integer;
  return ranks;
}

/// Counts rows and columns of factors from the end, in rules found at rank 2 or 3.
std::vector<Rule> with_factors_of_any_rank(const Rule& rule, std::int64_t rank) {
  static const Names known = joined(arithmetic, {"matmul", "concat", "split"});
  const auto axes = axes_of(rule);
  if (!has(rule, "matmul") || !has_only(rule, known) || !axes || axes->empty()) return {};
  const auto ranks = stated_ranks(rule);
  bool is_clear = true;
  const auto from_the_end = [&](const std::string& input, std::int64_t axis) {
    const auto stated = ranks.find(input);
    const std::int64_t back = (stated == ranks.end() ? rank : stated->second) - axis;
    is_clear = is_clear && (back == 1 || back == 2);  // along earlier axes, products are independent
    return rules::call_term("-", {rules::call_term("rank", {rules::variable_term(input)}), rules::integer_term(back)});
  };
  const std::function<const std::string&(const Pattern&)> first_input =
      [&](const Pattern& pattern) -> const std::string& {
    return pattern.is_input() ? pattern.input : first_input(*pattern.operands[0]);
  };
  Rule result = changed(rule, [&](Pattern& pattern) {
    if (with_axis.contains(pattern.op))
      set_attribute(pattern, "axis", from_the_end(first_input(*pattern.operands[0]), *axis_of(pattern)));
  });
  forget(result, {"rank"});
  change_terms(result, [&](const TermPtr& term) -> TermPtr {
    const auto found = dimension(*term);
    if (!found) return term;
    return rules::call_term("dim", {term->operands[0], from_the_end(found->first, found->second)});
  });
  if (!is_clear || std::any_of(result.conditions.begin(), result.conditions.end(), [](const Condition& condition) {
        return mentions(condition, "shape") || mentions(condition, "spatial");
      }))
    return {};
  // Joined operands have the same rank.
  Rule alike = result;
  std::set<std::pair<std::string, std::string>> pairs;
  visit(result, [&](const Pattern& pattern) {
    if (pattern.op == "concat" && pattern.operands[0]->is_input() && pattern.operands[1]->is_input())
      pairs.emplace(pattern.operands[0]->input, pattern.operands[1]->input);
  });
  for (const auto& [one, other] : pairs)
    demand(alike, Condition::Relation::equal, rules::call_term("rank", {rules::variable_term(one)}),
           rules::call_term("rank", {rules::variable_term(other)}));
  return {result, alike};
}

/// Exchanged and transposed factors: at any rank, this concerns the last two axes.
std::vector<Rule> with_transposed_factors(const Rule& rule) {
  if (!has(rule, "matmul") || !has(rule, "transpose") || !has_only(rule, {"matmul", "transpose"})) return {};
  const auto inputs = rule.inputs();
  const TermPtr swapped = rules::call_term("swap_last", {rules::call_term("rank", {rules::variable_term(inputs[0])})});
  Rule result = changed(rule, [&](Pattern& pattern) {
    if (pattern.op == "transpose") set_attribute(pattern, "permutation", swapped);
  });
  result.conditions.clear();
  Rule alike = result;
  demand_one(alike, "rank");
  return {result, alike};
}

}  // namespace

std::vector<Rule> abstractions(const Rule& proved) {
  std::vector<Rule> forms;
  const auto add = [&](std::vector<Rule> more) { forms.insert(forms.end(), more.begin(), more.end()); };
  const auto add_one = [&](std::optional<Rule> more) {
    if (more) forms.push_back(std::move(*more));
  };
  add(with_any_slices(proved));
  add_one(with_two_axes(proved));
  add_one(with_any_padding(proved));
  add(with_moved_axis(proved));
  add_one(with_broadcasting(proved));
  add_one(with_images_or_channels(proved));
  add(with_any_shape(proved));
  add(with_transposed_factors(proved));
  for (const std::int64_t rank : {2, 3}) add(with_factors_of_any_rank(proved, rank));
  return forms;
}

}  // namespace taso::generator
