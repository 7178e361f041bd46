#include "onnx/model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "onnx/model/external_data.h"
#include "ops/core/error.h"

namespace taso::onnx {
namespace {

const char too_large[] =
    "has {} bytes, but a protobuf message ends at 2 GB; larger models keep their weights in external data";

/// Reads all of the standard input once. Does not use the library's stream, which another thread may be reading.
const std::string& standard_input() {
  static const std::string text = [] {
    std::string read;
    std::vector<char> buffer(1 << 20);
    for (;;) {
      const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw InputError(fmt::format("the standard input cannot be read: {}", std::strerror(errno)));
      if (count == 0) return read;
      read.append(buffer.data(), static_cast<std::size_t>(count));
      if (read.size() > MappedFile::largest) throw InputError(fmt::format(fmt::runtime(too_large), "more than 2^31"));
    }
  }();
  return text;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, std::size_t most) {
  if (path == "-") {
    const std::string& text = standard_input();
    if (text.empty()) throw InputError("the standard input is empty");
    data_ = text.data();
    size_ = text.size();
    return;
  }
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) throw InputError(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw InputError("is a folder, not an ONNX model");
  if (!S_ISREG(status.st_mode)) throw InputError("is not a regular file");
  if (status.st_size == 0) throw InputError("is empty");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > most) throw InputError(fmt::format(fmt::runtime(too_large), size_));
  void* base = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED && errno == ENOMEM) throw EnvironmentError("not enough memory to read the model");
  if (base == MAP_FAILED) throw InputError(fmt::format("cannot be read: {}", std::strerror(errno)));
  data_ = static_cast<const char*>(base);
  mapped_ = true;
  ::madvise(base, size_, MADV_SEQUENTIAL);
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace taso::onnx
