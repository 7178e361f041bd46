// Measures calls: provides memory for their operands, and the clock.
#pragma once

#include <chrono>
#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/cuda/device_data.h"
#include "runtime/gpu/cuda/handles.h"
#include "runtime/gpu/cuda/libraries/libraries.h"

namespace taso::gpu::cuda {

class Bench {
 public:
  explicit Bench(std::size_t cache_bytes);

  /// Allocates random operands for a call, with as many copies of its weights as repetitions may need, and all other
  /// memory.
  void set_up(const cost::Call& call, std::size_t scratch_bytes, std::size_t workspace_bytes);

  /// Runs the call once on poisoned memory. The results stay until the next run.
  void run(const PreparedCall& call);
  /// The distance of the last results from kept ones: the relative norm of the difference, the largest over all
  /// results. NaN if an element was not written or is not a number.
  double distance(std::size_t kept);
  /// Keeps the results of the last run and returns their number. Only a few can be kept.
  std::size_t keep();
  /// Whether the last run wrote all results.
  bool is_complete();

  /// Microseconds of one run, roughly.
  double estimate(const PreparedCall& call);
  /// Microseconds per repetition, for each replay of a graph with `repetitions` of the call. The time of what runs in
  /// between is subtracted.
  std::vector<double> time(const PreparedCall& call, std::size_t repetitions, std::size_t replays,
                           const Surroundings& surroundings);
  /// Lets the clocks rise after a pause.
  void wake();

 private:
  struct Memory {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  Places places(std::size_t copy) const;
  std::byte* take(std::size_t bytes);
  /// A graph that empties the cache, runs the call once, and then runs it `repetitions` times between the two events,
  /// each time after what the surroundings ask for. Without `with_call`, only the latter.
  GraphExecution graph_of(const PreparedCall& call, std::size_t repetitions, const Surroundings& surroundings,
                          bool with_call);

  std::size_t cache_bytes_;
  unsigned multiprocessors_;
  Stream stream_;
  Event begin_, end_;
  DeviceBuffer flushed_, pool_;
  std::size_t taken_ = 0;
  Agreement* agreement_ = nullptr;

  const cost::Call* call_ = nullptr;
  std::vector<Memory> read_;  ///< for a weight: the first copy; others follow at the distance below
  std::vector<std::size_t> copy_distance_;
  std::vector<Memory> written_;
  Rewritten rewritten_;  ///< the operands that are not weights
  std::vector<std::vector<Memory>> kept_;
  std::size_t copies_ = 1, kept_count_ = 0;
  std::byte* scratch_ = nullptr;
  std::byte* workspace_ = nullptr;
  std::chrono::steady_clock::time_point last_busy_{};
};

}  // namespace taso::gpu::cuda
