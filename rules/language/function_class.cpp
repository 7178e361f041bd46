#include "rules/language/function_class.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

std::vector<FunctionClass> make_classes() {
  std::vector<FunctionClass> classes{
      {"unary", Trait::element_wise, 1, "any function of one element", false, {}},
      {"binary", Trait::element_wise, 2, "any function of two elements", false, {}},
      {"total", Trait::element_wise, 0, "a function that is defined everywhere", true, {}},
      {"keeps_zero", Trait::keeps_zero, 0, "f(0) = 0", false, {}},
      {"rising", Trait::rising, 1, "f(max(x, y)) = max(f(x), f(y))", false, {}},
      {"linear", Trait::linear, 2, "f(x, y) = a x + b y", false, {}},
      {"commutes", Trait::commutes, 2, "f(x, y) = f(y, x)", false, {}},
      {"associates", Trait::associates, 2, "f(x, f(y, z)) = f(f(x, y), z)", false, {}},
      {"reduction", Trait::reduction, 1, "combines the elements along some axes", false, {}},
  };
  for (FunctionClass& one : classes)
    for (const Operator& op : all_operators())
      if (traits_of(op).has(one.trait) && (one.operands == 0 || max_inputs(op) == one.operands) &&
          // verifier/membership.h proves of all others that they have a value everywhere.
          !(one.is_total && traits_of(op).has(Trait::partial)))
        one.members.push_back(signature_of(ops::name_of(op)));
  return classes;
}

// The operators that belong to all classes of the variable.
std::vector<const Signature*> operators_of(const FunctionVariable& variable) {
  std::vector<const Signature*> members;
  bool first = true;
  for (const FunctionClass* one : classes_of(variable)) {
    if (std::exchange(first, false))
      members = one->members;
    else
      std::erase_if(members, [&](const Signature* member) {
        return std::find(one->members.begin(), one->members.end(), member) == one->members.end();
      });
  }
  return members;
}

void visit(const std::vector<PatternPtr>& patterns, const std::function<void(const Pattern&)>& look) {
  for (const PatternPtr& pattern : patterns) {
    look(*pattern);
    visit(pattern->operands, look);
  }
}

void collect_names(const Term& term, std::set<std::string>& names) {
  if (term.kind == Term::Kind::variable) names.insert(term.name);
  for (const TermPtr& operand : term.operands) collect_names(*operand, names);
}

// Inputs and variables: names that an attribute's variable must not have.
std::set<std::string> names_in(const Rule& law) {
  std::set<std::string> names;
  const auto look = [&](const Pattern& pattern) {
    if (pattern.is_input()) names.insert(pattern.input);
    for (const auto& [field, term] : pattern.attributes) collect_names(*term, names);
  };
  visit(law.source, look);
  visit(law.target, look);
  return names;
}

// "relu-of-concat" from "f-of-concat".
std::string name_with(const std::string& name, const std::string& variable, std::string member) {
  std::replace(member.begin(), member.end(), '_', '-');
  std::string result;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    result += (begin == 0 ? "" : "-") + (part == variable ? member : part);
    begin = end + 1;
  }
  return result;
}

class Replacement {
 public:
  Replacement(const Rule& law, const std::string& variable, const Signature& member)
      : variable_(variable), member_(member) {
    const auto use = use_of(law, variable);
    if (!use || use->has_attributes) return;
    const std::set<std::string> taken = names_in(law);
    for (const FieldSignature& field : member.fields) {
      std::string name = variable + "_" + std::string(field.name);
      while (taken.contains(name)) name += "_";
      own_.emplace_back(field.name, variable_term(std::move(name)));
    }
  }

  std::vector<PatternPtr> operator()(const std::vector<PatternPtr>& patterns) const {
    std::vector<PatternPtr> result;
    for (const PatternPtr& pattern : patterns) {
      auto copy = std::make_shared<Pattern>(*pattern);
      copy->operands = (*this)(pattern->operands);
      if (copy->op == variable_) {
        copy->op = member_.name;
        if (copy->attributes.empty()) copy->attributes = own_;
        const auto place = [&](const auto& attribute) {
          return std::find_if(member_.fields.begin(), member_.fields.end(),
                              [&](const FieldSignature& field) { return field.name == attribute.first; });
        };
        std::sort(copy->attributes.begin(), copy->attributes.end(),
                  [&](const auto& a, const auto& b) { return place(a) < place(b); });
      }
      result.push_back(std::move(copy));
    }
    return result;
  }

