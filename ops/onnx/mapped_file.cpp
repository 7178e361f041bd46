#include "ops/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "ops/error.h"
#include "ops/onnx/external_data.h"

namespace taso {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) throw InputError(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw InputError("is a folder, not an ONNX model");
  if (!S_ISREG(status.st_mode)) throw InputError("is not a regular file");
  if (status.st_size == 0) throw InputError("is empty");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > largest)
    throw InputError(
        fmt::format("has {} bytes, but a protobuf message ends at 2 GB; larger models keep their weights in "
                    "external data",
                    size_));
  void* base = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED && errno == ENOMEM) throw EnvironmentError("not enough memory to read the model");
  if (base == MAP_FAILED) throw InputError(fmt::format("cannot be read: {}", std::strerror(errno)));
  data_ = static_cast<const char*>(base);
  ::madvise(base, size_, MADV_SEQUENTIAL);
}

MappedFile::~MappedFile() { ::munmap(const_cast<char*>(data_), size_); }

}  // namespace taso
