// cuDNN's engines for a graph of operations, found through its heuristics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/gpu/cuda/kernel_cache.h"
#include "runtime/gpu/cuda/prepared.h"

namespace taso::gpu::cuda {

class CudnnEngines {
 public:
  struct State;  ///< what all prepared engines share

  /// `device` names what compiled code depends on. Throws EnvironmentError without a GPU. The cache must outlive it and
  /// all that it prepares.
  CudnnEngines(std::string device, KernelCache& cache);
  ~CudnnEngines();

  /// The engines that its heuristics suggest, most promising first, without those that round more than allowed. Empty,
  /// with the reason, if it cannot do this at all.
  std::vector<Alternative> alternatives(const ConvolutionLaunch& launch, const Alignments& alignments,
                                        std::string& reason) const;
  std::vector<Alternative> alternatives(const MatmulLaunch& launch, const Alignments& alignments,
                                        std::string& reason) const;
  /// Prepares the engine with this identity; throws EnvironmentError if there is none.
  std::unique_ptr<Prepared> prepare(const ConvolutionLaunch& launch, const Alignments& alignments,
                                    const std::string& identity) const;
  std::unique_ptr<Prepared> prepare(const MatmulLaunch& launch, const Alignments& alignments,
                                    const std::string& identity) const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace taso::gpu::cuda
