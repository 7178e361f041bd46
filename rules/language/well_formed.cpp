#include "rules/language/well_formed.h"

#include <map>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/function_class.h"
#include "rules/language/signature.h"

namespace taso::rules {
namespace {

ValueKind kind_of_field(const Rule& rule, const Pattern& pattern, const std::string& field_name) {
  const Signature* signature = signature_of(pattern.op);
  std::optional<Signature> common;
  for (const FunctionVariable& variable : rule.functions)
    if (variable.name == pattern.op) {
      common = common_signature(variable);
      signature = common ? &*common : nullptr;
    }
  const FieldSignature* field = signature ? signature->field(field_name) : nullptr;
  if (!field) fail_check("an attribute is a field of an operator", SourcePlace::current());
  return field->kind;
}

// Either side of an axiom may be the source; in other rules, the left side binds names.
class Checker {
 public:
  explicit Checker(const Rule& rule, bool backwards = false) : rule_(rule), backwards_(backwards) {}

  void run() {
    const bool is_axiom = rule_.kind == Rule::Kind::axiom;
    for (const PatternPtr& pattern : rule_.source) bind(*pattern, is_axiom || !backwards_);
    for (const PatternPtr& pattern : rule_.target) bind(*pattern, is_axiom || backwards_);
    for (const FunctionVariable& variable : rule_.functions) visit(variable);
    for (const PatternPtr& pattern : rule_.source) visit(*pattern);
    for (const PatternPtr& pattern : rule_.target) visit(*pattern);
    for (const Condition& condition : rule_.conditions) visit(condition);
    if (rule_.source.size() != rule_.target.size())
      throw Flaw{fmt::format("the left side has {} result{}, the right side {}", rule_.source.size(),
                             rule_.source.size() == 1 ? "" : "s", rule_.target.size()),
                 nullptr, rule_.target.empty() ? nullptr : rule_.target.front().get(), nullptr};
  }

 private:
  struct Variable {
    ValueKind kind = ValueKind::integer;
    bool bound = false;  // whether it is a whole attribute, or an element of a list that is
  };

  [[noreturn]] static void fail(const Term& term, std::string message) {
    throw Flaw{std::move(message), &term, nullptr, nullptr};
  }

  void bind(const Pattern& pattern, bool binds) {
    if (pattern.is_input()) inputs_[pattern.input] |= binds;
    for (const FunctionVariable& variable : rule_.functions)
      if (pattern.op == variable.name) bind_function(pattern, binds);
    for (const auto& [name, term] : pattern.attributes) {
      if (term->kind == Term::Kind::variable) bind(*term, kind_of_field(rule_, pattern, name), binds);
      if (term->kind == Term::Kind::list)
        for (const TermPtr& element : term->operands)
          if (element->kind == Term::Kind::variable) bind(*element, ValueKind::integer, binds);
    }
    for (const PatternPtr& operand : pattern.operands) bind(*operand, binds);
  }

  void bind(const Term& term, ValueKind kind, bool binds) {
    const auto place = variables_.insert({term.name, {kind, false}}).first;
    place->second.bound |= binds;
    if (place->second.kind != kind)
      fail(term,
           fmt::format("'{}' is {} here and {} elsewhere", term.name, text_of(kind), text_of(place->second.kind)));
  }

  // A function is used consistently: with the same number of operands, and with attributes everywhere or nowhere.
  void bind_function(const Pattern& pattern, bool binds) {
    const FunctionUse use = *use_of(rule_, pattern.op);
    if (pattern.operands.size() != use.operands)
      throw Flaw{
          fmt::format("'{}' has {} operands here and {} elsewhere", pattern.op, pattern.operands.size(), use.operands),
          nullptr, &pattern, nullptr};
    if (pattern.attributes.empty() == use.has_attributes)
      throw Flaw{fmt::format("'{}' must have attributes everywhere or nowhere: it has its own only "
                             "where none are given",
                             pattern.op),
                 nullptr, &pattern, nullptr};
    functions_[pattern.op] |= binds;
  }

  void visit(const FunctionVariable& variable) const {
    const auto place = functions_.find(variable.name);
    if (place == functions_.end()) throw Flaw{fmt::format("the law does not use '{}'", variable.name)};
    if (!place->second) throw Flaw{fmt::format("function '{}' does not occur on the {} side", variable.name, side())};
  }

  void visit(const Pattern& pattern) const {
    if (pattern.is_input()) need_input(pattern.input, nullptr, &pattern, nullptr);
    for (const auto& [name, term] : pattern.attributes) {
      const ValueKind field = kind_of_field(rule_, pattern, name);
      if (field == ValueKind::real) {
        visit_real(*term, name);
        continue;
      }
      const ValueKind kind = kind_of(*term);
      if (kind != field && !(field == ValueKind::list && kind == ValueKind::integer))
        fail(*term, fmt::format("{} of {} is {}, not {}", name, pattern.op, text_of(field), text_of(kind)));
    }
    for (const PatternPtr& operand : pattern.operands) visit(*operand);
  }

  void visit_real(const Term& term, const std::string& field) const {
    if (term.kind == Term::Kind::variable) return need_variable(term);
    if (term.kind != Term::Kind::real)
      fail(term, fmt::format("{} must be a number or a variable, not an expression", field));
  }

