#include <algorithm>
#include <functional>
#include <set>

#include "generator/selection/rule_writer.h"
#include "ops/graph/operator.h"

namespace taso {
namespace {

PatternPtr rewrite(const PatternPtr& pattern, const std::function<void(Pattern&)>& change) {
  if (pattern->is_input()) return pattern;
  auto result = std::make_shared<Pattern>(*pattern);
  for (PatternPtr& operand : result->operands) operand = rewrite(operand, change);
  change(*result);
  return result;
}

Rule rewrite(const Rule& rule, const std::function<void(Pattern&)>& change) {
  Rule result = rule;
  for (PatternPtr& pattern : result.source) pattern = rewrite(pattern, change);
  for (PatternPtr& pattern : result.target) pattern = rewrite(pattern, change);
  return result;
}

void visit(const Rule& rule, const std::function<void(const Pattern&)>& look) {
  rewrite(rule, [&](Pattern& pattern) { look(pattern); });
}

std::string attribute_text(const Pattern& pattern, std::string_view name) {
  for (const auto& [field, term] : pattern.attributes)
    if (field == name) return text_of(*term);
  return {};
}

void set_attribute(Pattern& pattern, const std::string& name, TermPtr term) {
  for (auto& [field, old] : pattern.attributes)
    if (field == name) {
      old = std::move(term);
      return;
    }
  pattern.attributes.emplace_back(name, std::move(term));
  // In the order of the operator's fields.
  const auto fields = fields_of(*operator_named(pattern.op));
  const auto place = [&](const std::string& field) {
    return std::find_if(fields.begin(), fields.end(), [&](const NamedField& f) { return f.name == field; }) -
           fields.begin();
  };
  std::sort(pattern.attributes.begin(), pattern.attributes.end(),
            [&](const auto& a, const auto& b) { return place(a.first) < place(b.first); });
}

bool is_window(const Pattern& pattern) { return pattern.op == "conv" || pattern.op.ends_with("_pool"); }

/// One stride, one padding for all windows: then they may be any.
std::optional<Rule> with_any_windows(const Rule& rule, bool keep_pads) {
  std::set<std::string> strides, pads, kernels;
  bool has_window = false, has_enlarge = false;
  visit(rule, [&](const Pattern& pattern) {
    has_enlarge = has_enlarge || pattern.op == "enlarge" || pattern.op.ends_with("_kernel");
    if (!is_window(pattern)) return;
    has_window = true;
    strides.insert(attribute_text(pattern, "strides"));
    pads.insert(attribute_text(pattern, "pads"));
    if (pattern.op != "conv") kernels.insert(attribute_text(pattern, "kernel"));
  });
  if (!has_window || strides.size() > 1 || kernels.size() > 1 || (!keep_pads && (pads.size() > 1 || has_enlarge)))
    return std::nullopt;
  Rule result = rewrite(rule, [&](Pattern& pattern) {
    if (!is_window(pattern)) return;
    set_attribute(pattern, "strides", variable_term("s"));
    if (keep_pads) return;
    set_attribute(pattern, "dilations", variable_term("d"));
    set_attribute(pattern, "pads", variable_term("p"));
    if (pattern.op != "conv") set_attribute(pattern, "kernel", variable_term("l"));
  });
  if (!keep_pads)
    std::erase_if(result.conditions,
                  [](const Condition& condition) { return condition.left && condition.left->name == "spatial"; });
  return result;
}

/// As many groups in every convolution: then there may be any number of them.
std::optional<Rule> with_any_groups(const Rule& rule) {
  std::set<bool> grouped;
  const auto has_groups = [](const Pattern& pattern) {
    return pattern.op == "conv" || pattern.op.ends_with("_kernel");
  };
  visit(rule, [&](const Pattern& pattern) {
    if (pattern.op == "conv") grouped.insert(!attribute_text(pattern, "groups").empty());
  });
  if (grouped.size() != 1) return std::nullopt;
  return rewrite(rule, [&](Pattern& pattern) {
    if (has_groups(pattern)) set_attribute(pattern, "groups", variable_term("g"));
  });
}

/// One permutation throughout, and nothing that knows axes by itself: then it may be any, at any rank.
std::optional<Rule> with_any_permutation(const Rule& rule) {
  std::set<std::string> permutations;
  bool is_bound = false;
  visit(rule, [&](const Pattern& pattern) {
    static const std::set<std::string_view> free{"add",  "sub",     "mul",  "scalar_mul", "transpose",
                                                 "relu", "sigmoid", "tanh", "ones"};
    is_bound = is_bound || !free.contains(pattern.op);
    const std::string permutation = attribute_text(pattern, "permutation");
    if (!permutation.empty()) permutations.insert(permutation);
  });
  if (permutations.size() != 1 || is_bound) return std::nullopt;
  return rewrite(rule, [&](Pattern& pattern) {
    if (pattern.op == "transpose") set_attribute(pattern, "permutation", variable_term("p"));
  });
}

/// Where no operator has a window, the kernels' windows do not matter.
Rule without_idle_windows(const Rule& rule) {
  bool matters = false;
  visit(rule, [&](const Pattern& pattern) {
    matters = matters || is_window(pattern) || pattern.op == "enlarge" || pattern.op.ends_with("_kernel");
  });
  Rule result = rule;
  if (!matters)
    std::erase_if(result.conditions,
                  [](const Condition& condition) { return condition.left && condition.left->name == "spatial"; });
  return result;
}

/// One axis for everything that has one: then it may be any, unless another operator knows its axes.
std::optional<Rule> with_any_axis(const Rule& rule) {
  std::set<std::string> axes;
  bool is_bound = false;
  visit(rule, [&](const Pattern& pattern) {
    const std::string axis = attribute_text(pattern, "axis");
    if (!axis.empty()) axes.insert(axis);
    static const std::set<std::string_view> knows{
        "matmul", "conv", "transpose", "average_pool", "max_pool", "enlarge", "identity_matrix", "reshape", "pad"};
    is_bound = is_bound || knows.contains(pattern.op);
  });
  is_bound = is_bound || std::any_of(rule.conditions.begin(), rule.conditions.end(),
                                     [](const Condition& one) { return one.left && one.left->name == "shape"; });
  if (axes.size() != 1 || is_bound) return std::nullopt;
  const std::string axis = *axes.begin();
  const std::function<TermPtr(const TermPtr&)> replaced = [&](const TermPtr& term) -> TermPtr {
    if (term->kind == Term::Kind::call && term->name == "dim" && text_of(*term->operands[1]) == axis)
      return call_term("dim", {term->operands[0], variable_term("a")});
    if (term->operands.empty()) return term;
    auto copy = std::make_shared<Term>(*term);
    for (TermPtr& operand : copy->operands) operand = replaced(operand);
    return copy;
  };
  return rewrite(rule, [&](Pattern& pattern) {
    for (auto& [name, term] : pattern.attributes) term = name == "axis" ? variable_term("a") : replaced(term);
  });
}

}  // namespace

std::vector<Rule> generalisations(const Rule& found) {
  std::vector<Rule> result;
  const Rule rule = without_idle_windows(found);
  const auto add = [&](std::optional<Rule> more) {
    if (more) result.push_back(std::move(*more));
  };
  const auto axis = with_any_axis(rule);
  const Rule& base = axis ? *axis : rule;
  for (const bool keep_pads : {false, true}) {
    const auto any = with_any_windows(base, keep_pads);
    if (!any) continue;
    add(with_any_groups(*any));
    result.push_back(*any);
  }
  add(with_any_permutation(rule));
  if (axis) result.push_back(*axis);
  result.push_back(rule);
  return result;
}

}  // namespace taso
