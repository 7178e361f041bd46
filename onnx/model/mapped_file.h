// A model file as bytes; only the parts that are used are read.
#pragma once

#include <climits>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace taso::onnx {

/// The bytes of a file, mapped. Pipes and other special files are refused. "-" is the standard input, which is read
/// once and kept. Throws InputError, EnvironmentError.
class MappedFile {
 public:
  /// The size limit of a protobuf message.
  static constexpr std::size_t largest = INT_MAX;

  /// Refuses a file of more than `most` bytes.
  explicit MappedFile(const std::filesystem::path& path, std::size_t most = largest);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace taso::onnx
