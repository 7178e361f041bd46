// Checks that the weights and declared types of a rewritten model are those of the original or plainly new: a model is
// loaded with all that it contains, not only with what its outputs need.
#pragma once

#include <string>

#include "onnx/import/import.h"
#include "onnx/model/model.h"

namespace taso::verifier {

/// A weight of `after` must have the name and the content of one of `before`, or be used and contain nothing beyond its
/// numbers. Returns what is wrong with the first that breaks this; empty if none does. Both models are valid.
std::string trouble_with_weights(const onnx::Model& before, const onnx::Model& after);

/// A type that `after` declares for an inner value must be one that `before` declares, and must not contradict what is
/// known about the value, unless it did so before. `original` and `written` are the two models as imported.
std::string trouble_with_declarations(const onnx::Model& before, const onnx::ImportedModel& original,
                                      const onnx::Model& after, const onnx::ImportedModel& written);

}  // namespace taso::verifier
