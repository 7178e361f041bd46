#include "runtime/gpu/cuda/kernel_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>

#include "ops/support/data_files.h"
#include "ops/support/sha256.h"

namespace taso::gpu::cuda {

namespace {

std::string sha256(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.digest();
}

constexpr std::string_view magic = "taso-cubin-1\n";

/// An entry begins with its checksum, so that a truncated file is rejected.
std::vector<char> read_entry(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t begin = magic.size() + 65;
  if (text.size() <= begin || !text.starts_with(magic)) return {};
  const std::string body = text.substr(begin);
  if (text.substr(magic.size(), 64) != sha256(body)) return {};
  return {body.begin(), body.end()};
}

/// Writes a temporary file and renames it, so that readers see all of it or nothing.
void write_entry(const std::filesystem::path& path, const std::vector<char>& code) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  static std::atomic<unsigned> number = 0;
  const std::filesystem::path aside = path.string() + fmt::format(".{}.{}", getpid(), number++);
  {
    const std::string body(code.begin(), code.end());
    std::ofstream file(aside, std::ios::binary);
    file << magic << sha256(body) << '\n' << body;
    file.close();
    if (!file) {
      std::filesystem::remove(aside, error);
      return;
    }
  }
  std::filesystem::rename(aside, path, error);
  if (error) std::filesystem::remove(aside, error);
}

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& key) {
  return folder / fmt::format("{}.cubin", key);
}

}  // namespace

KernelCache::KernelCache() : folder_(user_cache_folder().value_or("")) {}

std::string KernelCache::key_of(std::string_view text) { return sha256(text); }

std::vector<char> KernelCache::find(const std::string& key) const {
  {
    const std::lock_guard lock(guard_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  return folder_.empty() ? std::vector<char>() : read_entry(file_of(folder_, key));
}

void KernelCache::keep(const KernelBinary& binary) const {
  if (!folder_.empty()) write_entry(file_of(folder_, binary.key), binary.code);
}

void KernelCache::know(std::vector<KernelBinary> binaries) {
  const std::lock_guard lock(guard_);
  for (KernelBinary& binary : binaries) known_.insert_or_assign(binary.key, std::move(binary.code));
}

}  // namespace taso::gpu::cuda