  void need_input(const std::string& name, const Term* term, const Pattern* pattern, const Condition* condition) const {
    const auto place = inputs_.find(name);
    std::string message;
    if (variables_.contains(name))
      message = "'{}' is the variable of an attribute, so it cannot be an input";
    else if (place == inputs_.end())
      message = "unknown input '{}'";
    else if (!place->second)
      message = "input '{}' does not occur on the {} side";
    if (!message.empty()) throw Flaw{fmt::format(fmt::runtime(message), name, side()), term, pattern, condition};
  }

  void need_variable(const Term& term) const {
    const auto place = variables_.find(term.name);
    if (inputs_.contains(term.name))
      fail(term, fmt::format("'{}' is an input; only dim, rank, shape and spatial take inputs", term.name));
    if (place == variables_.end())
      fail(term, fmt::format("variable '{}' is not bound: it is not the whole value of an attribute", term.name));
    if (!place->second.bound)
      fail(term, fmt::format("variable '{}' is not bound: it is not the whole value of an attribute on the {} side",
                             term.name, side()));
  }

  ValueKind kind_of(const Term& term) const {
    switch (term.kind) {
      case Term::Kind::integer: return ValueKind::integer;
      case Term::Kind::boolean: return ValueKind::boolean;
      case Term::Kind::real: fail(term, "a decimal number is only allowed where an operator takes one");
      case Term::Kind::variable: need_variable(term); return variables_.at(term.name).kind;
      case Term::Kind::list:
        for (const TermPtr& element : term.operands) need(*element, ValueKind::integer, "an element of a list");
        return ValueKind::list;
      case Term::Kind::call: return kind_of_call(term);
    }
    return ValueKind::integer;
  }

  void need(const Term& term, ValueKind wanted, std::string_view who) const {
    const ValueKind kind = kind_of(term);
    if (kind != wanted) fail(term, fmt::format("{} must be {}, not {}", who, text_of(wanted), text_of(kind)));
  }

  // An integer or a list.
  ValueKind need_number(const Term& term, std::string_view who) const {
    const ValueKind kind = kind_of(term);
    if (kind != ValueKind::integer && kind != ValueKind::list)
      fail(term, fmt::format("{} must be an integer or a list, not {}", who, text_of(kind)));
    return kind;
  }

  ValueKind kind_of_call(const Term& term) const {
    const std::string& name = term.name;
    const auto operand = [&](std::size_t i) -> const Term& { return *term.operands[i]; };
    const std::string who = fmt::format("the operand of '{}'", name);
    if (name == "dim" || name == "rank" || name == "shape" || name == "spatial") {
      if (operand(0).kind != Term::Kind::variable) fail(operand(0), fmt::format("{} takes an input", name));
      need_input(operand(0).name, &operand(0), nullptr, nullptr);
      if (name == "dim") need(operand(1), ValueKind::integer, "the axis");
      return name == "dim" || name == "rank" ? ValueKind::integer : ValueKind::list;
    }
    if (name == "+" || name == "-" || name == "*" || name == "/" || name == "%") {
      const ValueKind left = need_number(operand(0), who), right = need_number(operand(1), who);
      return left == ValueKind::list ? left : right;
    }
    if (name == "same") {
      for (const TermPtr& part : term.operands) need_number(*part, who);
      return ValueKind::list;
    }
    if (name == "repeat" || name == "swap_last") {
      for (const TermPtr& part : term.operands) need(*part, ValueKind::integer, who);
      return ValueKind::list;
    }
    // All others take a list first.
    need(operand(0), ValueKind::list, who);
    if (name == "without")
      need_number(operand(1), who);
    else if (name == "++" || name == "compose" || name == "permuted")
      need(operand(1), ValueKind::list, who);
    else
      for (std::size_t i = 1; i < term.operands.size(); ++i) need(operand(i), ValueKind::integer, who);
    const bool integer = name == "product" || name == "sum" || name == "position" || name == "[]";
    return integer ? ValueKind::integer : ValueKind::list;
  }

  void visit(const Condition& condition) const {
    using Relation = Condition::Relation;
    if (condition.relation == Relation::broadcast) {
      for (const std::string& name : condition.inputs) need_input(name, nullptr, nullptr, &condition);
      return;
    }
    if (condition.relation == Relation::equal || condition.relation == Relation::not_equal) {
      const ValueKind left = kind_of(*condition.left), right = kind_of(*condition.right);
      if (left == ValueKind::boolean && right == ValueKind::boolean) return;
    }
    need_number(*condition.left, "an operand of a condition");
    if (condition.right) need_number(*condition.right, "an operand of a condition");
  }

  /// The side that binds.
  std::string_view side() const { return backwards_ ? "right" : "left"; }

  const Rule& rule_;
  const bool backwards_;                            // `<=>`, read from the right
  std::map<std::string, bool> inputs_, functions_;  // whether it is bound
  std::map<std::string, Variable> variables_;
};

}  // namespace

std::optional<Flaw> flaw_of(const Rule& rule) {
  try {
    Checker(rule).run();
    if (rule.both_ways) Checker(rule, true).run();
  } catch (Flaw& flaw) {
    return std::move(flaw);
  }
  return std::nullopt;
}

}  // namespace taso::rules
