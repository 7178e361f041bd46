// Everything that can do a launch on one device, and calls prepared with it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/gpu/cuda/libraries/cublas_matmul.h"
#include "runtime/gpu/cuda/libraries/cudnn_engines.h"
#include "runtime/gpu/cuda/prepared.h"
#include "runtime/gpu/cuda/shared_weights.h"
#include "runtime/gpu/cuda/source_kernel.h"

namespace taso::gpu::cuda {

/// A call with all choices made.
struct PreparedCall {
  std::string choice;
  std::vector<std::shared_ptr<Prepared>> launches;
  std::size_t scratch_bytes = 0;
  bool is_own = false;  ///< without a library

  std::size_t workspace_bytes() const;
  bool is_exclusive() const;
  void launch(cudaStream_t stream, const Places& places) const;
};

class Libraries {
 public:
  explicit Libraries(int device);

  enum class Effort : std::uint8_t {
    full,
    brief  ///< without engines that cuDNN compiles for about a second, as it does for matmuls
  };
  /// Most promising first. Empty, with the reason, if there is none.
  std::vector<Alternative> alternatives(const Launch& launch, const Alignments& alignments, std::string& reason,
                                        Effort effort = Effort::full);
  /// Prepares the alternative with this identity; throws EnvironmentError if there is none.
  std::unique_ptr<Prepared> prepare(const Launch& launch, const Alignments& alignments, const std::string& identity);
  /// Starts to compile our own kernels that these lowerings may need, or only those of `choice`, if it is given.
  void expect(const std::vector<Lowering>& lowerings, const std::string& choice = "");
  /// Drops compilations that have not started; they are compiled when prepared.
  void expect_nothing();

  /// Prepares the call as chosen; throws EnvironmentError if that is not possible (any more).
  PreparedCall prepare(const cost::Call& call, const Alignments& alignments, const std::string& choice);
  /// The same for a program. Caches the result, because networks have many equal calls, and models that are compared
  /// even more; equal calls share launches, within one thread.
  PreparedCall prepare_for_program(const cost::Call& call, const Alignments& alignments, const std::string& choice);

  /// From now on, `admitted` leaves out our own kernels where a library does the same call.
  void leave_out_own() { has_own_ = false; }
  std::vector<Lowering> admitted(std::vector<Lowering> lowerings) const;

  /// Uses these instead of compiling them.
  void know(std::vector<KernelBinary> kernels) { cache_.know(std::move(kernels)); }

  /// On the device.
  std::shared_ptr<const Weights> weights(std::vector<std::byte> bytes, const DeviceMemory& memory) {
    return weights_.get(std::move(bytes), memory);
  }

  int device() const { return device_; }
  int capability() const { return capability_; }  ///< 90 for 9.0
  /// Held while something is prepared, measured or captured: the libraries' handles are used by one thread at a time.
  std::recursive_mutex& guard() { return guard_; }
  std::size_t cache_bytes() const { return cache_bytes_; }

 private:
  CudnnEngines& cudnn();
  CublasMatmul& cublas();

  std::recursive_mutex guard_;
  SharedWeights weights_;
  int device_ = 0;
  int capability_ = 0;
  bool has_own_ = true;
  std::size_t cache_bytes_ = 0;
  KernelCache cache_;
  std::unique_ptr<SourceKernels> sources_;
  // Created at first use, because that takes a while.
  std::unique_ptr<CudnnEngines> cudnn_;
  std::unique_ptr<CublasMatmul> cublas_;
  struct Kept {
    cost::Call call;
    PreparedCall prepared;
  };
  std::map<std::string, Kept> kept_;  // by choice, alignments and text of the call
};

/// "fused: engine 35 knobs 2=1; own"
std::string choice_of(const std::string& lowering, const std::vector<std::string>& identities);
/// The bytes from the start of the first element to the end of the last.
std::size_t span_bytes(const cost::Call::Operand& operand);

}  // namespace taso::gpu::cuda
