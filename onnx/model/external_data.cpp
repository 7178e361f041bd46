#include "onnx/model/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "onnx/model/model_names.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"

namespace taso::onnx {
namespace {

/// Below this size a read is cheaper than a mapping, and a process has only some ten thousand mappings.
constexpr std::uint64_t smallest_mapping = 64 * 1024;

struct Fields {
  std::string location;
  std::optional<std::uint64_t> offset;
  std::optional<std::uint64_t> length;
};

[[noreturn]] void refuse(const proto::TensorProto& tensor, const std::string& reason) {
  throw InputError(fmt::format("external data of tensor {}: {}", in_quotes(tensor.name()), reason));
}

std::uint64_t parse_number(const proto::TensorProto& tensor, const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    refuse(tensor, fmt::format("{} {} is not a number of bytes", key, in_quotes(text)));
  return value;
}

Fields parse_fields(const proto::TensorProto& tensor) {
  Fields fields;
  bool has_location = false;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      if (std::exchange(has_location, true)) refuse(tensor, "two locations");
      fields.location = entry.value();
    } else if (entry.key() == "offset") {
      if (fields.offset) refuse(tensor, "two offsets");
      fields.offset = parse_number(tensor, "offset", entry.value());
    } else if (entry.key() == "length") {
      if (fields.length) refuse(tensor, "two lengths");
      fields.length = parse_number(tensor, "length", entry.value());
    }
  }
  if (fields.location.empty()) refuse(tensor, "no location");
  if (fields.location.find('\0') != std::string::npos) refuse(tensor, "location holds a zero byte");
  return fields;
}

/// Opens component by component without following links, so that no link can lead elsewhere, not even one that appears
/// meanwhile.
OpenFile open_inside(const proto::TensorProto& tensor, const std::filesystem::path& folder,
                     const std::string& location) {
  const std::filesystem::path given(location);
  const std::string shown = in_quotes(location);
  if (folder == no_folder) refuse(tensor, fmt::format("file {}: the model has no folder of its own", shown));
  if (given.is_absolute()) refuse(tensor, fmt::format("location {} is absolute", shown));
  const std::filesystem::path normal = given.lexically_normal();
  if (normal.empty() || *normal.begin() == "..")
    refuse(tensor, fmt::format("location {} leaves the model's folder", shown));
  if (!normal.has_filename() || normal == ".") refuse(tensor, fmt::format("location {} names no file", shown));

  const std::filesystem::path base = folder.empty() ? std::filesystem::path(".") : folder;
  OpenFile current(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (current.get() < 0) refuse(tensor, fmt::format("folder {}: {}", in_quotes(base.string()), std::strerror(errno)));
  for (auto part = normal.begin(); part != normal.end(); ++part) {
    const bool last = std::next(part) == normal.end();
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    const int next = ::openat(current.get(), part->c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) {
      struct stat status {};
      if (::fstatat(current.get(), part->c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
        refuse(tensor, fmt::format("location {} is a link or leads through one", shown));
      refuse(tensor, fmt::format("file {}: {}", shown, std::strerror(errno)));
    }
    current = OpenFile(next);
  }
  return current;
}

}  // namespace

OpenFile::OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool is_external(const proto::TensorProto& tensor) {
  return tensor.has_data_location() && tensor.data_location() == proto::TensorProto::EXTERNAL;
}

ExternalFile open_external(const proto::TensorProto& tensor, const std::filesystem::path& folder,
                           std::optional<std::uint64_t> bytes) {
  const Fields fields = parse_fields(tensor);
  ExternalFile found{open_inside(tensor, folder, fields.location), {}};
  struct stat status {};
  if (::fstat(found.file.get(), &status) != 0) refuse(tensor, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse(tensor, fmt::format("{} is not a regular file", in_quotes(fields.location)));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t offset = fields.offset.value_or(0);
  const std::uint64_t rest = offset <= size ? size - offset : 0;
  const std::uint64_t length = fields.length ? *fields.length : bytes.value_or(rest);
  if (bytes && length != *bytes)
    refuse(tensor, fmt::format("length is {} bytes where the dimensions need {}", length, *bytes));
  if (offset > size || length > rest)
    refuse(tensor, fmt::format("file {} has {} bytes, too few for {} bytes at offset {}", in_quotes(fields.location),
                               size, length, offset));
  found.region = {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino), offset, length};
  return found;
}

MappedBytes map_external(const ExternalFile& source) {
  const std::uint64_t offset = source.region.offset;
  const auto length = static_cast<std::size_t>(source.region.length);
  if (length < smallest_mapping) {
    auto buffer = std::make_shared<std::vector<std::max_align_t>>(length / sizeof(std::max_align_t) + 1);
    auto* bytes = reinterpret_cast<std::byte*>(buffer->data());
    for (std::size_t done = 0; done < length;) {
      const ssize_t count = ::pread(source.file.get(), bytes + done, length - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw InputError(fmt::format("external data cannot be read: {}", std::strerror(errno)));
      done += static_cast<std::size_t>(count);
    }
    return {bytes, std::shared_ptr<const void>(buffer, bytes)};
  }
  const std::uint64_t start = offset - offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t mapped = length + static_cast<std::size_t>(offset - start);
  void* base =
      ::mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, source.file.get(), static_cast<off_t>(start));
  if (base == MAP_FAILED)
    throw EnvironmentError(fmt::format("external data cannot be mapped: {}", std::strerror(errno)));
  std::shared_ptr<const void> owner(base,
                                    [mapped](const void* address) { ::munmap(const_cast<void*>(address), mapped); });
  return {static_cast<const std::byte*>(base) + (offset - start), std::move(owner)};
}

}  // namespace taso::onnx
