// Kernels of our own: source text, compiled for this GPU when it is needed and kept, in memory and on disk.
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

/// Threads that compile what will be needed, in the order in which it was asked for.
class Compilers {
 public:
  Compilers();
  ~Compilers();
  std::future<std::vector<char>> submit(std::function<std::vector<char>()> work);
  /// Nobody begins with what waits: its futures are broken promises.
  void give_up();

 private:
  void work_on(const std::stop_token& stop);
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::packaged_task<std::vector<char>()>> waiting_;
  std::vector<std::jthread> threads_;  // last: they end before what they use goes
};

class SourceKernels {
 public:
  /// For a device of this number and compute capability, such as 90.
  SourceKernels(int device, int capability);
  ~SourceKernels();

  /// Throws EnvironmentError with what the compiler says if it does not compile.
  std::unique_ptr<Prepared> prepare(const SourceLaunch& launch);
  /// Begins to compile what will be prepared, beside other work.
  void expect(std::vector<SourceLaunch> launches);
  /// What has not begun is not compiled before it is prepared.
  void expect_nothing();
  static constexpr const char* identity = "own";  ///< there is one way only

 private:
  struct Loaded;
  std::vector<char> compiled(const SourceLaunch& launch) const;

  int device_, capability_;
  std::filesystem::path folder_;                                                   ///< empty: nothing is kept on disk
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Loaded>> loaded_;  ///< by source and name
  std::map<std::pair<std::string, std::string>, std::future<std::vector<char>>> expected_;
  Compilers compilers_;
};

}  // namespace taso::gpu::cuda
