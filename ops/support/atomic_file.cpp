#include "ops/support/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::ops {
namespace {

constexpr std::size_t chunk = 1 << 20;
/// The kernel copies at most about 2 GB per call.
constexpr std::uint64_t largest_copy = std::uint64_t{1} << 30;

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const auto folder = path.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

/// The present temporary files, in a form that a signal handler can read: no allocation, no lock.
class Registry {
 public:
  /// Returns the slot, or -1 if none is free; then only the destructor of the AtomicFile removes the file.
  int add(const std::filesystem::path& path) {
    const std::string& name = path.native();
    if (name.size() >= longest) return -1;
    for (std::size_t i = 0; i < places; ++i) {
      int expected = vacant;
      if (!states_[i].compare_exchange_strong(expected, changing)) continue;
      std::memcpy(names_[i], name.c_str(), name.size() + 1);
      states_[i] = taken;
      return static_cast<int>(i);
    }
    return -1;
  }
  void drop(int place) {
    if (place >= 0) states_[static_cast<std::size_t>(place)] = vacant;
  }
  void remove_all() {
    for (std::size_t i = 0; i < places; ++i)
      if (states_[i] == taken) ::unlink(names_[i]);
  }

 private:
  static constexpr std::size_t places = 16, longest = 4096;
  enum State : int { vacant, changing, taken };
  std::atomic<int> states_[places] = {};
  char names_[places][longest] = {};
};

Registry registry;

std::atomic<int> committing{0};
std::atomic<int> exit_code{-1};

constexpr std::string_view temporary_prefix = ".taso-", temporary_suffix = ".tmp";
constexpr std::size_t digits = 16;

bool is_temporary_name(std::string_view name) {
  return name.size() == temporary_prefix.size() + digits + temporary_suffix.size() &&
         name.starts_with(temporary_prefix) && name.ends_with(temporary_suffix) &&
         name.substr(temporary_prefix.size(), digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// Locks the file, to mark it as in use for as long as the process lives. Returns false if another process was faster
/// and takes the file for abandoned. On a file system without such locks, no process can take it.
bool claim(int descriptor, const std::filesystem::path& file) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat mine {
  }, named{};
  return ::fstat(descriptor, &mine) == 0 && ::lstat(file.c_str(), &named) == 0 && is_same(mine, named);
}

/// Removes the temporary files of killed processes. Each folder is searched once.
void remove_abandoned_of(const std::filesystem::path& folder) {
  static std::mutex mutex;
  static std::set<std::filesystem::path> known;
  const std::lock_guard lock(mutex);
  if (!known.insert(folder).second) return;
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries))
    if (is_temporary_name(entry->d_name)) remove_abandoned(folder / entry->d_name);
  ::closedir(entries);
}

}  // namespace

void remove_abandoned(const std::filesystem::path& file) noexcept {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat opened {
  }, named{};
  if (::fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_uid == ::geteuid() &&
      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::lstat(file.c_str(), &named) == 0 && is_same(opened, named))
    ::unlink(file.c_str());
  ::close(descriptor);
}

Commit::Commit() noexcept { ++committing; }
Commit::~Commit() {
  if (--committing == 0 && exit_code >= 0) ::_exit(exit_code);
}
bool Commit::defers_exit(int code) noexcept {
  exit_code = code;
  return committing > 0;
}

std::filesystem::path followed(std::filesystem::path path) {
  const std::filesystem::path given = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(path, error); ++links) {
    struct statfs system {};
    if (links == 40 || (::statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC))
      throw EnvironmentError(fmt::format("cannot write {}: not a regular file", given.string()));
    const auto target = std::filesystem::read_symlink(path, error);
    if (error) throw EnvironmentError(fmt::format("cannot write {}: {}", given.string(), error.message()));
    path = folder_of(path) / target;  // the target itself, if it is absolute
  }
  return path;
}

void remove_temporary_files() noexcept { registry.remove_all(); }

