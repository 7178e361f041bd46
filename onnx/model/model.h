// An ONNX model with its file: reads, validates and writes it without changing untouched parts.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "onnx/model/messages.h"
#include "ops/core/namespace.h"

namespace taso::ops {
class Array;
}

namespace taso::onnx {

struct SaveOptions {
  enum class Weights {
    automatic,  ///< external weights stay external, embedded ones stay embedded unless the file would exceed 2 GB; new
                ///< weights go where the others are
    embedded,   ///< everything in one file
    external,   ///< every initializer of `smallest_external` bytes or more in `<path>.data`
  };
  Weights weights = Weights::automatic;
  std::size_t smallest_external = 1024;
  bool sync = true;  ///< wait until the bytes are on the disk; off only to measure the rest
  /// The size limit of a protobuf message; lower only in tests.
  std::size_t largest_file = 0x7fffffff;
  /// Called after each rename or link of a file; only for tests of what a crash leaves behind.
  std::function<void()> after_step = {};
};

class Model {
 public:
  /// Reads a file; external weights stay where they are. Throws InputError.
  static Model load(const std::filesystem::path& path);
  /// Parses bytes; external weights are looked for in `folder`. Throws InputError.
  static Model parse(std::string_view bytes, std::filesystem::path folder);
  Model(proto::ModelProto proto, std::filesystem::path folder);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();
  Model copy() const;

  const proto::ModelProto& proto() const { return *proto_; }
  proto::ModelProto& mutable_proto() { return *proto_; }
  /// The folder that locations of external weights are relative to.
  const std::filesystem::path& folder() const { return folder_; }
  /// Notes an initializer that was not read from a file; it is saved where the others are.
  void note_new_weight(const std::string& name) { new_weights_.insert(name); }

  /// Rejects models that no runtime could run, or that runtimes read differently: no opset, cycles, missing operands,
  /// two initializers of one name, attributes with two values, wrong or short initializers, missing external data, …
  /// Sorts nodes that are out of order. Of Constant nodes with one name, keeps the last. Throws InputError.
  void validate();

  /// Writes to a temporary file, syncs and renames. Weights that were external before, and initializers if the file
  /// would become too large, go to one file `<path>.data`, aligned to 64 bytes, or to 4096 from 4096 bytes on. The same
  /// model gives the same bytes. Throws EnvironmentError and then leaves nothing behind. A crash at any time leaves the
  /// old model with its weights or the new one with its weights. The message is changed during the call and restored at
  /// the end, so no two threads may save one model. If this replaces the external weights that the model was loaded
  /// with, load it again before further use.
  void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;

  /// The bytes of one file that contains everything, including external weights. Throws InputError if they exceed the
  /// size limit of a protobuf message.
  std::string serialise_whole() const;
  /// The bytes of the message, always the same for the same model, without external weights. Throws InputError if they
  /// exceed the size limit of a protobuf message.
  std::string serialise() const;

 private:
  std::unique_ptr<proto::ModelProto> proto_;
  std::filesystem::path folder_;
  std::unordered_set<std::string> new_weights_;
  std::string source_;  // prefix of messages, "" if the model came from memory
};

/// The data of an initializer or constant, wherever it is stored. Where possible this is a view of the message, which
/// must outlive it. Throws InputError.
ops::Array read_tensor(const proto::TensorProto& tensor, const std::filesystem::path& folder);
/// The message for an array, with raw data.
proto::TensorProto write_tensor(const ops::Array& array, std::string_view name);

}  // namespace taso::onnx
