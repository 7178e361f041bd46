// Convolutions and products with their epilogues, as operation graphs that cuDNN runs in one launch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/gpu/cuda/libraries/cudnn_descriptor.h"
#include "runtime/gpu/cuda/prepared.h"

namespace taso::gpu::cuda {

/// Operations as cuDNN descriptors. Owns everything that they refer to.
class CudnnGraph {
 public:
  /// `with_nothing_added`: adds a residual with factor 0. cuDNN's precompiled engines expect a residual, a bias and an
  /// activation.
  CudnnGraph(cudnnHandle_t handle, const ConvolutionLaunch& launch, const Alignments& alignments,
             bool with_nothing_added);
  CudnnGraph(cudnnHandle_t handle, const MatmulLaunch& launch, const Alignments& alignments);

  const Descriptor& operations() const { return graph_; }
  /// Whether factors may be rounded to TF32.
  bool is_tf32() const { return is_tf32_; }
  bool is_small() const { return is_small_; }  ///< float16 or bfloat16

  /// The variant pack of a run: tensor ids and their memory.
  struct Bound {
    std::int64_t id = 0;
    Argument memory;
    std::optional<float> by_value;
  };
  const std::vector<Bound>& bound() const { return bound_; }

  /// Whether adding a residual with factor 0 gives the graph of the precompiled engines.
  static bool takes_nothing_added(const ConvolutionLaunch& launch);

 private:
  struct Shaped {
    Extents extents;
    cost::Strides strides;
  };
  std::int64_t add_tensor(const LaunchTensor& tensor, const Shaped& shaped);
  std::int64_t add_virtual(const Shaped& shaped);
  std::int64_t add_number(double value, std::size_t rank);
  Descriptor& tensor(std::int64_t id) { return tensors_[static_cast<std::size_t>(id - 1)]; }
  void add_epilogue(std::int64_t product, const LaunchTensor& y, const Shaped& y_shaped,
                    const std::vector<Pointwise>& epilogue, const std::vector<Shaped>& operands,
                    bool with_nothing_added);
  /// `factor`: multiplies the operand.
  void add_pointwise(const Pointwise& step, std::int64_t value, std::optional<std::int64_t> operand,
                     std::int64_t result, std::optional<double> factor = {});
  void finish(cudnnHandle_t handle);

  const Alignments* alignments_;
  cudnnDataType_t compute_ = CUDNN_DATA_FLOAT;
  bool is_tf32_ = false, is_small_ = false;
  std::vector<Descriptor> tensors_, others_, operations_;
  std::vector<Bound> bound_;
  Descriptor graph_;
};

}  // namespace taso::gpu::cuda
