#include "onnx/model/tensor_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "onnx/model/external_data.h"
#include "onnx/model/model.h"
#include "onnx/model/model_names.h"
#include "onnx/model/proto.h"
#include "ops/core/array.h"
#include "ops/core/error.h"

namespace taso::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw data of ONNX is little-endian, and read in place");

struct DataType {
  std::string_view name;
  unsigned bits;  // 0: no fixed size
  ElementType element;
};

/// By TensorProto.DataType. Plain numbers, because the installed schema may be older than the model.
constexpr std::array<DataType, 29> data_types = {{
    {"undefined", 0, ElementType::undefined},
    {"float32", 32, ElementType::float32},
    {"uint8", 8, ElementType::uint8},
    {"int8", 8, ElementType::int8},
    {"uint16", 16, ElementType::uint16},
    {"int16", 16, ElementType::int16},
    {"int32", 32, ElementType::int32},
    {"int64", 64, ElementType::int64},
    {"string", 0, ElementType::undefined},
    {"bool", 8, ElementType::boolean},
    {"float16", 16, ElementType::float16},
    {"float64", 64, ElementType::float64},
    {"uint32", 32, ElementType::uint32},
    {"uint64", 64, ElementType::uint64},
    {"complex64", 64, ElementType::undefined},
    {"complex128", 128, ElementType::undefined},
    {"bfloat16", 16, ElementType::bfloat16},
    {"float8e4m3fn", 8, ElementType::undefined},
    {"float8e4m3fnuz", 8, ElementType::undefined},
    {"float8e5m2", 8, ElementType::undefined},
    {"float8e5m2fnuz", 8, ElementType::undefined},
    {"uint4", 4, ElementType::undefined},
    {"int4", 4, ElementType::undefined},
    {"float4e2m1", 4, ElementType::undefined},
    {"float8e8m0", 8, ElementType::undefined},
    {"uint2", 2, ElementType::undefined},
    {"int2", 2, ElementType::undefined},
    // Six bits, but only the newest schema defines their packing, so the size is not checked.
    {"float6e2m3", 0, ElementType::undefined},
    {"float6e3m2", 0, ElementType::undefined},
}};
constexpr int string_type = 8;

const DataType* find_type(int data_type) {
  return data_type >= 0 && static_cast<std::size_t>(data_type) < data_types.size()
             ? &data_types[static_cast<std::size_t>(data_type)]
             : nullptr;
}

[[noreturn]] void refuse(const proto::TensorProto& tensor, const std::string& reason) {
  throw InputError(fmt::format("tensor {}: {}", in_quotes(tensor.name()), reason));
}

std::int64_t elements_of(const proto::TensorProto& tensor) {
  std::int64_t elements = 1;
  bool empty = false;
  bool overflow = false;
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0) refuse(tensor, fmt::format("negative dimension {}", dim));
    if (dim == 0)
      empty = true;
    else if (__builtin_mul_overflow(elements, dim, &elements) ||
             elements > std::numeric_limits<std::int64_t>::max() / 16)
      overflow = true;
    if (overflow) break;
  }
  // Also if one dimension is 0: strides would overflow.
  if (overflow) refuse(tensor, "the number of elements overflows");
  return empty ? 0 : elements;
}

/// The number of entries in the list field for elements of this type, which is used if they are not raw.
int list_entries(const proto::TensorProto& tensor) {
  switch (tensor.data_type()) {
    case proto::TensorProto::FLOAT:
    case proto::TensorProto::COMPLEX64: return tensor.float_data_size();
    case proto::TensorProto::DOUBLE:
    case proto::TensorProto::COMPLEX128: return tensor.double_data_size();
    case proto::TensorProto::INT64: return tensor.int64_data_size();
    case proto::TensorProto::UINT32:
    case proto::TensorProto::UINT64: return tensor.uint64_data_size();
    case proto::TensorProto::STRING: return tensor.string_data_size();
    default: return tensor.int32_data_size();
  }
}

/// The number of data fields that are filled.
int filled_fields(const proto::TensorProto& tensor) {
  return (tensor.float_data_size() > 0) + (tensor.int32_data_size() > 0) + (tensor.string_data_size() > 0) +
         (tensor.int64_data_size() > 0) + (tensor.double_data_size() > 0) + (tensor.uint64_data_size() > 0) +
         !tensor.raw_data().empty();
}

/// How many entries of the list field the elements take; nothing if the type is unknown.
std::optional<std::int64_t> entries_needed(int data_type, std::int64_t elements) {
  const DataType* type = find_type(data_type);
  if (type == nullptr || data_type == 0) return std::nullopt;
  if (data_type == proto::TensorProto::COMPLEX64 || data_type == proto::TensorProto::COMPLEX128) return 2 * elements;
  if (data_type == string_type) return elements;
  if (type->bits == 0) return std::nullopt;
  // Each entry of int32_data holds one byte of the packed types.
  if (type->bits < 8) return (elements * type->bits + 7) / 8;
  return elements;
}

template <class T, class List>
Array from_list(const Extents& extents, const List& list) {
  Array array(element_type_of<T>, extents);
  const auto out = array.mutable_values<T>();
  for (int i = 0; i < list.size(); ++i) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
      out[static_cast<std::size_t>(i)].bits = static_cast<std::uint16_t>(list.Get(i));
    else if constexpr (std::is_same_v<T, bool>)
      out[static_cast<std::size_t>(i)] = list.Get(i) != 0;
    else
      out[static_cast<std::size_t>(i)] = static_cast<T>(list.Get(i));
  }
  return array;
}

template <class List>
Array view_of_list(ElementType type, const Extents& extents, const List& list) {
  if (list.empty()) return Array(type, extents);
  return Array::view(type, extents, reinterpret_cast<const std::byte*>(list.data()), nullptr);
}

