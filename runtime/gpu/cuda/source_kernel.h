// Compiles our own kernels for this GPU when they are needed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/gpu/cuda/kernel_cache.h"
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
  /// For a device of this number and compute capability, such as 90. The cache must outlive it.
  SourceKernels(int device, int capability, KernelCache& cache);
  ~SourceKernels();

  /// Throws EnvironmentError with the compiler's message if the source does not compile.
  std::unique_ptr<Prepared> prepare(const SourceLaunch& launch);
  /// Starts to compile in the background what will be prepared later.
  void expect(std::vector<SourceLaunch> launches);
  /// Drops announced compilations that have not started; they are compiled when prepared.
  void expect_nothing();
  static constexpr const char* identity = "own";  ///< there is only one variant

 private:
  struct Loaded;
  KernelBinary compiled(const SourceLaunch& launch) const;

  int device_, capability_;
  KernelCache& cache_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Loaded>> loaded_;  ///< by source and name
  std::map<std::pair<std::string, std::string>, std::future<KernelBinary>> expected_;
  Compilers compilers_;
};

}  // namespace taso::gpu::cuda
