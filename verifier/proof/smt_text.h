// Questions about integers as SMT-LIB 2.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rules/instance/equations.h"

namespace taso::verifier {

class SmtText {
 public:
  void declare(const rules::Unknown& unknown);
  void assume(const rules::Requirement& requirement);
  /// Asserts that one of them fails.
  void deny(const std::vector<rules::Requirement>& requirements);
  /// Everything so far, without check-sat.
  std::string text() const { return "(set-logic QF_NIA)\n" + declarations_ + assertions_; }

 private:
  std::string term(const Dim& dim);
  std::string formula(const rules::Requirement& requirement, bool is_assumed);
  std::string declarations_, assertions_;
  std::map<std::string, std::string> names_;      // of unknowns
  std::map<std::string, std::string> quotients_;  // by their text
};

}  // namespace taso::verifier
