// Tensor messages: what their dimensions and types ask for, and whether the data that they carry fits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "onnx/model/messages.h"
#include "ops/core/shape.h"

namespace taso::onnx {

/// The element type behind TensorProto.DataType; undefined for those that we carry along without modelling them.
ElementType element_type_from_onnx(int data_type);
/// The other way; `type` must not be undefined.
int onnx_data_type(ElementType type);
/// Bits of one element; nothing for strings and for types that we do not know.
std::optional<unsigned> bits_of_data_type(int data_type);
/// "float32", "float8e4m3fn", "type 99".
std::string data_type_name(int data_type);

/// The dimensions, none of them negative, with a number of bytes that can be addressed. Throws InputError.
Extents extents_of(const proto::TensorProto& tensor);
/// How many bytes the elements take in raw form; nothing for strings and unknown types. Throws InputError.
std::optional<std::uint64_t> raw_bytes_of(const proto::TensorProto& tensor);

/// Refuses a tensor whose dimensions are wrong or whose data does not fit them; for external data looks at the file's
/// size only. Throws InputError.
void check_tensor(const proto::TensorProto& tensor, const std::filesystem::path& folder);

}  // namespace taso::onnx
