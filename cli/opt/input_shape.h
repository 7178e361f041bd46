// Shapes and data for the inputs of a model, as given on the command line.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnx/model/model.h"
#include "ops/core/array.h"
#include "ops/graph/graph.h"

namespace taso::cli {

/// "name:1,3,224,224" or "name:1x3x224x224". The name is missing if only a shape was given.
struct InputShape {
  std::optional<std::string> input;
  Extents extents;
  bool operator==(const InputShape&) const = default;
};

/// Splits at the last colon, because names may contain colons. Throws UsageError.
InputShape parse_input_shape(const std::string& text);

/// The inputs that a caller must provide: those without an initializer, in order.
std::vector<std::string> real_inputs(const proto::ModelProto& model);

/// The shapes by input. Throws UsageError for a name that is not an input, a repeated name, or a shape that does not
/// fit the declared one.
std::map<std::string, Extents> test_shapes(const proto::ModelProto& model, std::span<const InputShape> shapes);

/// Changes the declared inputs. Unknown dimensions get the given number, everywhere the model uses the same name. Known
/// dimensions stay, except the first, because the batch may change. Declared shapes inside the model that may be stale
/// are dropped; those of the outputs are inferred again. Throws UsageError for a shape that does not fit, before any
/// change, and InputError if the model itself contains other shapes.
void overwrite_input_shapes(onnx::Model& model, std::span<const InputShape> shapes);

/// Throws InputError if a Reshape in the model contradicts the requested shapes. Running the model would find that;
/// pricing, measuring and writing it would not.
void require_matching_reshapes(const Graph& graph);

/// Reads "name:file.npy", or "file.npy" if there is one input. Throws UsageError for a name that is not an input,
/// InputError for a file that cannot be read or has another type than declared.
std::map<std::string, Array> read_input_data(const proto::ModelProto& model, std::span<const std::string> texts);

}  // namespace taso::cli
