// Programs that add up parts: operators on parts of the operands, or parts of one operator's result.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "generator/partial/mutant_counts.h"
#include "generator/partial/rearrangement.h"
#include "generator/partial/source.h"

namespace taso::generator {

/// The parts are added for one changed axis; for several, there is a part for each choice of one part per axis.
struct Addition {
  /// A part of an operand. Along space, x is without its first or its last element, and w has its first taps or the
  /// others; along other axes it is a half.
  struct Cut {
    std::size_t axis = 0;
    bool is_second = false;
    bool is_spatial() const { return axis == 2; }
  };
  struct Part {
    std::optional<Cut> x, w;
    bool pads_before = false, pads_after = false;  ///< whether its operator has the padding of the source
    bool moves_by_padding = false;                 ///< its result is moved by the padding before, and by `moves`
    std::int64_t moves = 0;
  };
  std::vector<Part> parts;               ///< empty: no such program
  bool has_one_more = false;             ///< the first taps are one more than the padding before
  std::optional<Rearrangement> filters;  ///< the taps become filters of one operator; parts are parts of its result
};

/// The program; nothing if it has no shape at the sample or cannot be lifted.
std::optional<Expression> written(const Addition& addition, const Source& source, const WrittenSource& operands,
                                  const Lift& lift, const Writer& writer);

/// "channels-added": what the program does, in words.
std::string name_of(const Addition& addition, const Source& source);

struct FoundAddition {
  Addition addition;
  double share = 0;  ///< of the output that is right at the sample
};
/// For each way to cut, the program with the fewest operators that is right everywhere, and the one that is right most
/// often if it has fewer. `lift` has one changed axis.
std::vector<FoundAddition> additions_of(const Source& source, const Lift& lift, double least_share,
                                        MutantCounts& counts, const std::stop_token& stop);

}  // namespace taso::generator
