// Checks of the types that a model declares, and which operators need operands of one type.
#pragma once

#include <filesystem>
#include <string_view>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// TensorProto.DataType of a declared tensor; 0 if it is not a tensor or its type is unknown.
int declared_element(const proto::ValueInfoProto& value);

/// Throws InputError if a declaration has no type although one is required, or a tensor without an element type.
void check_declaration(const proto::ValueInfoProto& value, std::string_view what, bool required);

/// Throws InputError if an initializer does not fit the declaration of the input with the same name. A negative
/// dimension there is unknown, as some exporters write it.
void check_fits(const proto::TensorProto& tensor, const proto::ValueInfoProto& input);

/// Throws InputError if the indices and values of a sparse tensor do not belong together. Their data is checked
/// elsewhere.
void check_sparse(const proto::SparseTensorProto& tensor);
/// Throws InputError if indices are out of range or do not ascend. Requires check_sparse() and valid data.
void check_indices(const proto::SparseTensorProto& tensor, const std::filesystem::path& folder);

/// Whether an operator of ONNX's own domain needs the same element type for all operands.
bool operands_are_alike(std::string_view op_type);

}  // namespace taso::onnx
