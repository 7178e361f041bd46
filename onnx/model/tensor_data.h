// Tensor messages: the data that dimensions and types require, and checks of the data that is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "onnx/model/messages.h"
#include "ops/core/shape.h"

namespace taso::onnx {

/// The element type for TensorProto.DataType; undefined for types that we do not model.
ElementType element_type_from_onnx(int data_type);
/// The inverse; `type` must not be undefined.
int onnx_data_type(ElementType type);
/// Bits per element; nothing for strings and unknown types.
std::optional<unsigned> bits_of_data_type(int data_type);
/// "float32", "float8e4m3fn", "type 99".
std::string data_type_name(int data_type);

/// The dimensions; none is negative, and the number of bytes is addressable. Throws InputError.
Extents extents_of(const proto::TensorProto& tensor);
/// The size of the elements in raw form, in bytes; nothing for strings and unknown types. Throws InputError.
std::optional<std::uint64_t> raw_bytes_of(const proto::TensorProto& tensor);

/// Throws InputError if the dimensions are invalid or the data does not fit them. For external data, checks only the
/// size of the file.
void check_tensor(const proto::TensorProto& tensor, const std::filesystem::path& folder);

}  // namespace taso::onnx
