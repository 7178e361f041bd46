// Compares parts of models by their data. The bytes of a message do not suffice: its data may be in a file, which
// differs in another folder, and the same data may be in the message instead.
#pragma once

#include <filesystem>

#include "onnx/model/model_tensors.h"

namespace taso::onnx {

/// Replaces the tensor's raw or external data by a hash, independent of where the data was. Throws InputError.
void name_data_by_hash(proto::TensorProto& tensor, const std::filesystem::path& folder);

/// A copy of the message with the data of every tensor replaced by a hash: two copies have equal bytes only if the data
/// is equal. `folder` is where external data is. Throws InputError.
template <class Message>
Message content_of(const Message& message, const std::filesystem::path& folder) {
  Message copy = message;
  for_each_tensor(copy, [&](proto::TensorProto& tensor, bool) { name_data_by_hash(tensor, folder); });
  return copy;
}

}  // namespace taso::onnx
