// Weights stored outside the model: locates their bytes safely and maps them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// An open file descriptor that is closed on destruction.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

bool is_external(const proto::TensorProto& tensor);

/// The folder of a model that has none: its external weights are refused.
inline const std::filesystem::path no_folder = "/dev/null";

/// The location of an external tensor's bytes.
struct ExternalRegion {
  std::uint64_t device = 0;  ///< with `file`, identifies the file under any name
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  auto operator<=>(const ExternalRegion&) const = default;
};

struct ExternalFile {
  OpenFile file;
  ExternalRegion region;
};

/// Opens the file of an external tensor and checks that the bytes exist. The location must be relative, stay inside
/// `folder`, and neither be nor pass through a link. `bytes` is the size that the dimensions require, if known. Throws
/// InputError.
ExternalFile open_external(const proto::TensorProto& tensor, const std::filesystem::path& folder,
                           std::optional<std::uint64_t> bytes);

/// The bytes of a region in memory, kept alive by `owner`: mapped if large, read if small.
struct MappedBytes {
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner;
};
MappedBytes map_external(const ExternalFile& source);

}  // namespace taso::onnx
