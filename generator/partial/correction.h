// Makes a partly right program right: where it is wrong, the operator itself is applied to what it needs there.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "generator/partial/source.h"
#include "ops/core/dim.h"

namespace taso::generator {

/// An interval of positions along an axis of the output. The unknowns of its bounds have terms of the rule language as
/// names: "dim(x, 2)".
struct Span {
  ops::Dim low, high;
  bool from_start = true, to_end = true;  ///< whether the bounds are those of the axis
  bool is_whole() const { return from_start && to_end; }
  bool operator==(const Span&) const = default;
};

/// Where a program is right: boxes with a span for each axis of the output. They may overlap.
struct Region {
  std::vector<std::vector<Span>> boxes;
  std::string obstacle;  ///< why nothing is known
};

/// A bound in the rule language.
Size size_of(ops::Dim dim);

/// The spans along an axis on which the program is right, whatever the position along other axes; sorted. Nothing if
/// there is no such span, or if their order is not evident.
std::optional<std::vector<Span>> right_along(const Region& region, std::size_t axis);

/// A span of the first spatial axis as one of another: "dim(x, 2)" becomes "dim(x, 3)", "p0" becomes "p1".
Span moved_to(const Span& span, std::size_t spatial);

/// The program with corrected parts laid over it, along each of the changed axes. `right` are the spans of a single
/// spatial axis. Adds what this assumes: no part is empty, and parts of the input lie within it.
Expression corrected(const Source& source, const WrittenSource& operands, const Expression& program,
                     const std::vector<Span>& right, const Lift& lift, const Writer& writer,
                     std::set<std::string>& conditions);

/// "p0 <= i2 < dim(x, 2) - q0", for each of the changed axes.
std::string text_of(const std::vector<Span>& right, const Lift& lift);

/// The share of positions in these spans, along one axis of ordinary length with a window of 3.
double ordinary_share(const std::vector<Span>& right, const Source& source);

}  // namespace taso::generator
