// How many operators of a model the search understands, and why it leaves the others alone.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "onnx/import/import.h"
#include "onnx/import/view.h"

namespace taso::cli {

struct Coverage {
  std::size_t operators = 0;   ///< nodes of the main graph that compute something
  std::size_t understood = 0;  ///< those that taso models
  /// The other operators, opaque to the search: count by reason and operator.
  std::map<std::string, std::map<std::string, std::size_t>> opaque;
};

Coverage coverage_of(const onnx::ModelView& view, const onnx::ImportedModel& imported);

/// One line: "understood 7 of 9 operators; opaque: 2 Add (on int64)".
std::string text_of(const Coverage& coverage);

}  // namespace taso::cli
