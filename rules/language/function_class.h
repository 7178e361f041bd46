// Classes of operators that laws may be stated for: `for f in rising`. A proof that uses only the class of f holds for
// every member. Members are declared beside the operators, as traits (ops/core/trait.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/trait.h"
#include "rules/language/rule.h"
#include "rules/language/signature.h"

namespace taso::rules {

struct FunctionClass {
  std::string_view name;                  ///< in rule files
  Trait trait = Trait::element_wise;      ///< of its members
  std::size_t operands = 0;               ///< of its members; 0: the law determines it
  std::string_view meaning;               ///< in a few words
  bool is_total = false;                  ///< its members are defined everywhere
  std::vector<const Signature*> members;  ///< in the order of the list of operators
};

std::span<const FunctionClass> function_classes();
/// Null if there is no class of that name.
const FunctionClass* class_named(std::string_view name);
/// `keeps_zero & total`: all classes of a variable.
std::vector<const FunctionClass*> classes_of(const FunctionVariable& variable);
/// What the operators of all these classes have in common; nothing if there are none.
std::optional<Signature> common_signature(const FunctionVariable& variable);
/// The names of all classes.
std::vector<std::string> class_names();

/// How a law uses one of its function variables.
struct FunctionUse {
  std::size_t operands = 0;
  bool has_attributes = false;  ///< whether they are written; otherwise f has its own
};
/// The use at its first place in the law; nothing if it does not occur.
std::optional<FunctionUse> use_of(const Rule& law, std::string_view variable);
/// The operators that the variable stands for in the law.
std::vector<const Signature*> members_of(const Rule& law, const FunctionVariable& variable);

/// The law for these members, one for each of its variables: an ordinary rule, in whose name the member's name replaces
/// the variable. Attributes that a member has of its own become variables of the rule.
Rule with_members(const Rule& law, const std::vector<const Signature*>& members);

}  // namespace taso::rules
