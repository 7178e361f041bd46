// Classes of operators that laws may be stated for: `for f in rising`. What is proved of f without knowing more of it
// than its class holds for every member. Members are declared beside the operators, as traits (ops/core/trait.h).
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
  Trait trait = Trait::element_wise;      ///< that its members have
  std::size_t operands = 0;               ///< that its members take; 0: a law has those that take as many as it gives
  std::string_view meaning;               ///< in a few words
  bool is_total = false;                  ///< its members have a value everywhere
  std::vector<const Signature*> members;  ///< in the order of the list of operators
};

std::span<const FunctionClass> function_classes();
/// Null if there is none of that name.
const FunctionClass* class_named(std::string_view name);
/// `keeps_zero & total`: the classes that a variable is of, all at once.
std::vector<const FunctionClass*> classes_of(const FunctionVariable& variable);
/// What the operators of all these classes have in common; nothing if there are none.
std::optional<Signature> common_signature(const FunctionVariable& variable);
/// The names of all classes.
std::vector<std::string> class_names();

/// How a law uses one of its function variables.
struct FunctionUse {
  std::size_t operands = 0;
  bool has_attributes = false;  ///< they are written; else f brings its own along
};
/// Of its first place in the law; nothing if it does not occur.
std::optional<FunctionUse> use_of(const Rule& law, std::string_view variable);
/// The operators that the variable stands for in the law.
std::vector<const Signature*> members_of(const Rule& law, const FunctionVariable& variable);

/// The law for these members, one for each of its variables: an ordinary rule, whose name has the member's where the
/// law's has the variable. Attributes that a member brings along become variables of the rule.
Rule with_members(const Rule& law, const std::vector<const Signature*>& members);

}  // namespace taso::rules
