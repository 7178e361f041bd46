// An ONNX model with its file: reading, validating and writing it without touching what nobody changed.
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
    automatic,  ///< external stays external, embedded stays embedded unless the file would exceed 2 GB; new weights go
                ///< where the others are
    embedded,   ///< everything in one file
    external,   ///< every initializer of `smallest_external` bytes and more in `<path>.data`
  };
  Weights weights = Weights::automatic;
  std::size_t smallest_external = 1024;
  bool sync = true;  ///< wait until the bytes are on the disk; off only to measure the rest
  /// What a protobuf message may have; lower only in tests.
  std::size_t largest_file = 0x7fffffff;
  /// Called after each step in which a file gets a name; only for tests of what a crash leaves.
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
  /// Where locations of external weights start from.
  const std::filesystem::path& folder() const { return folder_; }
  /// An initializer that was not read from a file: it is saved where the others are.
  void note_new_weight(const std::string& name) { new_weights_.insert(name); }

  /// Refuses what no runtime could run, and what runtimes read in different ways: no opset, cycles, missing operands,
  /// two initializers of one name, attributes with two values, wrong or short initializers, external data that is
  /// missing, … Sorts nodes that are out of order, and of Constant nodes of one name keeps the last. Throws InputError.
  void validate();

  /// Writes to a temporary file, syncs, renames. Weights that were external before, and initializers when the file
  /// would become too large, go to one file `<path>.data`, aligned to 64 bytes, from 4096 bytes on to pages of 4096.
  /// The same model gives the same bytes. Throws EnvironmentError; leaves nothing behind then. A crash at any time leaves the
  /// old model with its own weights, or the new one with its own. The message is changed
  /// while this runs, and back at the end: no two threads may save one model. When the external weights that this model
  /// was loaded with are themselves replaced, load the model anew to go on.
  void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;

  /// The bytes of one file with everything in it, external weights too. Throws InputError when they exceed what a protobuf
  /// message may have.
  std::string serialise_whole() const;
  /// The message's bytes, always the same for the same model; external weights are not part of it. Throws InputError
  /// when they exceed what a protobuf message may have.
  std::string serialise() const;

 private:
  std::unique_ptr<proto::ModelProto> proto_;
  std::filesystem::path folder_;
  std::unordered_set<std::string> new_weights_;
  std::string source_;  // begins the messages, "" if the model came from memory
};

/// The data of an initializer or constant, wherever it is stored; a view of the message where possible (the message
/// must outlive it). Throws InputError.
ops::Array read_tensor(const proto::TensorProto& tensor, const std::filesystem::path& folder);
/// The message for an array, with raw data.
proto::TensorProto write_tensor(const ops::Array& array, std::string_view name);

}  // namespace taso::onnx
