// Proves that operators belong to the classes that laws are stated for. A law for a class is proved once, from the
// definition of the class alone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rules/language/function_class.h"
#include "verifier/verify.h"

namespace taso::verifier {

struct Membership {
  const rules::FunctionClass* of = nullptr;
  const rules::Signature* member = nullptr;
  std::string name;  ///< "relu-is-rising"

  bool operator==(const Membership&) const = default;
};

/// The memberships that the proofs of the laws depend on, each once. Laws for a class that is proved member by member
/// need none.
std::vector<Membership> memberships(std::span<const rules::Rule> laws);

/// Whether one proof covers all members: the normal form knows what defines the law's classes.
bool is_proved_once(const rules::Rule& law);

/// Validates a membership, such as f(0) = 0, like a property: by the normal form for all shapes, by Z3 at small ones,
/// and with numbers at random ones. That an operator is element-wise is read off its normal form.
PropertyVerdict validate(const Membership& membership, const ValidateOptions& options = {},
                         const std::stop_token& stop = {});

}  // namespace taso::verifier
