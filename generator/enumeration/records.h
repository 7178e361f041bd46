// The results of one level of the enumeration, to be sorted by value: in memory while they fit, else in temporary
// files.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <vector>

#include "generator/enumeration/values.h"

namespace taso::generator {

/// In a record's key, above its 61 bits: the inputs of the form are not named in order.
constexpr std::uint64_t named_otherwise = std::uint64_t{1} << 63;

struct Record {
  Fingerprint key;
  Form form;
};

/// Records in partitions by key, so that equal ones are in the same. Adding is thread-safe.
class Records {
 public:
  static constexpr std::size_t parts = 64;
  /// Above this many bytes, temporary files are used.
  explicit Records(std::size_t memory) : memory_(memory) {}

  /// Moves all records in; `records` is empty afterwards. Throws EnvironmentError if the disk is full.
  void add(std::array<std::vector<Record>, parts>& records);
  /// Moves the records of a part out.
  std::vector<Record> take(std::size_t part);
  std::uint64_t size() const { return size_; }
  std::size_t bytes() const { return bytes_; }
  std::uint64_t spilled() const { return spilled_; }

  static std::size_t part_of(const Fingerprint& key) { return key.high >> 55 & (parts - 1); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Part {
    std::vector<Record> records;
    std::unique_ptr<std::FILE, Close> file;
    std::size_t in_file = 0;
  };
  void spill();

  std::mutex mutex_;
  std::array<Part, parts> parts_;
  std::size_t memory_, bytes_ = 0;
  std::uint64_t size_ = 0, spilled_ = 0;
};

}  // namespace taso::generator
