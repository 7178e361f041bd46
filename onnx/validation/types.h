// What a model declares of its values' types, and which operators want their operands alike.
#pragma once

#include <filesystem>
#include <string_view>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// TensorProto.DataType of a declared tensor; 0 if it is none or of no known type.
int declared_element(const proto::ValueInfoProto& value);

/// Refuses a declaration without a type (where one is required) or whose tensors have no element type. Throws
/// InputError.
void check_declaration(const proto::ValueInfoProto& value, std::string_view what, bool required);

/// Refuses an initializer that does not fit what the input of its name declares. A negative dimension there is unknown,
/// as some exporters write it. Throws InputError.
void check_fits(const proto::TensorProto& tensor, const proto::ValueInfoProto& input);

/// Refuses a sparse tensor whose indices and values do not belong together; their data is looked at elsewhere. Throws
/// InputError.
void check_sparse(const proto::SparseTensorProto& tensor);
/// Refuses one whose indices are out of range or do not ascend. check_sparse() and the data have to be right. Throws
/// InputError.
void check_indices(const proto::SparseTensorProto& tensor, const std::filesystem::path& folder);

/// Whether an operator of ONNX's own domain wants one element type for all of its operands.
bool operands_are_alike(std::string_view op_type);

}  // namespace taso::onnx
