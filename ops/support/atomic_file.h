// A file that appears under its name complete or not at all: written under a temporary name, synced, then renamed.
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
  /// Creates a temporary file in the folder of `path` (or of its target, if it is a link), and removes those that dead
  /// processes left there. Throws EnvironmentError, also if the path exists and is not a regular file.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Removes the temporary file unless it was renamed.
  ~AtomicFile();

  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }  ///< links are resolved

  /// Appends the bytes.
  void write(const void* data, std::size_t size);
  void write_at(std::uint64_t offset, const void* data, std::size_t size);
  /// Sets the size; ranges that were not written are holes.
  void resize(std::uint64_t size);
  /// Copies bytes from another file. Holes of the source stay holes, and only one buffer is in memory. The target range
  /// must not have been written before.
  void copy(int source, std::uint64_t from, std::uint64_t length, std::uint64_t to);

  /// Waits until the bytes are on the disk.
  void sync();
  /// Renames the temporary file and syncs the folder. After sync(), a crash leaves either the old file or the new one.
  void rename();
  /// Whether a file of that name existed before.
  bool existed() const { return existed_; }
  /// Removes the renamed file, unless a file of that name existed before.
  void undo() noexcept;
  /// Gives a renamed file another name in its folder and replaces any file of that name. Returns false if that fails.
  /// Neither name is missing at any moment.
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

/// Writes the text to a file, syncs it and renames it. Returns its path with links resolved. Throws EnvironmentError.
std::filesystem::path write_file(const std::filesystem::path& path, std::string_view text);

/// The target of a link, whether it exists or not; any other path is returned as it is. Throws EnvironmentError for
/// links such as /dev/stdout: they refer to open files, which cannot be replaced.
std::filesystem::path followed(std::filesystem::path path);

/// Removes the temporary files of every AtomicFile. For the handler of a signal that ends the program.
void remove_temporary_files() noexcept;

/// While one is alive, files that belong together are renamed one after the other. A signal that ends the program takes
/// effect afterwards.
class Commit {
 public:
  Commit() noexcept;
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;
  ~Commit();
  /// For signal handlers. Returns whether a Commit is alive; if so, the program exits with this code when it ends.
  static bool defers_exit(int code) noexcept;
};

/// Removes the file unless a live process has it open as an AtomicFile.
void remove_abandoned(const std::filesystem::path& file) noexcept;

}  // namespace taso::ops
