// The interface of a GPU: it measures calls and runs whole programs. The CUDA module, loaded at run time, implements
// it.
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

/// The state of the GPU when a call is measured.
struct Surroundings {
  /// What ran just before the call.
  enum class Before : std::uint8_t {
    itself,   ///< the same call: its code and operands are cached as well as they can be
    writer,   ///< a kernel that wrote the call's operands, except weights, on all multiprocessors
    stranger  ///< such a kernel, with so much code that the call's code has to be fetched again
  };
  Before before = Before::writer;
  bool is_warm = false;  ///< weights are in the cache, where those of a small network stay between runs
};

/// The recorded figures, or the reason why there are none.
struct Measurement : cost::RecordedPrice {
  std::string trouble;  ///< empty if there are figures
};

/// The memory of an operand: an offset in the arena, in weights, or in an input or output of the caller.
struct Binding {
  enum class Place : std::uint8_t { arena, weights, input, output };
  Place place = Place::arena;
  std::uint32_t index =
      0;  ///< of an input or output; of weights: 0 for the program's own, i for `shared_weights[i - 1]`
  std::int64_t offset = 0;  ///< in bytes, from the start
};

/// Where device memory comes from: cudaMalloc, unless a caller brings something else. Both functions or none.
struct DeviceMemory {
  std::function<void*(std::size_t bytes)> allocate;  ///< null if there is none left
  std::function<void(void* memory, std::size_t bytes)> free;
};

/// Weights in the memory of a device. Programs share them.
class WeightBlock {
 public:
  virtual ~WeightBlock() = default;
};

/// A program for a device: what runs, when, and on which memory.
struct DeviceSteps {
  struct Step {
    cost::Call call;     ///< with `host`: only its operands matter
    std::string choice;  ///< the measured variant; empty: to be chosen while loading
    std::vector<Binding> read, written;
    /// Computes a step without a kernel on the host, from the dense bytes of its operands. Empty for all other steps.
    std::function<void(std::span<const std::span<const std::byte>> read, std::span<const std::span<std::byte>> written)>
        host;
  };
  std::vector<Step> steps;  ///< in a valid sequential order
  /// Other schedules, with concurrent steps. The memory layout is valid for each of them. Tasks are steps; a step on
  /// the host is a barrier.
  std::vector<Schedule> schedules;
  std::int64_t arena_bytes = 0;
  std::vector<std::byte> weights;
  std::vector<std::shared_ptr<const WeightBlock>> shared_weights;  ///< those of other programs that it uses too
  std::vector<std::int64_t> input_bytes, output_bytes;
  std::vector<ElementType> input_elements, output_elements;  ///< as the steps read and write them
  /// An input and an output that may be the same memory. Nothing writes the output before all others have read the
  /// input, in any schedule.
  struct InPlace {
    std::uint32_t input = 0, output = 0;
    bool operator==(const InPlace&) const = default;
  };
  std::vector<InPlace> in_place;
  DeviceMemory memory;  ///< for everything that the program allocates
  /// Steps without a choice take the fastest of a few promising variants, in a brief measurement, instead of all
  /// variants measured with care.
  bool chooses_briefly = false;
};

/// The memory of an input or output that the caller owns, dense and row-major.
struct CallersMemory {
  std::byte* data = nullptr;  ///< not written if it is an input
  bool is_on_device = false;
  ElementType element = ElementType::undefined;  ///< on the device, it may differ from that of the steps
};

/// A compiled kernel of our own, or a plan of a library that contains compiled code.
struct KernelBinary {
  std::string key;  ///< identifies source or graph, compiler and architecture
  std::vector<char> code;
};

/// The result of trying concurrent streams, in microseconds per run.
struct LanesFound {
  std::uint32_t lanes = 1;  ///< the number of streams in use
  double time = 0;          ///< with these streams
  double alone = 0;         ///< sequential; 0 if nothing was compared
  std::string others;       ///< the other schedules tried, for people
};

class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  /// Takes the bytes of each input and returns the bytes of each output.
  virtual std::vector<std::vector<std::byte>> run(std::span<const std::span<const std::byte>> inputs) = 0;
  /// Runs on the caller's stream (a cudaStream_t; null is the default stream) and memory. Returns early if all memory
  /// is on the device and no step runs on the host. Device memory is used in place if it is aligned to 16 bytes, has
  /// the elements of the steps, and has been passed before; else it is copied. Inputs may overlap with outputs; they
  /// are copied then, unless DeviceSteps::in_place has the two and their memory is the same. Several threads may call
  /// it; runs of one program follow one another.
  virtual void enqueue(std::span<const CallersMemory> inputs, std::span<const CallersMemory> outputs, void* stream) = 0;
  /// Times `runs` sequential runs, in microseconds each, without copies of inputs and outputs.
  virtual std::vector<double> time(std::size_t runs) = 0;
  /// Microseconds per step of a sequential run (median of some runs).
  virtual std::vector<double> profile() = 0;
  virtual std::size_t launches() const = 0;
  virtual std::int64_t device_bytes() const = 0;
  virtual const std::vector<std::string>& choices() const = 0;  ///< of each step
  virtual LanesFound lanes() const { return {}; }
  /// Its own weights on the device, for other programs; null if it does not share them.
  virtual std::shared_ptr<const WeightBlock> weights() const { return nullptr; }
  /// What was compiled for it, each once.
  virtual std::vector<KernelBinary> binaries() const { return {}; }
};

struct DeviceState {
  double watts = 0, celsius = 0, megahertz = 0;  ///< 0 where the driver does not know
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual std::string device() const = 0;    ///< "NVIDIA H200"
  virtual std::string versions() const = 0;  ///< "driver 13.0, CUDA 13.0, cuDNN 9.14.0, cuBLAS 13.0.0"
  /// Announces calls that will be measured soon, in this order, so that they can be prepared in the background. An
  /// empty list cancels earlier announcements.
  virtual void expect(std::span<const cost::Call> calls) { (void)calls; }
  /// Whether measure() knows such calls; others stay predicted.
  virtual bool can_measure(const cost::Call& /*call*/) const { return true; }
  virtual Measurement measure(const cost::Call& call) = 0;
  /// Measures a given variant with all figures. Throws EnvironmentError if this variant is not possible.
  virtual Measurement measure_choice(const cost::Call& call, const std::string& choice) = 0;
  /// Nanoseconds of a given variant in these surroundings.
  virtual double time_choice(const cost::Call& call, const std::string& choice, const Surroundings& surroundings) = 0;
  /// All variants, each measured briefly, in no order of merit: for people who want to see them.
  virtual std::vector<Measurement> measure_all(const cost::Call& call) { return {measure(call)}; }
  /// At most `most` variants that run and agree with one another, most promising first, without measuring them.
  virtual std::vector<std::string> ways(const cost::Call& call, std::size_t most) = 0;
  virtual std::unique_ptr<DeviceProgram> load(DeviceSteps steps) = 0;
  /// Uses these kernels instead of compiling them.
  virtual void know(std::vector<KernelBinary> /*kernels*/) {}
  virtual DeviceState state() const = 0;
  /// Compute capability, 90 for 9.0; 0 if unknown.
  virtual int capability() const { return 0; }
  /// From now on, measures convolutions and products with the libraries' kernels only, not with our own. Calls that no
  /// library does keep ours.
  virtual void use_libraries_only() {}
};

/// A GPU by its number in CUDA's order; null, with the reason in `trouble`, if there is none. Several threads may use
/// it.
std::unique_ptr<Accelerator> open_accelerator(std::string& trouble, int device = 0);

}  // namespace taso::gpu
