// A model that is ready to run, on a GPU or on the host: what is behind the C interface (runtime/api).
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "onnx/export/edit.h"
#include "onnx/model/model.h"
#include "ops/core/array.h"
#include "runtime/session/engine_file.h"
#include "runtime/session/gpu_model.h"
#include "runtime/session/session_options.h"
#include "runtime/session/sizes.h"

namespace taso::runtime {

/// An input or output of the model.
struct Port {
  std::string name;
  Type type;
};

/// An input or output of a run.
struct RunTensor {
  std::byte* data = nullptr;  ///< of the caller; null for an output that the session allocates
  std::size_t capacity = 0;   ///< bytes
  bool is_on_device = false;
  ElementType element = ElementType::undefined;
  Extents extents;
  Array made;  ///< an output that the session allocated
};

class Session {
 public:
  /// Plans the model. Throws InputError if it is invalid or cannot run, EnvironmentError if there is no such GPU or not
  /// enough memory, Cancelled.
  Session(onnx::Model model, SessionOptions options);
  Session(Engine engine, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  bool is_on_gpu() const { return pricing_ != nullptr; }
  const std::string& device() const { return device_; }
  /// What an engine file needs; throws InputError if the model is too large for one file.
  Engine engine();
  /// Everything about it, as JSON.
  std::string report();

  /// The shapes of the outputs that inputs of these shapes give; nothing where a rank depends on content, -1 where a
  /// size does. Throws InputError if the shapes do not fit.
  std::vector<std::optional<Extents>> infer(std::span<const RunTensor> inputs) const;
  /// Makes the plan for inputs of these shapes.
  void warm_up(std::span<const RunTensor> inputs);
  /// `stream` is a cudaStream_t. Throws InputError if a tensor does not fit; the session stays usable.
  void run(std::span<const RunTensor> inputs, std::span<RunTensor> outputs, void* stream);

 private:
  /// A plan for certain sizes of the model's unknown dimensions.
  struct SizedModel {
    Sizes sizes;
    std::unique_ptr<GpuModel> model;
  };

  /// Cleans the model up and reads its graph.
  void read();
  /// Leaves the model on the host if there is no GPU, or none that can run it. `engine` may be null.
  void open_gpu(Engine* engine);
  cost::Precision precision() const { return options_.precision.value_or(cost::Precision::fp32); }
  Sizes sizes_of(std::span<const RunTensor> inputs) const;
  std::shared_ptr<SizedModel> plan_for(const Sizes& sizes);
  void make_room();
  void run_on_host(std::span<const RunTensor> inputs, std::span<RunTensor> outputs) const;
  void run_on_gpu(std::span<const RunTensor> inputs, std::span<RunTensor> outputs, void* stream);
  void check_process() const;

  SessionOptions options_;
  onnx::Model model_;  // with the weights, which the graph reads when it needs them
  std::unique_ptr<onnx::GraphEdit> edit_;
  Graph graph_;
  std::vector<Port> inputs_, outputs_;
  std::string device_ = "CPU";
  std::unique_ptr<pricing::Pricing> pricing_;  // null on the host
  std::mutex planning_;
  std::list<std::shared_ptr<SizedModel>> plans_;  // last used first
  int process_ = 0;
};

}  // namespace taso::runtime
