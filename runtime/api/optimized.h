// The search for a faster model, for a library: without signals, and without a word on stderr.
#pragma once

#include "onnx/model/model.h"
#include "runtime/session/session_options.h"

namespace taso::runtime {

/// What taso-opt makes of the model in the time that the options allow. Throws InputError, EnvironmentError, Cancelled,
/// and CheckFailed if the result computes something else.
onnx::Model optimized(const onnx::Model& model, const SessionOptions& options);

struct CheckFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace taso::runtime
