// Programs that compute the same as an operator on at least a part of its output: found by trying, at one sample.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "generator/partial/addition.h"
#include "generator/partial/mutant_counts.h"
#include "generator/partial/rearrangement.h"
#include "generator/partial/source.h"

namespace taso::generator {

/// A program: operands are padded and rearranged, an operator of the same kind is applied, its result is rearranged.
struct Recipe {
  enum class Border { none, own, own_and_one };  ///< zeros around x: none, the operator's padding, one more behind
  /// The filters: as they are; with one more tap, which is zero; of two groups, or of all, as one with zeros.
  enum class Filters { own, one_before, one_behind, paired, dense };
  enum class Pads { none, own, divided };  ///< of the inner operator; divided by the factor
  Border border = Border::none;
  bool unfolds = false;  ///< the taps of the window become channels
  Filters filters = Filters::own;
  Rearrangement x, w, result;
  Pads pads = Pads::none;
  bool keeps_stride = false, keeps_dilation = false;
  bool convolves = false;  ///< of a transposed convolution: the inner operator is a convolution
  bool trims = false;      ///< the result is longer than it should be by the operator's padding, which is cut off
  bool sums = false;       ///< of a product: adds up the parts
  Addition addition;       ///< if it has parts, the program is this

  /// Whether the inner operator has fewer spatial axes.
  bool drops() const { return x.groups.size() == 2 && !w.groups.empty() && w.groups.size() == 2; }
};

/// The program; nothing if it has no shape at the sample or cannot be lifted.
std::optional<Expression> written(const Recipe& recipe, const Source& source, const WrittenSource& operands,
                                  const Lift& lift, const Writer& writer);

/// "space-to-batch": what the program does, in words.
std::string name_of(const Recipe& recipe, const Source& source);

struct Mutant {
  Recipe recipe;
  double share = 0;  ///< of the output that is right at the sample
};

/// The programs that are right on at least this share of the output, for a lift; of those that do the same work, the
/// one that is right most often and is written with the fewest operators. `lift` has one changed axis. With `drops`,
/// the inner operator has fewer axes.
std::vector<Mutant> mutants_of(const Source& source, const Lift& lift, bool drops, double least_share,
                               MutantCounts& counts, const std::stop_token& stop = {});

}  // namespace taso::generator
