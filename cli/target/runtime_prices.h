// Prices of kernels in ONNX Runtime: each is measured there as a small model. It takes the place of a GPU in
// runtime/pricing, which decides what to measure and keeps the prices.
#pragma once

#include <optional>

#include "cli/target/onnxruntime.h"
#include "onnx/model/model.h"
#include "runtime/gpu/accelerator.h"

namespace taso::cli {

class RuntimePrices : public gpu::Accelerator {
 public:
  /// For models of that opset: ONNX Runtime has different kernels for different opsets. `runtime` must outlive this.
  RuntimePrices(OnnxRuntime& runtime, std::int64_t opset) : runtime_(runtime), opset_(opset) {}
  std::string device() const override { return runtime_.processor(); }
  std::string versions() const override;
  bool can_measure(const cost::Call& call) const override;
  /// The time of the call without what a run costs anyway, and without the reorderings of ONNX Runtime's own layout at
  /// its borders: within a network, neighbours have the same layout. Once with weights from the cache, and once from
  /// memory where that makes a difference.
  gpu::Measurement measure(const cost::Call& call) override;

  gpu::Measurement measure_choice(const cost::Call& call, const std::string&) override { return measure(call); }
  double time_choice(const cost::Call& call, const std::string&, const gpu::Surroundings&) override {
    return measure(call).nanoseconds;
  }
  std::vector<std::string> ways(const cost::Call&, std::size_t) override { return {}; }
  /// It runs no plans.
  std::unique_ptr<gpu::DeviceProgram> load(gpu::DeviceSteps steps) override;
  gpu::DeviceState state() const override { return {}; }

 private:
  struct Timed {
    double nanoseconds = 0;  ///< of one call
    OnnxRuntime::Price price;
  };
  /// The time of a call, if several with operands of their own run one after the other.
  Timed time_of(const cost::Call& call, std::size_t copies);
  OnnxRuntime::Price price_of(const onnx::Model& model);
  /// Nanoseconds that a run takes if there is nothing to do.
  double idle();

  OnnxRuntime& runtime_;
  std::int64_t opset_;
  std::optional<double> idle_;
};

}  // namespace taso::cli