std::filesystem::path write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.sync();
  file.rename();
  return file.path();
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(followed(std::move(path))) {
  struct stat status {};
  existed_ = ::stat(path_.c_str(), &status) == 0;
  if (existed_ && S_ISDIR(status.st_mode)) fail("write", EISDIR);
  // Renaming would replace a device or pipe by a file.
  if (existed_ && !S_ISREG(status.st_mode))
    throw EnvironmentError(fmt::format("cannot write {}: not a regular file", path_.string()));
  if (!path_.has_filename()) fail("write", EISDIR);
  remove_abandoned_of(folder_of(path_));
  std::random_device random;
  for (int attempt = 0; attempt < 100 && descriptor_ < 0; ++attempt) {
    temporary_ =
        folder_of(path_) / fmt::format("{}{:08x}{:08x}{}", temporary_prefix, random(), random(), temporary_suffix);
    registered_ = registry.add(temporary_);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const int error = errno;
    if (descriptor_ >= 0 && !claim(descriptor_, temporary_)) {
      ::close(descriptor_);
      descriptor_ = -1;
      ::unlink(temporary_.c_str());
      registry.drop(registered_);
      continue;
    }
    if (descriptor_ < 0) registry.drop(registered_);
    if (descriptor_ < 0 && error != EEXIST) fail("write", error);
  }
  if (descriptor_ < 0) fail("write", EEXIST);
  // Keep the permissions of the replaced file. Some file systems have none; ignore errors.
  if (existed_) (void)::fchmod(descriptor_, status.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!renamed_) ::unlink(temporary_.c_str());
  registry.drop(registered_);
}

void AtomicFile::fail(const std::string& doing, int error) const {
  throw EnvironmentError(fmt::format("cannot {} {}: {}", doing, path_.string(), std::strerror(error)));
}

void AtomicFile::write(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::write(descriptor_, bytes, std::min<std::size_t>(size, largest_copy));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write", count < 0 ? errno : ENOSPC);
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
}

void AtomicFile::write_at(std::uint64_t offset, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes, std::min<std::size_t>(size, largest_copy), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write", count < 0 ? errno : ENOSPC);
    bytes += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
}

void AtomicFile::resize(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("write", errno);
}

void AtomicFile::copy(int source, std::uint64_t from, std::uint64_t length, std::uint64_t to) {
  const std::uint64_t end = from + length;
  for (std::uint64_t at = from; at < end;) {
    std::uint64_t data = at;
    std::uint64_t hole = end;
    const off_t found = ::lseek(source, static_cast<off_t>(at), SEEK_DATA);
    if (found < 0 && errno == ENXIO) return;  // only a hole up to the end of the file
    if (found >= 0) {                         // otherwise the file system does not report holes: all of it is data
      data = static_cast<std::uint64_t>(found);
      if (data >= end) return;
      const off_t next = ::lseek(source, found, SEEK_HOLE);
      if (next > found) hole = std::min(end, static_cast<std::uint64_t>(next));
    }
    copy_extent(source, data, hole - data, to + (data - from));
    at = hole;
  }
}

void AtomicFile::copy_extent(int source, std::uint64_t from, std::uint64_t length, std::uint64_t to) {
  bool in_kernel = true;
  std::vector<char> buffer;
  while (length > 0) {
    ssize_t count = -1;
    if (in_kernel) {
      auto in = static_cast<off_t>(from);
      auto out = static_cast<off_t>(to);
      count = ::copy_file_range(source, &in, descriptor_, &out, std::min(length, largest_copy), 0);
      if (count < 0 && errno == EINTR) continue;
      // Some pairs of file systems do not support this, and some old kernels return 0. Copy by hand, which reports
      // errors.
      if (count <= 0) {
        in_kernel = false;
        continue;
      }
    } else {
      buffer.resize(chunk);
      count = ::pread(source, buffer.data(), std::min<std::uint64_t>(length, chunk), static_cast<off_t>(from));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("copy weights to", errno);
      if (count == 0)
        throw InputError(fmt::format("external data became shorter while it was copied to {}", path_.string()));
      write_at(to, buffer.data(), static_cast<std::size_t>(count));
    }
    from += static_cast<std::uint64_t>(count);
    to += static_cast<std::uint64_t>(count);
    length -= static_cast<std::uint64_t>(count);
  }
}

void AtomicFile::sync() {
  if (::fsync(descriptor_) != 0) fail("write", errno);
}

void AtomicFile::rename() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write", errno);
  renamed_ = true;
  // If the folder cannot be opened or synced, the name is as safe as the file system makes it.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

bool AtomicFile::link_as(const std::filesystem::path& other) const {
  std::random_device random;
  const std::filesystem::path step =
      folder_of(path_) / fmt::format("{}{:08x}{:08x}{}", temporary_prefix, random(), random(), temporary_suffix);
  if (::link(path_.c_str(), step.c_str()) != 0) return false;
  // Keep the permissions of the replaced file, as the constructor does.
  struct stat status {};
  if (::stat(other.c_str(), &status) == 0) (void)::fchmod(descriptor_, status.st_mode & 0777);
  const bool renamed = ::rename(step.c_str(), other.c_str()) == 0;
  ::unlink(step.c_str());  // still there if the rename failed, or if both names were already one file
  return renamed;
}

void AtomicFile::undo() noexcept {
  if (renamed_ && !existed_) ::unlink(path_.c_str());
}

}  // namespace taso::ops
