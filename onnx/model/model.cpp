#include "onnx/model/model.h"

#include <algorithm>
#include <climits>
#include <cstdint>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include "onnx/model/mapped_file.h"
#include "onnx/model/proto.h"
#include "onnx/validation/validate.h"
#include "ops/core/error.h"

namespace taso::onnx {
namespace {

constexpr std::size_t largest_message = MappedFile::largest;
/// The nesting limit for messages: protobuf's own default, about thirty nested subgraphs. It bounds the recursion in
/// parsing, destroying and serialising.
constexpr int deepest_nesting = 100;

bool looks_like_text(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 512);
  return std::all_of(start.begin(), start.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : byte == '\n' || byte == '\r' || byte == '\t' || byte == '\f';
  });
}

std::unique_ptr<proto::ModelProto> parse_message(std::string_view bytes) {
  if (bytes.empty()) throw InputError("is empty");
  if (bytes.size() > largest_message)
    throw InputError(
        "is longer than 2 GB, where a protobuf message ends; larger models keep their weights in external "
        "data");
  auto proto = std::make_unique<proto::ModelProto>();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  stream.SetRecursionLimit(deepest_nesting);
  const bool parsed = proto->ParsePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  // Some text parses by chance, as unknown fields only.
  if (parsed && (proto->has_graph() || proto->has_ir_version() || proto->opset_import_size() > 0)) return proto;
  if (looks_like_text(bytes)) throw InputError("is text, not an ONNX model in protobuf's binary form");
  throw InputError(parsed ? "is not an ONNX model: it has neither a graph nor a version"
                          : "is not an ONNX model, or is cut off or damaged: protobuf cannot parse it");
}

}  // namespace

Model::Model(proto::ModelProto proto, std::filesystem::path folder)
    : proto_(std::make_unique<proto::ModelProto>(std::move(proto))), folder_(std::move(folder)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::load(const std::filesystem::path& path) {
  try {
    const MappedFile file(path);
    Model model(proto::ModelProto(), path.parent_path());
    model.proto_ = parse_message(file.bytes());
    model.source_ = path.string();
    return model;
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

Model Model::parse(std::string_view bytes, std::filesystem::path folder) {
  try {
    Model model(proto::ModelProto(), std::move(folder));
    model.proto_ = parse_message(bytes);
    return model;
  } catch (const InputError& error) {
    throw InputError(fmt::format("the model {}", error.what()));
  }
}

Model Model::copy() const {
  Model model(*proto_, folder_);
  model.source_ = source_;
  model.new_weights_ = new_weights_;
  return model;
}

void Model::validate() {
  try {
    onnx::validate(*proto_, folder_);
  } catch (const InputError& error) {
    if (source_.empty()) throw;
    throw InputError(fmt::format("{}: {}", source_, error.what()));
  }
}

std::string Model::serialise() const {
  const std::size_t size = proto_->ByteSizeLong();
  if (size > largest_message)
    throw InputError(fmt::format("the model has {} bytes, but a protobuf message ends at 2 GB", size));
  // ONNX has no map fields, so the order of all fields is fixed.
  std::string bytes(size, '\0');
  proto_->SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(bytes.data()));
  return bytes;
}

}  // namespace taso::onnx
