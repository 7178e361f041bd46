// Where do two programs agree? The two sides of a rule need not be equal: this finds the boxes of output positions on
// which they are, and proves them for all shapes.
//
// Two ways lead to the answer. At known sizes both sides are evaluated over the prime field, position by position
// (PET's way; field_agreement.h, summation.h). From the boxes found there, bounds in the normal form of both sides
// make boxes for all sizes, and the normal form proves that the difference vanishes on each (normal_form.h). Only
// proved boxes are claimed.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rules/instance/concrete.h"
#include "verifier/agreement/box.h"
#include "verifier/refutation/refute.h"

namespace taso::verifier {

struct AgreementOptions {
  std::uint64_t seed = 1;
  std::size_t sizes = 16;    ///< at which both sides are compared over the field
  std::size_t inputs = 2;    ///< random inputs for each size; 8 times as many if a side is not multilinear
  double most_work = 3e5;    ///< operations at one size: larger ones are skipped
  std::size_t failures = 4;  ///< proofs of boxes that may fail before the rest is left unknown
  NormalFormLimits limits = {60'000, 200'000};
};

/// A part of the output that no proved box covers.
struct OpenBox {
  Box box;
  std::optional<Counterexample> difference;  ///< inputs at which the sides differ in it; nothing: unknown
};

/// What the field says at the sampled sizes.
struct FieldSummary {
  std::size_t sizes = 0;
  std::size_t positions = 0, agreeing = 0;  ///< over all sizes
  std::size_t covered = 0;                  ///< agreeing positions in a proved box
  std::size_t inputs = 0;                   ///< random inputs for each size
  std::optional<double> error;              ///< see error_bound(); nothing if a side is not multilinear
  std::size_t groups = 0;                   ///< of positions with the same summation interval, where they were computed
  std::size_t unfit = 0;                    ///< groups without the condition of PET's theorem
};

/// The share of the output that proved boxes cover, at sizes of ordinary networks.
struct TypicalShare {
  std::string sizes;  ///< "x [1, 2, 56, 56], w [2, 2, 3, 3]"
  double share = 0;
};

struct Agreement {
  Shape shape;              ///< of the result
  std::string choice;       ///< of ranks and axes
  std::vector<Box> proved;  ///< equal there for all sizes; they may overlap
  std::vector<OpenBox> open;
  std::string obstacle;  ///< why nothing can be proved, such as a target of another shape; empty otherwise
  FieldSummary field;
  std::optional<TypicalShare> typical;
  std::string disagreement;  ///< not empty if the two ways contradict each other, which is a bug
  bool is_everywhere() const { return obstacle.empty() && open.empty() && !proved.empty(); }
};

/// The agreement of the two sides of an instance that have one result each.
Agreement agreement_of(const rules::Instance& instance, const AgreementOptions& options = {},
                       const std::stop_token& stop = {});

/// Whether the two sides are equal on the box, for all sizes; false means "cannot tell".
bool is_proved(const rules::Instance& instance, const Box& box, const NormalFormLimits& limits);

/// How a rule writes the unknowns of an instance: "dim(x, 2)", "p[0]".
NameOf names_in(const rules::Instance& instance);

}  // namespace taso::verifier
