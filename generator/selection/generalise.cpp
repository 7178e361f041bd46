#include <algorithm>
#include <functional>
#include <set>

#include "generator/selection/rule_writer.h"
#include "ops/graph/operator.h"
#include "rules/language/signature.h"

namespace taso::generator {
namespace {

rules::PatternPtr rewrite(const rules::PatternPtr& pattern, const std::function<void(rules::Pattern&)>& change) {
  if (pattern->is_input()) return pattern;
  auto result = std::make_shared<rules::Pattern>(*pattern);
  for (rules::PatternPtr& operand : result->operands) operand = rewrite(operand, change);
  change(*result);
  return result;
}

rules::Rule rewrite(const rules::Rule& rule, const std::function<void(rules::Pattern&)>& change) {
  rules::Rule result = rule;
  for (rules::PatternPtr& pattern : result.source) pattern = rewrite(pattern, change);
  for (rules::PatternPtr& pattern : result.target) pattern = rewrite(pattern, change);
  return result;
}

void visit(const rules::Rule& rule, const std::function<void(const rules::Pattern&)>& look) {
  rewrite(rule, [&](rules::Pattern& pattern) { look(pattern); });
}

std::string attribute_text(const rules::Pattern& pattern, std::string_view name) {
  for (const auto& [field, term] : pattern.attributes)
    if (field == name) return rules::text_of(*term);
  return {};
}

void set_attribute(rules::Pattern& pattern, const std::string& name, rules::TermPtr term) {
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

bool is_window(const rules::Pattern& pattern) { return pattern.op == "conv" || pattern.op.ends_with("_pool"); }

/// If all windows have the same stride and the same padding, these may be any.
std::optional<rules::Rule> with_any_windows(const rules::Rule& rule, bool keep_pads) {
  std::set<std::string> strides, pads, kernels;
  bool has_window = false, has_enlarge = false;
  visit(rule, [&](const rules::Pattern& pattern) {
    has_enlarge = has_enlarge || pattern.op == "enlarge" || pattern.op.ends_with("_kernel");
    if (!is_window(pattern)) return;
    has_window = true;
    strides.insert(attribute_text(pattern, "strides"));
    pads.insert(attribute_text(pattern, "pads"));
    if (pattern.op != "conv") kernels.insert(attribute_text(pattern, "kernel"));
  });
  if (!has_window || strides.size() > 1 || kernels.size() > 1 || (!keep_pads && (pads.size() > 1 || has_enlarge)))
    return std::nullopt;
  rules::Rule result = rewrite(rule, [&](rules::Pattern& pattern) {
    if (!is_window(pattern)) return;
    set_attribute(pattern, "strides", rules::variable_term("s"));
    if (keep_pads) return;
    set_attribute(pattern, "dilations", rules::variable_term("d"));
    set_attribute(pattern, "pads", rules::variable_term("p"));
    if (pattern.op != "conv") set_attribute(pattern, "kernel", rules::variable_term("l"));
  });
  if (!keep_pads)
    std::erase_if(result.conditions, [](const rules::Condition& condition) {
      return condition.left && condition.left->name == "spatial";
    });
  return result;
}

/// If all convolutions are grouped, or none is, the number of groups may be any.
std::optional<rules::Rule> with_any_groups(const rules::Rule& rule) {
  std::set<bool> grouped;
  const auto has_groups = [](const rules::Pattern& pattern) {
    return pattern.op == "conv" || pattern.op.ends_with("_kernel");
  };
  visit(rule, [&](const rules::Pattern& pattern) {
    if (pattern.op == "conv") grouped.insert(!attribute_text(pattern, "groups").empty());
  });
  if (grouped.size() != 1) return std::nullopt;
  return rewrite(rule, [&](rules::Pattern& pattern) {
    if (has_groups(pattern)) set_attribute(pattern, "groups", rules::variable_term("g"));
  });
}

/// If there is one permutation throughout, and no operator with fixed axes, it may be any, at any rank.
std::optional<rules::Rule> with_any_permutation(const rules::Rule& rule) {
  std::set<std::string> permutations;
  bool is_bound = false;
  visit(rule, [&](const rules::Pattern& pattern) {
    static const std::set<std::string_view> free{"scalar_mul", "transpose", "ones"};
    is_bound = is_bound || !(rules::has_trait(pattern.op, Trait::element_wise) || free.contains(pattern.op));
    const std::string permutation = attribute_text(pattern, "permutation");
    if (!permutation.empty()) permutations.insert(permutation);
  });
  if (permutations.size() != 1 || is_bound) return std::nullopt;
  return rewrite(rule, [&](rules::Pattern& pattern) {
    if (pattern.op == "transpose") set_attribute(pattern, "permutation", rules::variable_term("p"));
  });
}

/// If no operator has a window, the kernels' windows do not matter.
rules::Rule without_idle_windows(const rules::Rule& rule) {
  bool matters = false;
  visit(rule, [&](const rules::Pattern& pattern) {
    matters = matters || is_window(pattern) || pattern.op == "enlarge" || pattern.op.ends_with("_kernel");
  });
  rules::Rule result = rule;
  if (!matters)
    std::erase_if(result.conditions, [](const rules::Condition& condition) {
      return condition.left && condition.left->name == "spatial";
    });
  return result;
}

/// If there is one axis throughout, and no operator with fixed axes, it may be any.
std::optional<rules::Rule> with_any_axis(const rules::Rule& rule) {
  std::set<std::string> axes;
  bool is_bound = false;
  visit(rule, [&](const rules::Pattern& pattern) {
    const std::string axis = attribute_text(pattern, "axis");
    if (!axis.empty()) axes.insert(axis);
    static const std::set<std::string_view> knows{
        "matmul", "conv", "transpose", "average_pool", "max_pool", "enlarge", "identity_matrix", "reshape", "pad"};
    is_bound = is_bound || knows.contains(pattern.op);
  });
  is_bound = is_bound || std::any_of(rule.conditions.begin(), rule.conditions.end(),
                                     [](const rules::Condition& one) { return one.left && one.left->name == "shape"; });
  if (axes.size() != 1 || is_bound) return std::nullopt;
  const std::string axis = *axes.begin();
  const std::function<rules::TermPtr(const rules::TermPtr&)> replaced =
      [&](const rules::TermPtr& term) -> rules::TermPtr {
    if (term->kind == rules::Term::Kind::call && term->name == "dim" && rules::text_of(*term->operands[1]) == axis)
      return rules::call_term("dim", {term->operands[0], rules::variable_term("a")});
    if (term->operands.empty()) return term;
    auto copy = std::make_shared<rules::Term>(*term);
    for (rules::TermPtr& operand : copy->operands) operand = replaced(operand);
    return copy;
  };
  return rewrite(rule, [&](rules::Pattern& pattern) {
    for (auto& [name, term] : pattern.attributes) term = name == "axis" ? rules::variable_term("a") : replaced(term);
  });
}

}  // namespace

std::vector<rules::Rule> generalisations(const rules::Rule& found) {
  std::vector<rules::Rule> result;
  const rules::Rule rule = without_idle_windows(found);
  const auto add = [&](std::optional<rules::Rule> more) {
    if (more) result.push_back(std::move(*more));
  };
  const auto axis = with_any_axis(rule);
  const rules::Rule& base = axis ? *axis : rule;
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

}  // namespace taso::generator
