// A whole program on the device: its memory, and CUDA graphs of its launches, with breaks where the host has to do something.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cost/accelerator.h"
#include "cost/cuda/handles.h"
#include "cost/cuda/libraries.h"
#include "cost/cuda/tuner.h"

namespace taso::cuda {

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

 private:
  /// Launches in a graph, or a step for the host.
  struct Segment {
    std::size_t first = 0, end = 0;  ///< steps
    bool is_host = false;
    GraphExecution graph;
  };
  /// An operand that does not begin where kernels want it: they work on a copy.
  struct Moved {
    std::byte* home = nullptr;
    std::byte* copy = nullptr;
    std::size_t bytes = 0;
    bool is_written = false;
    std::size_t operand = 0;
  };
  std::byte* address(const Binding& binding) const;
  void launch(std::size_t step) const;
  void allocate();
  void choose(const std::function<Tuner&()>& tuner);
  void place_steps();
  void fill_inputs();
  /// With an event before the first step and behind each, if there are events.
  std::vector<Segment> segments(const std::vector<Event>& events) const;
  void run_on_host(std::size_t step) const;
  void enqueue(const std::vector<Segment>& segments) const;
  void wait() const;

  Libraries& libraries_;
  DeviceSteps steps_;
  Stream stream_;
  DeviceBuffer arena_, weights_, scratch_, workspace_, moved_memory_;
  std::vector<DeviceBuffer> inputs_, outputs_;
  std::vector<PreparedCall> calls_;  ///< of each step; empty for the host's
  std::vector<Places> places_;
  std::vector<std::vector<Moved>> moved_;
  std::vector<std::string> choices_;
  std::vector<Segment> segments_;
  std::size_t launches_ = 0;
};

}  // namespace taso::cuda
