// What it takes to be of a class of operators, proved of every member that laws are stated for. Laws for a class are
// proved once, from this alone.
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

/// Those that the proofs of the laws rest on, each once. Laws for a class that is proved member by member need none.
std::vector<Membership> memberships(std::span<const rules::Rule> laws);

/// Whether one proof can do for all members: the normal form knows what is to be known of the law's classes.
bool is_proved_once(const rules::Rule& law);

/// That f(0) = 0 and the like: by the normal form for all shapes, by Z3 at small ones, with numbers at random ones, as
/// a property is. That an operator is element-wise is read off its normal form.
PropertyVerdict validate(const Membership& membership, const ValidateOptions& options = {},
                         const std::stop_token& stop = {});

}  // namespace taso::verifier
