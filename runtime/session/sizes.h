// The sizes that inputs of a run give to the unknown dimensions of a model.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ops/core/error.h"
#include "ops/core/shape.h"

namespace taso::runtime {

/// A tensor of the caller does not fit what the model declares. Other errors of a run are the model's.
struct BadTensor : InputError {
  using InputError::InputError;
};

/// By the name of the dimension.
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

/// Adds what an input of this shape tells. `name` is for messages. Throws BadTensor if the shape does not fit the
/// declared one or the sizes so far.
void learn_sizes(const std::string& name, const std::optional<Shape>& declared, const Extents& extents, Sizes& sizes);

/// The size of a dimension; nothing if it depends on more than the shapes of inputs.
std::optional<std::int64_t> size_of(const Dim& dim, const Sizes& sizes);

}  // namespace taso::runtime
