#include "tests/generator/wrong_correction.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ops/core/error.h"
#include "rules/instance/symbolic_operator.h"
#include "rules/language/rule_text.h"

namespace taso::test {

namespace {

using rules::Pattern;
using rules::PatternPtr;
using rules::TermPtr;

PatternPtr shared(Pattern pattern) { return std::make_shared<const Pattern>(std::move(pattern)); }

TermPtr plus(const TermPtr& term, std::int64_t number) {
  if (number == 0) return term;
  if (term->kind == rules::Term::Kind::integer) return rules::integer_term(term->integer + number);
  return rules::call_term(number > 0 ? "+" : "-", {term, rules::integer_term(std::abs(number))});
}
TermPtr plus(const TermPtr& a, const TermPtr& b) { return rules::call_term("+", {a, b}); }
TermPtr minus(const TermPtr& a, const TermPtr& b) { return rules::call_term("-", {a, b}); }
TermPtr dim(const std::string& input, std::size_t axis) {
  return rules::call_term("dim", {rules::variable_term(input), rules::integer_term(static_cast<std::int64_t>(axis))});
}

TermPtr attribute(const Pattern& pattern, std::string_view name) {
  for (const auto& [known, term] : pattern.attributes)
    if (known == name) return term;
  return nullptr;
}

/// Attributes stay in the order of the operator's fields.
void set(Pattern& pattern, const std::string& name, TermPtr term) {
  std::erase_if(pattern.attributes, [&](const auto& one) { return one.first == name; });
  if (term) pattern.attributes.emplace_back(name, std::move(term));
  const auto& fields = rules::symbolic_fields(*rules::kind_named(pattern.op));
  const auto place = [&](const auto& one) {
    return std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.name == one.first; }) -
           fields.begin();
  };
  std::stable_sort(pattern.attributes.begin(), pattern.attributes.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

bool is_pool(const Pattern& pattern) { return pattern.op == "max_pool" || pattern.op == "average_pool"; }
bool is_window(const Pattern& pattern) {
  return pattern.op == "conv" || pattern.op == "conv_transpose" || is_pool(pattern);
}
bool is_slice(const Pattern& pattern) { return pattern.op == "slice"; }

/// The pattern with all of its nodes that equal one replaced by another.
PatternPtr replaced(const PatternPtr& pattern, const Pattern& old, const PatternPtr& by) {
  if (*pattern == old) return by;
  if (pattern->is_input()) return pattern;
  Pattern copy = *pattern;
  for (PatternPtr& operand : copy.operands) operand = replaced(operand, old, by);
  return shared(std::move(copy));
}

class Changes {
 public:
  explicit Changes(const rules::Rule& rule) : rule_(rule) {
    rule_.kind = rules::Rule::Kind::candidate;
    rule_.by.clear();
    rule_.comments.clear();
    known_.insert(rules::print(rule_));
    root_ = rule_.target[0];
    flatten(root_);
    collect(root_);
    if (const TermPtr axis = attribute(*root_, "axis")) axis_ = static_cast<std::size_t>(axis->integer);
    for (const PatternPtr& node : nodes_of(rule_.source[0]))
      if (const TermPtr pads = attribute(*node, "pads")) spatial_ = pads->operands.size() / 2;
  }

  std::vector<ChangedCorrection> all() {
    if (root_->op != "concat" || spatial_ == 0) return {};
    change_slices();
    change_seams();
    change_halos();
    for (const PatternPtr& node : nodes_)
      if (is_window(*node)) change_windows(*node);
    change_parts();
    change_orders();
    change_conditions();
    return std::move(changes_);
  }

 private:
  // --- The rule ---

  static std::vector<PatternPtr> nodes_of(const PatternPtr& pattern) {
    std::vector<PatternPtr> nodes{pattern};
    for (const PatternPtr& operand : pattern->operands)
      for (const PatternPtr& node : nodes_of(operand)) nodes.push_back(node);
    return nodes;
  }
  void collect(const PatternPtr& pattern) {
    for (const PatternPtr& node : nodes_of(pattern))
      if (std::none_of(nodes_.begin(), nodes_.end(), [&](const PatternPtr& known) { return *known == *node; }))
        nodes_.push_back(node);
  }
  void flatten(const PatternPtr& pattern) {
    if (pattern->op != "concat") {
      parts_.push_back(pattern);
      return;
    }
    for (const PatternPtr& operand : pattern->operands) flatten(operand);
  }
  PatternPtr joined(const std::vector<PatternPtr>& parts) const {
    PatternPtr all = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      Pattern concat;
      concat.op = "concat";
      concat.attributes = root_->attributes;
      concat.operands = {all, parts[i]};
      all = shared(std::move(concat));
    }
    return all;
  }
  /// A part is a slice of the program, or else the operator on a slice of x.
  static bool is_correction(const Pattern& part) { return is_window(part); }
  /// Of x; a correction with two convolutions has it in the inner one.
  static const Pattern* slice_of(const Pattern& correction) {
    const Pattern& operand = *correction.operands[0];
    if (is_window(operand) || operand.op == "relu") return slice_of(operand);
    return is_slice(operand) ? &operand : nullptr;
  }

  // --- Changing it ---

  void add(std::string_view change, rules::Rule rule) {
    // What cannot be written is no rule.
    try {
      const std::string text = rules::print(rule);
      if (!known_.insert(text).second) return;
      rules::Rule parsed = rules::parse_rule(text);
      changes_.push_back({std::move(parsed), change});
    } catch (const InputError&) {
    }
  }
  void add(std::string_view change, const PatternPtr& target) {
    rules::Rule rule = rule_;
    rule.target = {target};
    add(change, std::move(rule));
  }
  void add_node(std::string_view change, const Pattern& old, Pattern node) {
    add(change, replaced(root_, old, shared(std::move(node))));
  }
  void add_part(std::string_view change, std::size_t place, const PatternPtr& part) {
    std::vector<PatternPtr> parts = parts_;
    parts[place] = part;
    add(change, joined(parts));
  }

  static Pattern moved(const Pattern& slice, std::int64_t begin, std::int64_t end) {
    Pattern copy = slice;
    set(copy, "begin", plus(attribute(slice, "begin"), begin));
    set(copy, "end", plus(attribute(slice, "end"), end));
    return copy;
  }
  static PatternPtr with_slice(const Pattern& correction, Pattern slice) {
    Pattern copy = correction;
    PatternPtr& operand = copy.operands[0];
    operand = is_slice(*operand) ? shared(std::move(slice)) : with_slice(*operand, std::move(slice));
    return shared(std::move(copy));
  }

  void change_slices() {
    for (const PatternPtr& node : nodes_) {
      if (!is_slice(*node)) continue;
      for (const std::int64_t step : {-1, 1, -2, 2}) {
        add_node("a slice begins elsewhere", *node, moved(*node, step, 0));
        add_node("a slice ends elsewhere", *node, moved(*node, 0, step));
        add_node("a slice is moved", *node, moved(*node, step, step));
      }
      for (std::size_t axis = 0; axis < spatial_ + 2; ++axis) {
        Pattern other = *node;
        set(other, "axis", rules::integer_term(static_cast<std::int64_t>(axis)));
        add_node("a slice along another axis", *node, std::move(other));
      }
      add("a slice is left out", replaced(root_, *node, node->operands[0]));
    }
  }

  /// What a part computes ends or begins earlier or later.
  static std::optional<PatternPtr> resized(const PatternPtr& part, std::int64_t begin, std::int64_t end) {
    if (is_slice(*part)) return shared(moved(*part, begin, end));
    if (!is_correction(*part) || slice_of(*part) == nullptr) return std::nullopt;
    return with_slice(*part, moved(*slice_of(*part), begin, end));
  }
  void change_seams() {
    for (std::size_t i = 0; i + 1 < parts_.size(); ++i)
      for (const std::int64_t step : {-1, 1, -2, 2}) {
        const auto left = resized(parts_[i], 0, step), right = resized(parts_[i + 1], step, 0);
        if (!left || !right) continue;
        std::vector<PatternPtr> parts = parts_;
        parts[i] = *left;
        parts[i + 1] = *right;
        add("a seam is elsewhere", joined(parts));
      }
  }

  TermPtr window_list(const Pattern& window, const char* name) const {
    if (TermPtr list = attribute(window, name)) return list;
    const bool is_pads = std::string_view(name) == "pads";
    return rules::list_term(
        std::vector<TermPtr>(is_pads ? 2 * spatial_ : spatial_, rules::integer_term(is_pads ? 0 : 1)));
  }
  Pattern with_element(const Pattern& window, const char* name, std::size_t place,
                       const std::function<TermPtr(const TermPtr&)>& change) const {
    Pattern copy = window;
    std::vector<TermPtr> elements = window_list(window, name)->operands;
    if (place >= elements.size()) return copy;
    elements[place] = change(elements[place]);
    set(copy, name, rules::list_term(std::move(elements)));
    return copy;
  }
  Pattern with_element(const Pattern& window, const char* name, std::size_t place, std::int64_t more) const {
    return with_element(window, name, place, [&](const TermPtr& term) { return plus(term, more); });
  }

  /// Elements of the input that a correction reads are zeros instead, or zeros are elements.
  void change_halos() {
    const std::size_t spatial = axis_ - 2;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!is_correction(*parts_[i]) || slice_of(*parts_[i]) == nullptr) continue;
      const Pattern& slice = *slice_of(*parts_[i]);
      for (const std::int64_t step : {1, -1, 2}) {
        add_part("a halo is padding", i,
                 with_slice(with_element(*parts_[i], "pads", spatial, step), moved(slice, step, 0)));
        add_part("a halo is padding", i,
                 with_slice(with_element(*parts_[i], "pads", spatial_ + spatial, step), moved(slice, 0, -step)));
      }
      // A larger dilation reads more: the same number of positions with a longer slice.
      const TermPtr kernel = is_pool(*parts_[i]) ? attribute(*parts_[i], "kernel")->operands[spatial]
                                                 : dim(parts_[i]->operands[1]->input, axis_);
      const TermPtr more = plus(kernel, -1);
      const Pattern dilated = with_element(*parts_[i], "dilations", spatial, 1);
      Pattern longer = slice, earlier = slice;
      set(longer, "end", plus(attribute(slice, "end"), more));
      set(earlier, "begin", minus(attribute(slice, "begin"), more));
      add_part("another dilation and halo", i, with_slice(dilated, std::move(longer)));
      add_part("another dilation and halo", i, with_slice(dilated, std::move(earlier)));
    }
  }

  void change_windows(const Pattern& window) {
    for (std::size_t place = 0; place < 2 * spatial_; ++place) {
      for (const std::int64_t step : {-1, 1}) {
        const Pattern one = with_element(window, "pads", place, step);
        add_node("other pads", window, one);
        if (place < spatial_) add_node("pads are moved", window, with_element(one, "pads", spatial_ + place, -step));
      }
      add_node("other pads", window,
               with_element(window, "pads", place, [](const TermPtr&) { return rules::integer_term(0); }));
    }
    for (std::size_t place = 0; place < spatial_; ++place) {
      Pattern exchanged = window;
      std::vector<TermPtr> pads = window_list(window, "pads")->operands;
      std::swap(pads[place], pads[spatial_ + place]);
      set(exchanged, "pads", rules::list_term(std::move(pads)));
      add_node("pads are moved", window, std::move(exchanged));
      for (const char* name : {"strides", "dilations"}) {
        const std::string_view change = name[0] == 's' ? "another stride" : "another dilation";
        add_node(change, window, with_element(window, name, place, 1));
        add_node(change, window, with_element(window, name, place, [](const TermPtr& term) {
                   return rules::call_term("*", {rules::integer_term(2), term});
                 }));
      }
      if (!is_pool(window)) continue;
      for (const std::int64_t step : {-1, 1})
        add_node("another kernel", window, with_element(window, "kernel", place, step));
    }
    for (const char* name : {"strides", "dilations", "pads", "groups", "count_padding"}) {
      Pattern without = window;
      set(without, name, nullptr);
      add_node("an attribute is forgotten", window, std::move(without));
    }
    if (window.operands.size() == 3) {
      Pattern without = window;
      without.operands.pop_back();
      add_node("a bias is forgotten", window, std::move(without));
    }
  }

  /// The slice of the program at the positions of a part.
  std::optional<PatternPtr> own_slice(std::size_t place) const {
    const Pattern* program = nullptr;
    for (const PatternPtr& part : parts_)
      if (is_slice(*part)) program = part.get();
    if (program == nullptr) return std::nullopt;
    TermPtr begin = rules::integer_term(0), end = dim("x", axis_);
    if (place > 0) {
      if (!is_slice(*parts_[place - 1])) return std::nullopt;
      begin = attribute(*parts_[place - 1], "end");
    }
    if (place + 1 < parts_.size()) {
      if (!is_slice(*parts_[place + 1])) return std::nullopt;
      end = attribute(*parts_[place + 1], "begin");
    }
    Pattern own = *program;
    set(own, "begin", begin);
    set(own, "end", end);
    return shared(std::move(own));
  }

  void change_parts() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (is_correction(*parts_[i]))
        if (const auto own = own_slice(i)) add_part("a correction is forgotten", i, *own);
      std::vector<PatternPtr> parts = parts_;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
      add("a part is left out", joined(parts));
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        if (k == i) continue;
        parts = parts_;
        std::swap(parts[i], parts[k]);
        add("parts are exchanged", joined(parts));
        parts = parts_;
        parts[i] = parts[k];
        add("a part is repeated", joined(parts));
        if (!is_correction(*parts_[i]) || !is_correction(*parts_[k])) continue;
        if (slice_of(*parts_[i]) == nullptr || slice_of(*parts_[k]) == nullptr) continue;
        parts = parts_;
        parts[i] = with_slice(*parts_[i], *slice_of(*parts_[k]));
        add("a correction of another part", joined(parts));
        parts[k] = with_slice(*parts_[k], *slice_of(*parts_[i]));
        add("a correction of another part", joined(parts));
      }
    }
  }

  /// Axes of the program's reshapes and transposes in another order.
  void change_orders() {
    for (const PatternPtr& node : nodes_)
      for (const char* name : {"permutation", "shape"}) {
        const TermPtr list = attribute(*node, name);
        if (!list || list->kind != rules::Term::Kind::list) continue;
        for (std::size_t i = 0; i < list->operands.size(); ++i)
          for (std::size_t k = i + 1; k < list->operands.size(); ++k) {
            std::vector<TermPtr> elements = list->operands;
            std::swap(elements[i], elements[k]);
            Pattern other = *node;
            set(other, name, rules::list_term(std::move(elements)));
            add_node("axes in another order", *node, std::move(other));
          }
      }
  }

  void change_conditions() {
    for (std::size_t i = 0; i < rule_.conditions.size(); ++i) {
      rules::Rule fewer = rule_;
      fewer.conditions.erase(fewer.conditions.begin() + static_cast<std::ptrdiff_t>(i));
      add("a condition is forgotten", std::move(fewer));
      const rules::Condition& condition = rule_.conditions[i];
      const bool is_order = condition.relation == rules::Condition::Relation::at_most ||
                            condition.relation == rules::Condition::Relation::less;
      const bool is_equation = condition.relation == rules::Condition::Relation::equal;
      if (!is_order && !is_equation) continue;
      for (const std::int64_t step : {1, -1, 2}) {
        if (is_order && step < 0) continue;
        rules::Rule weaker = rule_;
        weaker.conditions[i].right = plus(condition.right, step);
        add(is_order ? "a condition is weaker" : "another condition", std::move(weaker));
      }
    }
  }

  rules::Rule rule_;
  PatternPtr root_;
  std::vector<PatternPtr> parts_;  // along the corrected axis
  std::vector<PatternPtr> nodes_;  // of the target, different ones
  std::size_t axis_ = 2, spatial_ = 0;
  std::set<std::string> known_;
  std::vector<ChangedCorrection> changes_;
};

}  // namespace

std::vector<ChangedCorrection> changed_corrections(const rules::Rule& rule) { return Changes(rule).all(); }

rules::Rule at_large_sizes(rules::Rule rule) {
  const auto axis = static_cast<std::size_t>(attribute(*rule.target[0], "axis")->integer);
  TermPtr all = rules::integer_term(0);  // the padding of all windows
  std::vector<TermPtr> pads;
  for (const Pattern* window = rule.source[0].get(); !window->is_input(); window = window->operands[0].get())
    if (const TermPtr list = attribute(*window, "pads"))
      for (const std::size_t place : {axis - 2, list->operands.size() / 2 + axis - 2}) {
        pads.push_back(list->operands[place]);
        all = plus(all, pads.back());
      }
  const auto add = [&](const TermPtr& low, const TermPtr& high) {
    rule.conditions.push_back({rules::Condition::Relation::at_most, low, high, {}});
  };
  add(plus(rules::call_term("*", {rules::integer_term(4), all}), 12), dim("x", axis));
  for (const TermPtr& pad : pads)
    if (pad->kind != rules::Term::Kind::integer) add(rules::integer_term(2), pad);
  return rule;
}

}  // namespace taso::test
