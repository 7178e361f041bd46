// Takes weights out of the message of a model and puts them back, for files that hold them beside it: a message ends at
// 2 GB.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/model/model.h"

namespace taso::onnx {

struct DetachedWeight {
  std::string_view bytes;
  std::shared_ptr<const void> owner;  ///< keeps the bytes
};

/// Takes out all weights of `smallest` bytes or more, and external ones of any size. The message keeps their numbers in
/// the result. Throws InputError if an external one cannot be read.
std::vector<DetachedWeight> detach_weights(Model& model, std::size_t smallest = 1024);
/// The inverse. Throws InputError unless the message refers to each of them, and to nothing else.
void attach_weights(Model& model, std::span<const std::string_view> weights);
/// Reads external weights into the message, which may then have more than 2 GB and cannot be written as it is.
void take_in_weights(Model& model);

}  // namespace taso::onnx