/// A view if the bytes can be used directly, otherwise a copy.
Array from_bytes(ElementType type, const Extents& extents, const std::byte* data, std::size_t bytes,
                 std::shared_ptr<const void> owner) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % size_of(type) == 0;
  // A bool that is neither 0 nor 1 is undefined in C++, so such data is corrected in a copy.
  const bool sound = type != ElementType::boolean ||
                     std::all_of(data, data + bytes, [](std::byte b) { return std::to_integer<int>(b) <= 1; });
  if (aligned && sound && bytes > 0) return Array::view(type, extents, data, std::move(owner));
  Array copy(type, extents);
  std::byte* out = copy.mutable_data();
  if (type == ElementType::boolean)
    std::transform(data, data + bytes, out, [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
  else if (bytes > 0)
    std::memcpy(out, data, bytes);
  return copy;
}

}  // namespace

ElementType element_type_from_onnx(int data_type) {
  const DataType* type = find_type(data_type);
  return type == nullptr ? ElementType::undefined : type->element;
}

int onnx_data_type(ElementType element) {
  const auto found = std::find_if(data_types.begin() + 1, data_types.end(),
                                  [&](const DataType& type) { return type.element == element; });
  check(element != ElementType::undefined && found != data_types.end(), "ONNX has the element type");
  return static_cast<int>(found - data_types.begin());
}

std::optional<unsigned> bits_of_data_type(int data_type) {
  const DataType* type = find_type(data_type);
  return type == nullptr || type->bits == 0 ? std::nullopt : std::optional(type->bits);
}

std::string data_type_name(int data_type) {
  const DataType* type = find_type(data_type);
  return type == nullptr ? fmt::format("type {}", data_type) : std::string(type->name);
}

Extents extents_of(const proto::TensorProto& tensor) {
  elements_of(tensor);
  return Extents(tensor.dims().begin(), tensor.dims().end());
}

std::optional<std::uint64_t> raw_bytes_of(const proto::TensorProto& tensor) {
  const auto elements = static_cast<std::uint64_t>(elements_of(tensor));
  const auto bits = bits_of_data_type(tensor.data_type());
  if (!bits) return std::nullopt;
  return *bits < 8 ? (elements * *bits + 7) / 8 : elements * (*bits / 8);
}

void check_tensor(const proto::TensorProto& tensor, const std::filesystem::path& folder) {
  const int data_type = tensor.data_type();
  if (data_type <= 0) refuse(tensor, "no data type");
  if (tensor.has_segment()) refuse(tensor, "data in segments is not supported");
  const std::optional<std::uint64_t> bytes = raw_bytes_of(tensor);
  const auto shown = [&] { return data_type_name(data_type) + text_of(extents_of(tensor)); };
  if (is_external(tensor)) {
    if (data_type == string_type) refuse(tensor, "strings cannot be external");
    if (filled_fields(tensor) > 0) refuse(tensor, "data is given twice");
    open_external(tensor, folder, bytes);
    return;
  }
  if (filled_fields(tensor) > 1) refuse(tensor, "data is given twice");
  const int entries = list_entries(tensor);
  if (entries == 0 && !tensor.has_raw_data() && filled_fields(tensor) > 0)
    refuse(tensor, "data is in the field of another type");
  if (tensor.has_raw_data()) {
    if (data_type == string_type) refuse(tensor, "strings cannot be raw data");
    if (bytes && tensor.raw_data().size() != *bytes)
      refuse(tensor, fmt::format("{} bytes of data where {} needs {}", tensor.raw_data().size(), shown(), *bytes));
    if (entries > 0) refuse(tensor, "data is given twice");
    return;
  }
  const auto needed = entries_needed(data_type, elements_of(tensor));
  if (needed && entries != *needed)
    refuse(tensor, fmt::format("{} entries of data where {} needs {}", entries, shown(), *needed));
}

Array read_tensor(const proto::TensorProto& tensor, const std::filesystem::path& folder) {
  const ElementType type = element_type_from_onnx(tensor.data_type());
  if (type == ElementType::undefined)
    refuse(tensor, fmt::format("elements of type {} are not modelled", data_type_name(tensor.data_type())));
  const Extents extents = extents_of(tensor);
  if (is_external(tensor)) {
    const ExternalFile source = open_external(tensor, folder, raw_bytes_of(tensor));
    MappedBytes mapped = map_external(source);
    return from_bytes(type, extents, mapped.data, static_cast<std::size_t>(source.region.length),
                      std::move(mapped.owner));
  }
  check_tensor(tensor, folder);
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    return from_bytes(type, extents, reinterpret_cast<const std::byte*>(raw.data()), raw.size(), nullptr);
  }
  switch (type) {
    case ElementType::float32: return view_of_list(type, extents, tensor.float_data());
    case ElementType::float64: return view_of_list(type, extents, tensor.double_data());
    case ElementType::int64: return view_of_list(type, extents, tensor.int64_data());
    case ElementType::uint64: return view_of_list(type, extents, tensor.uint64_data());
    case ElementType::int32: return view_of_list(type, extents, tensor.int32_data());
    case ElementType::uint32: return from_list<std::uint32_t>(extents, tensor.uint64_data());
    default:
      return with_element_type(
          type, [&](auto element) { return from_list<decltype(element)>(extents, tensor.int32_data()); });
  }
}

proto::TensorProto write_tensor(const Array& array, std::string_view name) {
  proto::TensorProto tensor;
  if (!name.empty()) tensor.set_name(std::string(name));
  tensor.set_data_type(onnx_data_type(array.type()));
  for (const std::int64_t extent : array.extents()) tensor.add_dims(extent);
  tensor.set_raw_data(array.data(), array.bytes());
  return tensor;
}

}  // namespace taso::onnx
