// Where two programs agree at known sizes, found with random inputs over the prime field, position by position.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/instance/concrete.h"
#include "verifier/agreement/box.h"

namespace taso::verifier {

struct FieldAgreement {
  Extents extents;          ///< of the result
  std::vector<bool> equal;  ///< for each position, in row-major order
};

/// Compares the first results of both sides with that many random inputs.
FieldAgreement agreement_in_field(const rules::ConcreteInstance& concrete, std::size_t inputs, Random& random);

/// Bounds the probability that a position passes although the two programs differ there, if they are polynomials of at
/// most this degree: by the lemma of Schwartz and Zippel, for each random input at most degree / size of the field.
double error_bound(std::size_t degree, std::size_t inputs);

/// Blocks that together cover exactly the positions that are equal. None can be extended along an axis; they may
/// overlap. Stops after `most` blocks.
std::vector<Block> maximal_blocks(const FieldAgreement& agreement, std::size_t most);

/// Counts marked positions of a block in constant time.
class BlockCounter {
 public:
  BlockCounter(const Extents& extents, const std::vector<bool>& marked);
  std::int64_t count(const Block& block) const;

 private:
  std::vector<std::int64_t> strides_;
  std::vector<std::int64_t> sums_;  // of all positions below an index, with a border of zeros
};

}  // namespace taso::verifier
