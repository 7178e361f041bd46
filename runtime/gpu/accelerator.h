// A GPU as the rest of the program sees it: it measures calls and runs whole programs. Implemented by the CUDA module, which is
// loaded at run time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cost/pricing/price_database.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/schedule.h"

namespace taso::gpu {

/// What a call finds when it is measured.
struct Surroundings {
  /// What ran just before it.
  enum class Before : std::uint8_t {
    itself,   ///< the same call: its code and what it reads lie as near as they can
    writer,   ///< a kernel that has written what it reads, but for weights, on all multiprocessors
    stranger  ///< such a kernel, with so much code that the call's has to be fetched again
  };
  Before before = Before::writer;
  bool is_warm = false;  ///< its weights are in the cache, as those of a small network stay there from run to run
};

/// Figures as they are kept, or why there are none.
struct Measurement : cost::RecordedPrice {
  std::string trouble;  ///< empty if there are some
};

/// Which bytes a step works on. Offsets are those of places in one arena, or of weights, or of the caller's inputs.
struct Binding {
  enum class Place : std::uint8_t { arena, weights, input, output };
  Place place = Place::arena;
  std::uint32_t index = 0;  ///< of an input or output
  std::int64_t offset = 0;  ///< in bytes, from its begin
};

/// A program for a device: what runs, when, on which memory.
struct DeviceSteps {
  struct Step {
    cost::Call call;     ///< with `host`: only its operands count
    std::string choice;  ///< as it was measured; empty: it is to be found out
    std::vector<Binding> read, written;
    /// What has no kernel is done here, with the bytes of what it reads, densely, on the host. Empty for all others.
    std::function<void(std::span<const std::span<const std::byte>> read, std::span<const std::span<std::byte>> written)>
        host;
  };
  std::vector<Step> steps;  ///< in an order in which they can be done one after the other
  /// Other ways to run them, side by side where they can be; the memory is laid out so that each of them is right. Tasks are
  /// steps, what the host does is a barrier.
  std::vector<Schedule> schedules;
  std::int64_t arena_bytes = 0;
  std::vector<std::byte> weights;
  std::vector<std::int64_t> input_bytes, output_bytes;
};

/// What a program found out about running steps side by side, in microseconds of a whole run.
struct LanesFound {
  std::uint32_t lanes = 1;  ///< with which it runs now
  double time = 0;          ///< so
  double alone = 0;         ///< one after the other; 0 if nothing was compared
  std::string others;       ///< what else was tried, for people
};

class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  /// Each input as its bytes; the outputs' bytes come back.
  virtual std::vector<std::vector<std::byte>> run(std::span<const std::span<const std::byte>> inputs) = 0;
  /// Microseconds of each of so many runs, one after the other, without the copies of inputs and outputs.
  virtual std::vector<double> time(std::size_t runs) = 0;
  /// Microseconds of each step, in its place among the others, one after the other (median of some runs).
  virtual std::vector<double> profile() = 0;
  virtual std::size_t launches() const = 0;
  virtual std::int64_t device_bytes() const = 0;
  virtual const std::vector<std::string>& choices() const = 0;  ///< of each step, as it runs
  virtual LanesFound lanes() const { return {}; }
};

struct DeviceState {
  double watts = 0, celsius = 0, megahertz = 0;  ///< 0 where the driver does not say
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual std::string device() const = 0;    ///< "NVIDIA H200"
  virtual std::string versions() const = 0;  ///< "driver 13.0, CUDA 13.0, cuDNN 9.14.0, cuBLAS 13.0.0"
  /// That these will be measured soon, in this order: what can be prepared beside other work, is. None: nothing that was
  /// expected before is any more.
  virtual void expect(std::span<const cost::Call> calls) { (void)calls; }
  virtual Measurement measure(const cost::Call& call) = 0;
  /// A way that was chosen before, measured once more, with all figures. Throws EnvironmentError if it cannot be done so.
  virtual Measurement measure_choice(const cost::Call& call, const std::string& choice) = 0;
  /// Nanoseconds of such a way in these surroundings.
  virtual double time_choice(const cost::Call& call, const std::string& choice, const Surroundings& surroundings) = 0;
  /// All ways that there are, each looked at briefly, in no order of merit: for people who want to see what there is.
  virtual std::vector<Measurement> measure_all(const cost::Call& call) { return {measure(call)}; }
  /// Choices that can be run and compute the same, the most promising first, at most so many; none of them is measured.
  virtual std::vector<std::string> ways(const cost::Call& call, std::size_t most) = 0;
  virtual std::unique_ptr<DeviceProgram> load(DeviceSteps steps) = 0;
  virtual DeviceState state() const = 0;
};

/// The first GPU; null with the reason in `trouble` if there is none.
std::unique_ptr<Accelerator> open_accelerator(std::string& trouble);

}  // namespace taso::gpu
