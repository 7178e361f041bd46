#include "onnx/model/model_hash.h"

#include <algorithm>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "onnx/model/external_data.h"
#include "onnx/model/mapped_file.h"
#include "onnx/model/model.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/error.h"
#include "ops/support/sha256.h"

namespace taso::onnx {
namespace {

using google::protobuf::internal::WireFormatLite;

/// Calls `visit` for each field of the message with its number, its bytes including the tag, and its data.
template <class Visit>
void for_each_field(std::string_view message, Visit&& visit) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(message.data()),
                                                static_cast<int>(message.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  const auto position = [&] { return static_cast<std::size_t>(stream.CurrentPosition()); };
  while (position() < message.size()) {
    const std::size_t begin = position();
    const std::uint32_t tag = stream.ReadTag();
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    bool read = tag != 0;
    std::size_t data = position();
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT: read = read && stream.ReadVarint64(&number); break;
      case WireFormatLite::WIRETYPE_FIXED64: read = read && stream.Skip(8); break;
      case WireFormatLite::WIRETYPE_FIXED32: read = read && stream.Skip(4); break;
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        read = read && stream.ReadVarint32(&length) && length <= INT_MAX;
        data = position();
        read = read && stream.Skip(static_cast<int>(length));
        break;
      default: read = false;  // groups, which ONNX never uses
    }
    if (!read) throw InputError("is not an ONNX model, or is cut off or damaged");
    visit(WireFormatLite::GetTagFieldNumber(tag), message.substr(begin, position() - begin),
          message.substr(data, position() - data));
  }
}

bool is_ours(std::string_view entry) {
  proto::StringStringEntryProto proto;
  return proto.ParseFromArray(entry.data(), static_cast<int>(entry.size())) && proto.key().starts_with("taso.");
}

}  // namespace

std::string hash_of_model(const std::filesystem::path& file, const Model& model) {
  Sha256 hash;
  try {
    const MappedFile mapped(file);
    for_each_field(mapped.bytes(), [&](int number, std::string_view field, std::string_view data) {
      if (number != proto::ModelProto::kMetadataPropsFieldNumber || !is_ours(data)) hash.add(field);
    });
    // This changes nothing: for_each_tensor only exists for mutable messages.
    for_each_tensor(const_cast<proto::ModelProto&>(model.proto()), [&](proto::TensorProto& tensor, bool) {
      if (!is_external(tensor)) return;
      const ExternalFile external = open_external(tensor, model.folder(), raw_bytes_of(tensor));
      const MappedBytes bytes = map_external(external);
      // Add the length too: a message need not state it.
      hash.add(fmt::format("{}:", external.region.length));
      hash.add({reinterpret_cast<const char*>(bytes.data), external.region.length});
    });
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
  return hash.digest();
}

std::string hash_of_model(const std::filesystem::path& file) { return hash_of_model(file, Model::load(file)); }

}  // namespace taso::onnx
