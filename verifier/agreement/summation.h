// Which input elements each output adds up, at known sizes. Outputs with the same summation interval are decided by a
// few of them (PET, theorem 1). The theorem's condition is checked here, never assumed.
#pragma once

#include <cstddef>
#include <vector>

#include "rules/instance/concrete.h"
#include "verifier/agreement/field_agreement.h"

namespace taso::verifier {

/// Neighbouring positions with the same summation interval: each side adds up the same terms, with the elements of each
/// input moved by some distance.
struct SummationGroup {
  std::vector<std::size_t> positions;  ///< as places in row-major order
  Block hull;                          ///< the smallest block around them
  bool is_block = false;               ///< they fill it
  bool is_linear = false;              ///< the distances are linear in the position, on each side
  /// The theorem's condition: if the sides agree at a corner and at its neighbours, they agree on the whole group.
  bool fits() const { return is_block && is_linear; }
};

struct Summation {
  /// Both sides are sums of products in which each input occurs at most once. If not, there are no groups.
  bool is_multilinear = true;
  std::size_t degree = 0;  ///< the most factors of a product
  std::vector<SummationGroup> groups;
};
Summation summation_of(const rules::ConcreteInstance& concrete);

/// PET's decision: a few positions of each group that fits, and all positions of the others. A group in which not all
/// of the few agree is also examined completely, for the theorem does not say where it differs.
struct FewPositions {
  std::vector<bool> equal;
  std::size_t examined = 0;  ///< positions
  std::size_t decided = 0;   ///< groups that a few positions decided
};
FewPositions decide_by_few(const FieldAgreement& agreement, const Summation& summation);

}  // namespace taso::verifier
