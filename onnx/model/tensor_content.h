// Parts of models that are to be compared by what they hold. The bytes of a message do not tell: data may lie in a file, which
// has other contents in another folder, and the same data may lie in the message.
#pragma once

#include <filesystem>

#include "onnx/model/model_tensors.h"

namespace taso::onnx {

/// Puts a hash where the tensor's raw or external data is, and nothing about where that was. Throws InputError.
void name_data_by_hash(proto::TensorProto& tensor, const std::filesystem::path& folder);

/// A copy of the message in which this is done to every tensor: two of them have the same bytes only if they have the same
/// data. `folder` is where external data is looked for. Throws InputError.
template <class Message>
Message content_of(const Message& message, const std::filesystem::path& folder) {
  Message copy = message;
  for_each_tensor(copy, [&](proto::TensorProto& tensor, bool) { name_data_by_hash(tensor, folder); });
  return copy;
}

}  // namespace taso::onnx
