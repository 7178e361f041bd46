// A whole program on the device: its memory, and CUDA graphs of its launches, with breaks where the host has to do something.
// Where there are schedules with several lanes, it runs as the fastest of them has it, or one step after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/cuda/handles.h"
#include "runtime/gpu/cuda/libraries/libraries.h"
#include "runtime/gpu/cuda/tuner.h"

namespace taso::gpu::cuda {

class Program : public DeviceProgram {
 public:
  /// Chooses for the steps that have no choice, or one that cannot be done here. Throws EnvironmentError if a step cannot be
  /// done at all.
  Program(Libraries& libraries, const std::function<Tuner&()>& tuner, DeviceSteps steps);

  std::vector<std::vector<std::byte>> run(std::span<const std::span<const std::byte>> inputs) override;
  std::vector<double> time(std::size_t runs) override;
  std::vector<double> profile() override;
  std::size_t launches() const override { return launches_; }
  std::int64_t device_bytes() const override;
  const std::vector<std::string>& choices() const override { return choices_; }
  LanesFound lanes() const override { return found_; }

 private:
  /// Launches in a graph, or a step for the host.
  struct Segment {
    std::size_t step = 0;  ///< if it is for the host
    bool is_host = false;
    GraphExecution graph;
    std::size_t kernels = 0;
  };
  using Way = std::vector<Segment>;  ///< to run everything
  /// What the steps of a lane have to themselves, one at a time.
  struct Lane {
    Stream stream;  ///< none for the first one, which has the program's
    DeviceBuffer scratch, workspace, moved;
  };
  /// An operand that does not begin where kernels want it: they work on a copy.
  struct Moved {
    std::byte* home = nullptr;
    std::size_t offset = 0;  ///< of the copy, in a lane's memory for such
    std::size_t bytes = 0;
    bool is_written = false;
    std::size_t operand = 0;
  };
  std::byte* address(const Binding& binding) const;
  cudaStream_t stream_of(std::size_t lane) const { return lane == 0 ? stream_.get() : lanes_[lane].stream.get(); }
  /// Whether it follows the lane's last kernel and waits for nothing else, see Places.
  void launch(std::size_t step, std::size_t lane, bool has_one_before) const;
  void allocate();
  void choose(const std::function<Tuner&()>& tuner);
  void place_steps();
  void make_lanes();
  void fill_inputs();
  /// With an event before the first step and behind each, if there are events.
  Way way(const Schedule& schedule, const std::vector<Event>& events) const;
  Graph captured(const Schedule& schedule, std::size_t first, std::size_t end, const std::vector<Event>& events) const;
  bool can_run_side_by_side() const;
  void choose_way();
  void run_on_host(std::size_t step) const;
  void enqueue(const Way& way) const;
  std::vector<double> timed(const Way& way, std::size_t runs) const;
  std::vector<std::vector<std::byte>> outputs() const;
  void wait() const;

  Libraries& libraries_;
  DeviceSteps steps_;
  Stream stream_;
  DeviceBuffer arena_, weights_;
  std::vector<Lane> lanes_;
  std::vector<DeviceBuffer> inputs_, outputs_;
  std::vector<PreparedCall> calls_;  ///< of each step; empty for the host's
  std::vector<Places> places_;       ///< without what belongs to lanes
  std::vector<std::vector<Moved>> moved_;
  std::vector<std::string> choices_;
  Way alone_, beside_;  ///< one after the other; in lanes, if that is faster
  LanesFound found_;
  std::size_t launches_ = 0;
};

}  // namespace taso::gpu::cuda
