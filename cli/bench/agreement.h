// Compares outputs of a device with the CPU reference, allowing for rounding.
#pragma once

#include <optional>
#include <vector>

#include "cost/pricing/precision.h"
#include "ops/graph/graph.h"
#include "runtime/host/interpreter.h"

namespace taso::cli {

/// The distance of two arrays of the same shape, relative to the norm of the first; infinite where only one is finite.
double relative_error(const Array& expected, const Array& actual);
/// The relative error that is accepted without further checks.
double tolerance_of(cost::Precision precision);

/// The result for all outputs together.
struct Agreement {
  bool agrees = true;
  double error = 0;  ///< the largest error; if some outputs do not agree, the largest of those
  /// The error of that output by rounding alone; only if it exceeds the tolerance and the precision rounds.
  std::optional<double> rounding_error;
};

/// Whether outputs do not agree, but rounding alone explains it: the precision does not suit the model.
bool is_rounding_as_far(const Agreement& agreement);

/// Compares outputs with the reference result for the inputs. An output beyond the tolerance of its precision still
/// agrees if rounding alone takes the reference about as far; the reference runs once more to find out. Throws
/// InputError if it cannot run.
Agreement agreement_of(const Graph& graph, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                       cost::Precision precision, const runtime::InterpreterOptions& options);

}  // namespace taso::cli
