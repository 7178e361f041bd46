// Parts of a model as models of their own, to find the smallest one that still shows a fault.
#pragma once

#include <vector>

#include "onnx/import/import.h"
#include "onnx/model/model.h"

namespace taso::onnx {

/// The model with only those nodes of the main graph whose place is true in `kept`. Values that they take from others
/// become inputs, with the types in `imported` (of the whole model); what none of them uses becomes an output. Weights
/// that nothing uses are left out.
Model part_of(const Model& model, const std::vector<bool>& kept, const ImportedModel& imported);

}  // namespace taso::onnx
