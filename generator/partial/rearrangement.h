// Reshapes and transposes as one step: an axis is cut in two, the axes change their order, and neighbours become one.
#pragma once

#include <optional>
#include <vector>

#include "generator/partial/expression.h"

namespace taso::generator {

/// Programs are found with one spatial axis. They are stated for any number of them: the changed ones, in each of which
/// the program does the same, and others, which it leaves alone.
struct Lift {
  std::size_t axes = 1;                 ///< the number of spatial axes
  std::vector<std::size_t> changed{0};  ///< which of them change, in ascending order
};

/// What becomes of the axes of a tensor: batch, channels and space, or rows and columns.
struct Rearrangement {
  /// An axis, or one of the two parts of the axis that is cut: `factor` has the size of the factor.
  enum class Piece { whole, factor, rest };
  struct Part {
    std::size_t axis = 0;
    Piece piece = Piece::whole;
    bool operator==(const Part&) const = default;
  };
  std::optional<std::size_t> cut;         ///< the axis that is cut
  bool is_factor_inner = false;           ///< the factor is the inner part: it counts neighbours, not runs
  std::vector<std::vector<Part>> groups;  ///< the parts of each axis of the result, outermost first

  bool changes_nothing() const;
  /// The parts that end in another axis than their own.
  std::size_t moved() const;
};

/// All rearrangements of a tensor of one rank to another. If the rank stays, at most one part moves to another axis:
/// others are several of these.
std::vector<Rearrangement> all_rearrangements(std::size_t from, std::size_t to);

/// Axis 2 of the rearrangement is each of the changed spatial axes, if there are any. `factors` has one for each of
/// these (just one without). Nothing if it cannot be done for several axes, or gives no shape. With two groups, the
/// changed axes are gone afterwards; an operand without them gets them back.
std::optional<Expression> rearranged(const Writer& writer, const Expression& x, const Rearrangement& how,
                                     const Lift& lift, const std::vector<Size>& factors);

}  // namespace taso::generator
