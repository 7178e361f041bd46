// Whether outputs that a device computed are right, though it rounds: they are compared with the reference on the CPU.
#pragma once

#include <optional>
#include <vector>

#include "cost/pricing/precision.h"
#include "ops/graph/graph.h"
#include "runtime/host/interpreter.h"

namespace taso::cli {

/// The distance of two arrays of one shape, as a share of the first one's norm; infinite where one is finite and the other not.
double relative_error(const Array& expected, const Array& actual);
/// How far an output may be from the reference in any case, measured so.
double tolerance_of(cost::Precision precision);

/// Of all outputs together.
struct Agreement {
  bool agrees = true;
  double error = 0;  ///< of the output that is farthest off; if some do not agree, of these
  /// How far off that output would be by rounding alone; only where it is beyond the tolerance and the precision rounds.
  std::optional<double> rounding_error;
};

/// Whether outputs do not agree, but rounding alone takes them as far: then it is the precision that does not fit the model.
bool is_rounding_as_far(const Agreement& agreement);

/// Compares outputs with what the program computes from the inputs. An output that is beyond the tolerance of its precision
/// agrees if rounding alone takes the reference about as far: for that, the reference runs once more. Throws InputError
/// where it cannot run.
Agreement agreement_of(const Graph& graph, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                       cost::Precision precision, const runtime::InterpreterOptions& options);

}  // namespace taso::cli
