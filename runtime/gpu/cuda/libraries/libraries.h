// All that can do a launch on one device, and calls made ready with it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/gpu/cuda/libraries/cublas_matmul.h"
#include "runtime/gpu/cuda/libraries/cudnn_engines.h"
#include "runtime/gpu/cuda/prepared.h"
#include "runtime/gpu/cuda/source_kernel.h"

namespace taso::gpu::cuda {

/// A call with everything chosen.
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

  /// The most promising first. Empty with the reason if nobody can do it.
  std::vector<Alternative> alternatives(const Launch& launch, const Alignments& alignments, std::string& reason);
  /// The one of that identity; throws EnvironmentError if there is none.
  std::unique_ptr<Prepared> prepare(const Launch& launch, const Alignments& alignments, const std::string& identity);
  /// Begins to compile kernels of our own that these ways of a call may need, or the choice alone if there is one.
  void expect(const std::vector<Lowering>& lowerings, const std::string& choice = "");
  /// What nobody has begun to compile is not compiled before it is prepared.
  void expect_nothing();

  /// The call as that choice says; throws EnvironmentError if it cannot be done so (any more).
  PreparedCall prepare(const cost::Call& call, const Alignments& alignments, const std::string& choice);
  /// The same for a program. What was made of it is kept, for networks have many calls alike, and models that are compared even
  /// more: launches of one are shared, by one thread.
  PreparedCall prepare_for_program(const cost::Call& call, const Alignments& alignments, const std::string& choice);

  int capability() const { return capability_; }  ///< 90 for 9.0
  std::size_t cache_bytes() const { return cache_bytes_; }

 private:
  CudnnEngines& cudnn();
  CublasMatmul& cublas();

  int capability_ = 0;
  std::size_t cache_bytes_ = 0;
  std::unique_ptr<SourceKernels> sources_;
  // Made when they are needed first, for that takes a while.
  std::unique_ptr<CudnnEngines> cudnn_;
  std::unique_ptr<CublasMatmul> cublas_;
  struct Kept {
    cost::Call call;
    PreparedCall prepared;
  };
  std::map<std::string, Kept> kept_;  // by the choice, alignments and the text of the call
};

/// "fused: engine 35 knobs 2=1; own"
std::string choice_of(const std::string& lowering, const std::vector<std::string>& identities);
/// Bytes from the first to behind the last element.
std::size_t span_bytes(const cost::Call::Operand& operand);

}  // namespace taso::gpu::cuda
