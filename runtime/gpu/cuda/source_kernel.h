// Compiles our own kernels for this GPU when they are needed, and caches them in memory and on disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/gpu/cuda/prepared.h"

namespace taso::gpu::cuda {

/// Threads that compile in the background, in the order of requests.
class Compilers {
 public:
  Compilers();
  ~Compilers();
  std::future<KernelBinary> submit(std::function<KernelBinary()> work);
  /// Drops queued compilations; their futures throw broken_promise.
  void give_up();

 private:
  void work_on(const std::stop_token& stop);
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::packaged_task<KernelBinary()>> waiting_;
  std::vector<std::jthread> threads_;  // last, so that the threads end before the members they use are destroyed
};

class SourceKernels {
 public:
  /// For a device of this number and compute capability, such as 90.
  SourceKernels(int device, int capability);
  ~SourceKernels();

  /// Throws EnvironmentError with the compiler's message if the source does not compile.
  std::unique_ptr<Prepared> prepare(const SourceLaunch& launch);
  /// Starts to compile in the background what will be prepared later.
  void expect(std::vector<SourceLaunch> launches);
  /// Drops announced compilations that have not started; they are compiled when prepared.
  void expect_nothing();
  /// Uses these instead of compiling.
  void know(std::vector<KernelBinary> kernels);
  static constexpr const char* identity = "own";  ///< there is only one variant

 private:
  struct Loaded;
  KernelBinary compiled(const SourceLaunch& launch) const;

  int device_, capability_;
  std::filesystem::path folder_;                                                   ///< empty: no cache on disk
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Loaded>> loaded_;  ///< by source and name
  std::map<std::pair<std::string, std::string>, std::future<KernelBinary>> expected_;
  mutable std::mutex guard_;
  std::map<std::string, std::vector<char>> known_;  ///< by key; several threads read it
  Compilers compilers_;
};

}  // namespace taso::gpu::cuda