 private:
  std::string variable_;
  const Signature& member_;
  std::vector<std::pair<std::string, TermPtr>> own_;
};

}  // namespace

std::span<const FunctionClass> function_classes() {
  static const std::vector<FunctionClass> all = make_classes();
  return all;
}

const FunctionClass* class_named(std::string_view name) {
  for (const FunctionClass& one : function_classes())
    if (one.name == name) return &one;
  return nullptr;
}

std::vector<const FunctionClass*> classes_of(const FunctionVariable& variable) {
  std::vector<const FunctionClass*> classes;
  const std::string_view text = variable.of;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(" & ", begin), text.size());
    const FunctionClass* known = class_named(text.substr(begin, end - begin));
    check(known != nullptr, "the parser accepts only known classes");
    classes.push_back(known);
    begin = end + 3;
  }
  return classes;
}

std::optional<Signature> common_signature(const FunctionVariable& variable) {
  const std::vector<const Signature*> members = operators_of(variable);
  if (members.empty()) return std::nullopt;
  Signature common = *members.front();
  for (const Signature* member : members) {
    common.min_operands = std::min(common.min_operands, member->min_operands);
    common.max_operands = std::max(common.max_operands, member->max_operands);
    std::erase_if(common.fields, [&](const FieldSignature& field) {
      const FieldSignature* other = member->field(field.name);
      return other == nullptr || other->kind != field.kind;
    });
  }
  return common;
}

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const FunctionClass& one : function_classes()) names.emplace_back(one.name);
  return names;
}

std::optional<FunctionUse> use_of(const Rule& law, std::string_view variable) {
  std::optional<FunctionUse> use;
  const auto look = [&](const Pattern& pattern) {
    if (!use && pattern.op == variable && !pattern.is_input())
      use = FunctionUse{pattern.operands.size(), !pattern.attributes.empty()};
  };
  visit(law.source, look);
  visit(law.target, look);
  return use;
}

std::vector<const Signature*> members_of(const Rule& law, const FunctionVariable& variable) {
  const auto use = use_of(law, variable.name);
  if (!use) return {};
  std::vector<const Signature*> members = operators_of(variable);
  std::erase_if(members, [&](const Signature* member) {
    return use->operands < member->min_operands || member->max_operands < use->operands;
  });
  return members;
}

Rule with_members(const Rule& law, const std::vector<const Signature*>& members) {
  check(members.size() == law.functions.size(), "there is one member for each function variable");
  Rule rule = law;
  rule.functions.clear();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string& variable = law.functions[i].name;
    const Replacement replaced(rule, variable, *members[i]);
    rule.source = replaced(rule.source);
    rule.target = replaced(rule.target);
    rule.name = name_with(rule.name, variable, std::string(members[i]->name));
  }
  return rule;
}

std::vector<Rule> expanded(const Rule& rule) {
  // One variable after the other: the members of the last variable are adjacent.
  std::vector<std::vector<const Signature*>> choices{{}};
  for (const FunctionVariable& variable : rule.functions) {
    std::vector<std::vector<const Signature*>> more;
    for (const auto& choice : choices)
      for (const Signature* member : members_of(rule, variable)) {
        more.push_back(choice);
        more.back().push_back(member);
      }
    choices = std::move(more);
  }
  std::vector<Rule> result;
  for (const auto& choice : choices) {
    Rule forth = with_members(rule, choice);
    if (!rule.both_ways) {
      result.push_back(std::move(forth));
      continue;
    }
    forth.both_ways = false;
    Rule back = forth;
    std::swap(back.source, back.target);
    back.name += "-back";
    result.push_back(std::move(forth));
    result.push_back(std::move(back));
  }
  return result;
}

}  // namespace taso::rules
