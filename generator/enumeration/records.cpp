#include "generator/enumeration/records.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::generator {
namespace {

[[noreturn]] void fail(const char* what) {
  throw EnvironmentError(fmt::format("a temporary file cannot be {}: {}", what, std::strerror(errno)));
}

}  // namespace

void Records::add(std::array<std::vector<Record>, parts>& records) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < parts; ++i) {
    Part& part = parts_[i];
    part.records.insert(part.records.end(), records[i].begin(), records[i].end());
    bytes_ += records[i].size() * sizeof(Record);
    size_ += records[i].size();
    records[i].clear();
  }
  // A growing vector may hold twice the memory of its elements.
  if (bytes_ * 2 > memory_) spill();
}

void Records::spill() {
  for (Part& part : parts_) {
    if (part.records.empty()) continue;
    if (!part.file) part.file.reset(std::tmpfile());
    if (!part.file) fail("made");
    if (std::fwrite(part.records.data(), sizeof(Record), part.records.size(), part.file.get()) != part.records.size() ||
        std::fflush(part.file.get()) != 0)
      fail("written");
    part.in_file += part.records.size();
    spilled_ += part.records.size();
    part.records = {};
  }
  bytes_ = 0;
}

std::vector<Record> Records::take(std::size_t index) {
  std::unique_lock lock(mutex_);
  Part part = std::move(parts_[index]);
  parts_[index] = {};
  bytes_ -= part.records.size() * sizeof(Record);
  lock.unlock();
  if (part.in_file == 0) return std::move(part.records);
  std::vector<Record> all(part.in_file);
  std::rewind(part.file.get());
  if (std::fread(all.data(), sizeof(Record), all.size(), part.file.get()) != all.size()) fail("read");
  all.insert(all.end(), part.records.begin(), part.records.end());
  return all;
}

}  // namespace taso::generator
