// Where calls are measured: memory for their operands, and the clock.
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

  /// Random operands for a call, with as many copies of its weights as repetitions may need, and memory for the rest.
  void set_up(const cost::Call& call, std::size_t scratch_bytes, std::size_t workspace_bytes);

  /// Runs it once on poisoned memory. The results stay until the next run.
  void run(const PreparedCall& call);
  /// How far the results of the last run are from others that were kept, by the relative norm of their difference, the
  /// worst of all. Not a number if something was not written or is no number.
  double distance(std::size_t kept);
  /// Keeps the results of the last run; its number. Nothing is kept for more than a few.
  std::size_t keep();
  /// Whether everything was written that should be, by the last run.
  bool is_complete();

  /// Microseconds of one run, roughly.
  double estimate(const PreparedCall& call);
  /// Microseconds of each of so many replays of a graph, divided by the repetitions in it. What runs in between is taken off.
  std::vector<double> time(const PreparedCall& call, std::size_t repetitions, std::size_t replays,
                           const Surroundings& surroundings);
  /// Lets the clocks rise, if there was a pause.
  void wake();

 private:
  struct Memory {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  Places places(std::size_t copy) const;
  std::byte* take(std::size_t bytes);
  /// A graph that empties the cache, runs the call once, and then so often between the two events, behind what runs before
  /// it; without the call only that.
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
  std::vector<Memory> read_;  ///< of a weight: the first copy; others follow at the distance below
  std::vector<std::size_t> copy_distance_;
  std::vector<Memory> written_;
  Rewritten rewritten_;  ///< what is read and no weight
  std::vector<std::vector<Memory>> kept_;
  std::size_t copies_ = 1, kept_count_ = 0;
  std::byte* scratch_ = nullptr;
  std::byte* workspace_ = nullptr;
  std::chrono::steady_clock::time_point last_busy_{};
};

}  // namespace taso::gpu::cuda
