// A model that is ready to run, on a GPU or on the host: what is behind the C interface (runtime/api).
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnx/export/edit.h"
#include "onnx/model/model.h"
#include "ops/core/array.h"
#include "runtime/session/engine_file.h"
#include "runtime/session/gpu_model.h"
#include "runtime/session/growing/derived_pasts.h"
#include "runtime/session/host_program.h"
#include "runtime/session/session_options.h"
#include "runtime/session/sizes.h"
#include "runtime/session/variants.h"

namespace taso::runtime {

/// An input or output of a run.
struct RunTensor {
  std::byte* data = nullptr;  ///< of the caller; null for an output that the session allocates
  std::size_t capacity = 0;   ///< bytes
  bool is_on_device = false;
  ElementType element = ElementType::undefined;
  Extents extents;
  bool is_left_out = false;  ///< an input that takes its default
  Array made;                ///< an output that the session allocated
};

class Session {
 public:
  /// Plans the model. Throws InputError if it is invalid or cannot run, EnvironmentError if there is no such GPU or not
  /// enough memory, Cancelled.
  /// `source` is the model before a search rewrote it, if one did.
  Session(onnx::Model model, SessionOptions options, std::optional<onnx::Model> source = std::nullopt);
  Session(Engine engine, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<Port>& inputs() const { return signature_->ports(); }
  const std::vector<Port>& outputs() const { return outputs_; }
  bool is_on_gpu() const { return pricing_ != nullptr; }
  const std::string& device() const { return device_; }
  /// What an engine file needs.
  Engine engine();
  /// Everything about it, as JSON.
  std::string report();

  /// The shapes of the outputs that inputs of these shapes give; nothing where a rank depends on content, -1 where a
  /// size does. Throws BadTensor if the shapes do not fit.
  std::vector<std::optional<Extents>> infer(std::span<const RunTensor> inputs) const;
  /// Makes the plan for inputs of these shapes.
  void warm_up(std::span<const RunTensor> inputs);
  /// `stream` is a cudaStream_t. Throws BadTensor if a tensor does not fit, and another InputError if the model cannot
  /// run with these; the session stays usable.
  void run(std::span<const RunTensor> inputs, std::span<RunTensor> outputs, void* stream);

 private:
  /// A call, as far as its plan depends on it.
  struct Shaped {
    Sizes sizes;  ///< of the model's unknown dimensions
    Unusual unusual;
    bool operator==(const Shaped&) const = default;
  };
  /// A plan for a GPU.
  struct SizedModel {
    Shaped shaped;
    std::shared_ptr<const Graph> graph;
    std::unique_ptr<GpuModel> model;  ///< or null:
    HostProgram on_host;

    gpu::DeviceProgram& program() const { return model ? model->program() : *on_host.program; }
    const Extents& output_extents(std::size_t i) const { return model ? model->output_extents(i) : on_host.outputs[i]; }
  };

  /// Makes one with a cache of fixed capacity of a model whose past grows.
  void fix_past();
  /// Cleans the model up and reads its graph.
  void read();
  /// The same if the model is derived for each set of sizes.
  void read_open_past();
  /// Ends loading: says where the model runs, and what that means for the options.
  void tell_ready(double seconds, bool has_precision) const;
  /// Leaves the model on the host if there is no GPU, or none that can run it. `engine` may be null.
  void open_gpu(Engine* engine);
  cost::Precision precision() const { return options_.precision.value_or(cost::Precision::fp32); }
  Shaped shaped(std::span<const RunTensor> inputs) const;
  std::shared_ptr<const growing::DerivedPast> derived_past(const Shaped& shaped) const;
  std::shared_ptr<const Graph> graph_for(const Shaped& shaped) const;
  std::shared_ptr<SizedModel> plan_for(const Shaped& shaped);
  std::shared_ptr<SizedModel> make_plan(const Shaped& shaped);
  /// Plans the graph of `sized`.
  void plan_on_gpu(SizedModel& sized);
  /// Plans again with numbers in place of unknown sizes, and keeps that if more of it runs on the GPU.
  void plan_for_numbers(SizedModel& sized);
  void make_room();
  void check_inputs(std::span<const RunTensor> inputs) const;
  /// Throws unless the past and the new rows fit into the caches.
  void check_past(const Shaped& shaped, std::span<const RunTensor> inputs) const;
  /// -1 where a size depends on content; nothing where the rank does.
  static std::optional<Extents> output_extents(const Graph& graph, std::size_t output, const Sizes& sizes);
  /// Whether the memory of an input is that of an output of the same type and shape, and of nothing else.
  static bool may_overwrite(const Graph& graph, const Sizes& sizes, std::span<const RunTensor> used, std::size_t input,
                            std::span<const RunTensor> outputs);
  void run_on_host(const Shaped& shaped, std::span<const RunTensor> inputs, std::span<RunTensor> outputs) const;
  void run_on_gpu(const Shaped& shaped, std::span<const RunTensor> inputs, std::span<RunTensor> outputs, void* stream);
  void check_process() const;

  SessionOptions options_;
  onnx::Model model_;  // with the weights, which the graph reads when it needs them
  std::optional<onnx::Model> source_;
  bool has_source_ = true;  // false if a search rewrote the model, and what it was before is not known
  std::unique_ptr<Signature> signature_;
  std::unique_ptr<Variants> variants_;
  std::unique_ptr<growing::DerivedPasts>
      pasts_;  // of a model whose past has a capacity, and that leaves other sizes open
  std::optional<growing::PastLength> past_length_;
  std::unique_ptr<onnx::GraphEdit> edit_;
  std::shared_ptr<const Graph> graph_;  // for usual calls
  std::vector<Port> outputs_;
  std::string device_ = "CPU";
  std::unique_ptr<pricing::Pricing> pricing_;  // null on the host
  std::mutex planning_;
  gpu::KnownWeights weights_;                     // of the plans
  std::list<std::shared_ptr<SizedModel>> plans_;  // last used first
  int process_ = 0;
};

}  // namespace taso::runtime
