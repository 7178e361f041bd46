// Whether the weights of a rewritten model, and the types that it declares, are those of the original or plainly new: a
// model is loaded by all that it says, not only by what its outputs need.
#pragma once

#include <string>

#include "onnx/import/import.h"
#include "onnx/model/model.h"

namespace taso::verifier {

/// A weight of `after` has the name and the content of one of `before`, or is used and says nothing beyond its numbers.
/// Returns what is wrong with the first that is not so; empty if none is. Both models are valid.
std::string trouble_with_weights(const onnx::Model& before, const onnx::Model& after);

/// A type that `after` declares for a value inside is one that `before` declares, and does not contradict what is known
/// of the value, unless it did so before. `original` and `written` are the two models as imported.
std::string trouble_with_declarations(const onnx::Model& before, const onnx::Imported& original,
                                      const onnx::Model& after, const onnx::Imported& written);

}  // namespace taso::verifier
