// Shapes and data for a model's inputs, as the command line names them.
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

/// "name:1,3,224,224" or "name:1x3x224x224"; no name when there was only a shape.
struct InputShape {
  std::optional<std::string> input;
  Extents extents;
  bool operator==(const InputShape&) const = default;
};

/// Splits at the last colon, for names contain colons. Throws UsageError.
InputShape parse_input_shape(const std::string& text);

/// The inputs that a caller has to give: those without an initializer, in order.
std::vector<std::string> real_inputs(const proto::ModelProto& model);

/// The shapes by input. Throws UsageError when one names no input, names it twice, or does not fit the declared shape.
std::map<std::string, Extents> test_shapes(const proto::ModelProto& model, std::span<const InputShape> shapes);

/// Changes the declared inputs. Unknown dimensions take the number given, also wherever else the model uses the same
/// name for one. A dimension that is a number already stays, except the first: a batch may be changed. Declared shapes
/// inside the model that would be stale then are dropped, and those of the outputs inferred anew. Throws UsageError for
/// what does not fit, before anything is changed, and InputError where the model itself names other shapes inside.
void overwrite_input_shapes(onnx::Model& model, std::span<const InputShape> shapes);

/// Shapes that a model names inside may not go with those that were asked for. Running it would tell; pricing, measuring and
/// writing it would not. Throws InputError.
void require_matching_reshapes(const Graph& graph);

/// Reads "name:file.npy" (or "file.npy" where there is one input). Throws UsageError for a name that is no input,
/// InputError for a file that cannot be read or is not of the declared type.
std::map<std::string, Array> read_input_data(const proto::ModelProto& model, std::span<const std::string> texts);

}  // namespace taso::cli
