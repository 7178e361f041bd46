// A file that appears under its name complete or not at all: written beside it, synced, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

class AtomicFile {
 public:
  /// Creates a temporary file in the folder of `path`, or of what it is a link to, and removes those that dead processes left
  /// there. Throws EnvironmentError, also when that exists and is no regular file.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Removes the temporary file, unless it has got its name.
  ~AtomicFile();

  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }  ///< no link

  /// Appends.
  void write(const void* data, std::size_t size);
  void write_at(std::uint64_t offset, const void* data, std::size_t size);
  /// Makes it `size` bytes long; what was not written is a hole.
  void resize(std::uint64_t size);
  /// Copies bytes of another file; holes of the source stay holes and no more than a buffer is in memory. The target
  /// range must not have been written before.
  void copy(int source, std::uint64_t from, std::uint64_t length, std::uint64_t to);

  /// Until the bytes are on the disk.
  void sync();
  /// Gives it the name; with sync() before, a crash leaves the old file or the new one. The folder is synced too.
  void rename();
  /// Whether there was a file of that name before.
  bool existed() const { return existed_; }
  /// Takes a renamed file away again if there was none of that name before.
  void undo() noexcept;
  /// Gives a renamed file another name in its folder, over whatever has it; false if that cannot be. No moment passes in which
  /// either name stands for nothing.
  bool link_as(const std::filesystem::path& other) const;

 private:
  [[noreturn]] void fail(const std::string& doing, int error) const;
  void copy_extent(int source, std::uint64_t from, std::uint64_t length, std::uint64_t to);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  int registered_ = -1;
  bool existed_ = false;
  bool renamed_ = false;
};

/// Writes the text, syncs it and gives it the name; where it is then, which is no link. Throws EnvironmentError.
std::filesystem::path write_file(const std::filesystem::path& path, std::string_view text);

/// What a link stands for, be it there or not; anything else is itself. Throws EnvironmentError for links such as /dev/stdout:
/// they stand for open files, which cannot be replaced.
std::filesystem::path followed(std::filesystem::path path);

/// Removes the temporary files of every AtomicFile there is; for the handler of a signal that ends the program.
void remove_temporary_files() noexcept;

/// While one lives, files that belong together get their names one after the other: a program that is to end does so after
/// that.
class Commit {
 public:
  Commit() noexcept;
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;
  ~Commit();
  /// For the handler of a signal: whether files get their names just now; then the program ends with this code afterwards.
  static bool defers_exit(int code) noexcept;
};

/// Removes the file if nobody has it open as an AtomicFile: whoever wrote it is dead.
void remove_abandoned(const std::filesystem::path& file) noexcept;

}  // namespace taso::ops
