// A whole program on the device: its memory, and CUDA graphs of its launches, split where the host has to do a step. If
// there are schedules with several streams, it uses the fastest of them, or the sequential one.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/cuda/handles.h"
#include "runtime/gpu/cuda/libraries/libraries.h"
#include "runtime/gpu/cuda/tuner.h"

namespace taso::gpu::cuda {

class Program : public DeviceProgram {
 public:
  /// Chooses a variant for each step without one, or with one that does not work here. Throws EnvironmentError if a
  /// step is impossible.
  Program(Libraries& libraries, const std::function<Tuner&()>& tuner, DeviceSteps steps);

  ~Program() override;

  std::vector<std::vector<std::byte>> run(std::span<const std::span<const std::byte>> inputs) override;
  void enqueue(std::span<const CallersMemory> inputs, std::span<const CallersMemory> outputs, void* stream) override;
  std::vector<double> time(std::size_t runs) override;
  std::vector<double> profile() override;
  std::size_t launches() const override { return launches_; }
  std::int64_t device_bytes() const override;
  const std::vector<std::string>& choices() const override { return choices_; }
  LanesFound lanes() const override { return found_; }
  std::shared_ptr<const WeightBlock> weights() const override { return weights_.front(); }
  std::vector<KernelBinary> binaries() const override;

 private:
  /// The addresses of inputs and outputs.
  struct Ends {
    std::vector<std::byte*> inputs, outputs;
    bool operator==(const Ends&) const = default;
  };
  /// An operand that is not aligned as kernels expect: they work on a copy.
  struct Moved {
    std::byte* home = nullptr;
    std::size_t offset = 0;  ///< of the copy, in the lane's memory for copies
    std::size_t bytes = 0;
    bool is_written = false;
    std::size_t operand = 0;
  };
  /// The addresses of everything, by step, without the memory of lanes.
  struct Placement {
    std::vector<Places> places;
    std::vector<std::vector<Moved>> moved;
  };
  /// A graph of launches, or one step for the host.
  struct Segment {
    std::size_t step = 0;  ///< for the host
    bool is_host = false;
    GraphExecution graph;
    std::size_t kernels = 0;
  };
  using Way = std::vector<Segment>;  ///< all segments of a run
  /// The program on memory of a caller.
  struct Bound {
    Ends ends;
    Placement placement;
    Way way;
  };
  /// What the steps of a lane use exclusively, one step at a time.
  struct Lane {
    Stream stream;  ///< none for the first lane, which uses the program's
    DeviceBuffer scratch, workspace, moved;
  };
  std::byte* address(const Binding& binding, const Ends& ends) const;
  cudaStream_t stream_of(std::size_t lane) const { return lane == 0 ? stream_.get() : lanes_[lane].stream.get(); }
  /// `has_one_before`: the step follows the lane's last kernel and waits for nothing else, see Places.
  void launch(const Placement& placement, std::size_t step, std::size_t lane, bool has_one_before) const;
  void allocate();
  void choose(const std::function<Tuner&()>& tuner);
  void choose_briefly(const std::function<Tuner&()>& tuner);
  Placement placed(const Ends& ends) const;
  void make_lanes();
  void fill_inputs();
  /// `events`: if any, one before the first step and one after each step.
  Way way(const Placement& placement, const Schedule& schedule, const std::vector<Event>& events) const;
  Graph captured(const Placement& placement, const Schedule& schedule, std::size_t first, std::size_t end,
                 const std::vector<Event>& events) const;
  /// All steps in order, in one lane.
  Schedule in_sequence() const;
  bool can_run_side_by_side() const;
  void choose_way();
  const Way& best() const { return beside_.empty() ? alone_ : beside_; }
  void run_on_host(const Placement& placement, std::size_t step, cudaStream_t stream) const;
  void enqueue(const Placement& placement, const Way& way, cudaStream_t stream) const;
  /// Which of the caller's addresses can be used in place; the others are the program's own.
  Ends usable(std::span<const CallersMemory> inputs, std::span<const CallersMemory> outputs) const;
  bool is_in_place(std::size_t input, std::size_t output) const;
  /// The caller's addresses of inputs that are outputs too; the others are the program's own.
  Ends only_in_place(const Ends& ends) const;
  /// The program on these addresses, if they have been passed before; null if not.
  const Bound* bound(const Ends& ends);
  void bring(const CallersMemory& input, std::size_t index, cudaStream_t stream) const;
  void fetch(const CallersMemory& output, std::size_t index, cudaStream_t stream) const;
  std::vector<double> timed(const Way& way, std::size_t runs) const;
  std::vector<std::vector<std::byte>> outputs() const;
  void wait() const;

  std::mutex guard_;  // of runs
  Libraries& libraries_;
  DeviceSteps steps_;
  Stream stream_;
  DeviceBuffer arena_;
  std::vector<std::shared_ptr<const Weights>> weights_;  // its own, and those of other programs
  std::vector<Lane> lanes_;
  std::vector<DeviceBuffer> inputs_, outputs_;
  Ends own_;                         // of inputs_ and outputs_
  std::vector<PreparedCall> calls_;  // of each step; empty for steps on the host
  Placement placement_;              // with the program's own inputs and outputs
  std::vector<std::string> choices_;
  Schedule fastest_;    // how best() runs
  Way alone_, beside_;  // sequential; concurrent, if that is faster
  LanesFound found_;
  std::size_t launches_ = 0;
  std::list<Bound> bound_;  // last used first
  std::vector<Ends> seen_;  // once, last seen last
  Event last_;              // the end of the last run
  void* last_stream_ = nullptr;
  bool has_run_ = false;
};

}  // namespace taso::gpu::cuda
