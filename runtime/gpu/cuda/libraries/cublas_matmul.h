// Matrix products through cublasLt, with a bias, a residual and an activation where it has an epilogue for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/gpu/cuda/prepared.h"

namespace taso::gpu::cuda {

class CublasMatmul {
 public:
  /// Throws EnvironmentError without a GPU.
  CublasMatmul();
  ~CublasMatmul();

  /// The algorithms that its heuristics suggest, most promising first. Empty, with the reason, if it cannot do this
  /// product.
  std::vector<Alternative> alternatives(const MatmulLaunch& launch, const Alignments& alignments,
                                        std::string& reason) const;
  /// Prepares the algorithm with this identity; throws EnvironmentError if there is none.
  std::unique_ptr<Prepared> prepare(const MatmulLaunch& launch, const Alignments& alignments,
                                    const std::string& identity) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace taso::gpu::cuda
