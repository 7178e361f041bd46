// What compilers made for this GPU, in memory and on disk: our own kernels, and plans of cuDNN that contain code.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/accelerator.h"

namespace taso::gpu::cuda {

/// Several threads may use it.
class KernelCache {
 public:
  KernelCache();

  /// Identifies what the text describes: source or graph, compiler, architecture.
  static std::string key_of(std::string_view text);
  /// Empty if there is none.
  std::vector<char> find(const std::string& key) const;
  /// Keeps it on disk. Failing to write is not an error.
  void keep(const KernelBinary& binary) const;
  /// Uses these from now on.
  void know(std::vector<KernelBinary> binaries);

 private:
  std::filesystem::path folder_;  // empty: nothing on disk
  mutable std::mutex guard_;
  std::map<std::string, std::vector<char>> known_;  // by key
};

}  // namespace taso::gpu::cuda
