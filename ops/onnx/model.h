// An ONNX model with its file: reading, validating and writing it without touching what nobody changed.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace taso {

class Array;

class Model {
 public:
  /// Reads a file; external weights stay where they are. Throws InputError.
  static Model load(const std::filesystem::path& path);
  /// Parses bytes; external weights are looked for in `folder`. Throws InputError.
  static Model parse(std::string_view bytes, std::filesystem::path folder);
  Model(onnx::ModelProto proto, std::filesystem::path folder);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();
  Model copy() const;

  const onnx::ModelProto& proto() const { return *proto_; }
  onnx::ModelProto& mutable_proto() { return *proto_; }
  /// Where locations of external weights start from.
  const std::filesystem::path& folder() const { return folder_; }

  /// Refuses what no runtime could run: no opset, cycles, missing operands, wrong or short initializers, external data
  /// that is missing, short or outside the folder, … Sorts nodes that are out of order. Throws InputError.
  void validate();

  /// Writes to a temporary file, syncs, renames; weights beyond `external_threshold` bytes in all, or weights that were
  /// external before, go to one file `<path>.data`. Throws EnvironmentError; leaves nothing behind then.
  void save(const std::filesystem::path& path) const;

 private:
  std::unique_ptr<onnx::ModelProto> proto_;
  std::filesystem::path folder_;
};

/// The data of an initializer or constant, wherever it is stored; a view of the message where possible (the message must
/// outlive it). Throws InputError.
Array read_tensor(const onnx::TensorProto& tensor, const std::filesystem::path& folder);
/// The message for an array, with raw data.
onnx::TensorProto write_tensor(const Array& array, std::string_view name);

}  // namespace taso
