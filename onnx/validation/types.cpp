#include "onnx/validation/types.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/model/model.h"
#include "onnx/model/model_names.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/array.h"
#include "ops/core/error.h"

namespace taso::onnx {
namespace {

/// Operators of ONNX's own domain whose operands all have one element type in every opset.
constexpr std::array<std::string_view, 28> alike = {"Add",
                                                    "And",
                                                    "BitwiseAnd",
                                                    "BitwiseOr",
                                                    "BitwiseXor",
                                                    "Concat",
                                                    "Conv",
                                                    "ConvTranspose",
                                                    "Div",
                                                    "Einsum",
                                                    "Equal",
                                                    "Gemm",
                                                    "Greater",
                                                    "GreaterOrEqual",
                                                    "InstanceNormalization",
                                                    "Less",
                                                    "LessOrEqual",
                                                    "MatMul",
                                                    "Max",
                                                    "Mean",
                                                    "Min",
                                                    "Mod",
                                                    "Mul",
                                                    "Or",
                                                    "PRelu",
                                                    "Sub",
                                                    "Sum",
                                                    "Xor"};

/// Newer schemas have kinds of types that ours may not know; they are kept.
bool has_kind(const proto::TypeProto& type) {
  return type.value_case() != proto::TypeProto::VALUE_NOT_SET || !type.unknown_fields().empty();
}

}  // namespace

int declared_element(const proto::ValueInfoProto& value) {
  return value.has_type() && value.type().has_tensor_type() ? value.type().tensor_type().elem_type() : 0;
}

void check_declaration(const proto::ValueInfoProto& value, std::string_view what, bool required) {
  if (value.name().empty()) throw InputError(fmt::format("{} without a name", what));
  const auto refuse = [&](std::string_view reason) {
    throw InputError(fmt::format("{} {} {}", what, in_quotes(value.name()), reason));
  };
  if (!value.has_type() || !has_kind(value.type())) {
    if (required) refuse("has no type");
    return;
  }
  // Go down through sequences, optionals and maps.
  for (const proto::TypeProto* type = &value.type(); type != nullptr;) {
    const proto::TypeProto* inner = nullptr;
    switch (type->value_case()) {
      case proto::TypeProto::kTensorType:
        if (type->tensor_type().elem_type() <= 0) refuse("is a tensor without an element type");
        break;
      case proto::TypeProto::kSparseTensorType:
        if (type->sparse_tensor_type().elem_type() <= 0) refuse("is a sparse tensor without an element type");
        break;
      case proto::TypeProto::kSequenceType:
        if (required && !type->sequence_type().has_elem_type()) refuse("is a sequence of nothing");
        inner = &type->sequence_type().elem_type();
        break;
      case proto::TypeProto::kOptionalType:
        if (required && !type->optional_type().has_elem_type()) refuse("is an optional of nothing");
        inner = &type->optional_type().elem_type();
        break;
      case proto::TypeProto::kMapType:
        if (required && (!type->map_type().has_key_type() || !type->map_type().has_value_type()))
          refuse("is a map without keys or values");
        inner = &type->map_type().value_type();
        break;
      case proto::TypeProto::kOpaqueType:
        if (required && type->opaque_type().name().empty()) refuse("is of a type without a name");
        break;
      default: break;
    }
    type = inner;
  }
}

void check_fits(const proto::TensorProto& tensor, const proto::ValueInfoProto& input) {
  const auto refuse = [&](const std::string& reason) {
    throw InputError(
        fmt::format("initializer {} does not fit the input of that name: {}", in_quotes(tensor.name()), reason));
  };
  if (!input.has_type() || !input.type().has_tensor_type()) return;
  const auto& declared = input.type().tensor_type();
  if (declared.elem_type() != tensor.data_type())
    refuse(fmt::format("it is of {}, not of {}", data_type_name(tensor.data_type()),
                       data_type_name(declared.elem_type())));
  if (!declared.has_shape()) return;
  const auto& dims = declared.shape().dim();
  bool fits = dims.size() == tensor.dims_size();
  for (int i = 0; fits && i < dims.size(); ++i)
    fits = !dims.Get(i).has_dim_value() || dims.Get(i).dim_value() < 0 || dims.Get(i).dim_value() == tensor.dims(i);
  if (fits) return;
  std::vector<std::string> wanted;
  for (const auto& dim : dims)
    wanted.push_back(dim.has_dim_value()   ? std::to_string(dim.dim_value())
                     : dim.has_dim_param() ? dim.dim_param()
                                           : "?");
  refuse(fmt::format("its dimensions are [{}], not {}", fmt::join(tensor.dims(), ", "),
                     in_quotes(fmt::format("[{}]", fmt::join(wanted, ", ")))));
}

void check_sparse(const proto::SparseTensorProto& tensor) {
  const auto refuse = [&](std::string_view reason) {
    throw InputError(fmt::format("sparse tensor {}: {}", in_quotes(tensor.values().name()), reason));
  };
  proto::TensorProto whole;
  whole.set_name(tensor.values().name());
  if (tensor.dims_size() == 0) refuse("it has no dimensions");
  *whole.mutable_dims() = tensor.dims();
  extents_of(whole);
  const auto& values = tensor.values();
  const auto& indices = tensor.indices();
  if (!tensor.has_values() || values.dims_size() != 1) refuse("the values are not a vector");
  if (!tensor.has_indices()) {
    if (values.dims(0) != 0) refuse("no indices");
    return;
  }
  if (indices.data_type() != proto::TensorProto::INT64) refuse("the indices are not of int64");
  const bool linear = indices.dims_size() == 1;
  const bool rows = indices.dims_size() == 2 && indices.dims(1) == tensor.dims_size();
  if ((!linear && !rows) || indices.dims(0) != values.dims(0)) refuse("indices and values do not belong together");
}

void check_indices(const proto::SparseTensorProto& tensor, const std::filesystem::path& folder) {
  if (!tensor.has_indices()) return;
  const auto refuse = [&](std::string_view reason) {
    throw InputError(fmt::format("sparse tensor {}: {}", in_quotes(tensor.values().name()), reason));
  };
  const Array indices = read_tensor(tensor.indices(), folder);
  const auto numbers = indices.values<std::int64_t>();
  std::int64_t whole = 1;
  for (const std::int64_t dim : tensor.dims()) whole *= dim;  // does not overflow: check_sparse() has checked it
  const auto rank = static_cast<std::size_t>(tensor.dims_size());
  const std::size_t row = indices.rank() == 1 ? 1 : rank;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < numbers.size(); i += row) {
    std::int64_t place = 0;
    for (std::size_t j = 0; j < row; ++j) {
      const std::int64_t extent = indices.rank() == 1 ? whole : tensor.dims(static_cast<int>(j));
      if (numbers[i + j] < 0 || numbers[i + j] >= extent) refuse("an index is out of range");
      place = indices.rank() == 1 ? numbers[i] : place * extent + numbers[i + j];
    }
    if (place <= last) refuse("the indices do not ascend");
    last = place;
  }
}

bool operands_are_alike(std::string_view op_type) { return std::binary_search(alike.begin(), alike.end(), op_type); }

}  // namespace taso::onnx
