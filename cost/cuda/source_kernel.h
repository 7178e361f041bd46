// Kernels of our own: source text, compiled for this GPU when it is needed and kept, in memory and on disk.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cost/cuda/prepared.h"

namespace taso::cuda {

class SourceKernels {
 public:
  /// For a device of this number and compute capability, such as 90.
  SourceKernels(int device, int capability);
  ~SourceKernels();

  /// Throws EnvironmentError with what the compiler says if it does not compile.
  std::unique_ptr<Prepared> prepare(const SourceLaunch& launch);
  static constexpr const char* identity = "own";  ///< there is one way only

 private:
  struct Loaded;
  std::vector<char> compiled(const SourceLaunch& launch) const;

  int device_, capability_;
  std::filesystem::path folder_;  ///< empty: nothing is kept on disk
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Loaded>> loaded_;  ///< by source and name
};

}  // namespace taso::cuda
