#pragma once

#include "onnx/export/edit.h"

namespace taso::runtime {

/// Cleans a model up, and brings it into the form in which it runs best here. It computes the same.
void bring_into_run_form(onnx::GraphEdit& edit);

}  // namespace taso::runtime
