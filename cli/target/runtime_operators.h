// Operators that only ONNX Runtime has, in models that will run there. They are used only if the user allows it, and
// only where a small model with them is faster than one without, measured on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/target/onnxruntime.h"
#include "cli/target/runtime_times.h"
#include "onnx/export/edit.h"

namespace taso::cli {

class RuntimeOperators {
 public:
  /// `runtime` must outlive this.
  explicit RuntimeOperators(OnnxRuntime& runtime) : runtime_(runtime) {}
  /// Uses them in an edit of the model wherever they are faster. Returns the names of the results that they compute.
  /// Equal places are measured once.
  std::vector<std::string> use(onnx::GraphEdit& edit, const onnx::Model& model);
  /// What was measured, with the places in the edit that came last.
  std::vector<RuntimeTimes::OwnOperator> found() const;

 private:
  OnnxRuntime& runtime_;
  std::map<std::string, RuntimeTimes::OwnOperator> measured_;  // by form
};

}  // namespace taso::cli
