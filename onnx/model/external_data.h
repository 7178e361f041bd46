// Weights that lie outside the model: finding their bytes safely, mapping them, and copying them without reading holes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// An open file descriptor, closed at the end.
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

/// Where the bytes of an external tensor lie.
struct ExternalRegion {
  std::uint64_t device = 0;  ///< with `file`, tells which file it is, under whatever name
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  auto operator<=>(const ExternalRegion&) const = default;
};

struct ExternalFile {
  OpenFile file;
  ExternalRegion region;
};

/// Opens the file of an external tensor and checks that the bytes are there. The location has to be relative, stay
/// inside `folder`, and neither be nor pass through a link; `bytes` is what the dimensions ask for, where that is
/// known. Throws InputError.
ExternalFile open_external(const proto::TensorProto& tensor, const std::filesystem::path& folder,
                           std::optional<std::uint64_t> bytes);

/// The bytes of a region in memory, kept by `owner`: mapped when large, read when small.
struct MappedBytes {
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner;
};
MappedBytes map_external(const ExternalFile& source);

}  // namespace taso::onnx
