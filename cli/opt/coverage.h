// How much of a model the search understands: what it has to leave alone, and why.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "onnx/import/import.h"
#include "onnx/import/view.h"

namespace taso::cli {

struct Coverage {
  std::size_t operators = 0;   ///< nodes of the main graph that compute something
  std::size_t understood = 0;  ///< those that are operators of ours
  /// The others, opaque to the search: reason, operator, how many.
  std::map<std::string, std::map<std::string, std::size_t>> opaque;
};

Coverage coverage_of(const onnx::ModelView& view, const onnx::Imported& imported);

/// One line: "understood 7 of 9 operators; opaque: 2 Add (on int64)".
std::string text_of(const Coverage& coverage);

}  // namespace taso::cli
