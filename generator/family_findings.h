// What a family yields: equalities from which the others follow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/generate.h"
#include "generator/selection/select.h"

namespace taso::generator {

struct FamilyFindings {
  FamilyReport report;
  std::uint64_t renamed = 0, following = 0;  ///< equalities; see GenerateReport and Selection
  std::vector<Equality> equalities;
  bool complete = true;
};

/// Without what depends on the machine: memory, and the records in temporary files.
std::string bytes_of(const FamilyFindings& findings);
FamilyFindings family_findings_from(const std::string& bytes);

/// Enumerates a family and selects among the equalities, or takes what an earlier run kept under the family's name.
FamilyFindings find_in(const Family& family, EnumerateOptions enumerating, SelectOptions selecting,
                       const StageFunctions& stages, const std::string& name);

}  // namespace taso::generator
