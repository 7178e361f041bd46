// What one level of the enumeration computed, to be sorted by value: in memory while it fits, else in temporary files.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <mutex>
#include <vector>

#include "generator/enumeration/values.h"

namespace taso::generator {

struct Record {
  Fingerprint key;
  Form form;
};

/// Records in parts by their keys, so that equal ones are in one part. Adding is safe for several threads.
class Records {
 public:
  static constexpr std::size_t parts = 64;
  /// Beyond so many bytes of memory, files are used.
  explicit Records(std::size_t memory) : memory_(memory) {}

  /// Takes them all; `records` is empty then. Throws EnvironmentError if the disk is full.
  void add(std::array<std::vector<Record>, parts>& records);
  /// The records of a part; they are given up here.
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
