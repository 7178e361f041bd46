// The prices of kernels in a run: recorded, measured on demand, or predicted.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cost/plan/kernel.h"
#include "cost/plan/objective.h"
#include "cost/plan/plan.h"
#include "cost/pricing/recorded_prices.h"
#include "ops/graph/graph.h"
#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/execution.h"
#include "runtime/pricing/price_store.h"
#include "runtime/pricing/similar_choices.h"
#include "runtime/pricing/watcher.h"

namespace taso::pricing {

/// Floating point, because a user's time limit may exceed the range of the clock.
using Deadline = std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>;

struct PricingOptions {
  bool on_gpu = false;                        ///< measure unmeasured kernels on this machine's GPU
  std::optional<std::filesystem::path> file;  ///< keeps measured prices, instead of the user's own file
  cost::Precision precision = cost::Precision::tf32;
  bool with_shipped = true;                ///< use the shipped prices
  bool measures = true;                    ///< with a GPU: measure unmeasured kernels
  std::uint32_t lanes = gpu::usual_lanes;  ///< most streams for concurrent kernels
  /// Use the user's own prices even without a file or a GPU. By default they count only with a GPU, so that all
  /// machines get the same results.
  bool with_own = false;
  unsigned threads = 1;                        ///< that price both layouts of a graph; prices do not depend on it
  const cost::PriceDatabase* given = nullptr;  ///< counts before all others
  /// If there are none for this machine, use those of the same GPU with other versions of its libraries.
  bool with_other_versions = false;
  /// Prices of operators in ONNX Runtime. The "GPU" then measures there.
  bool for_onnxruntime = false;
  /// Weights come from the caches of a processor, or its memory, not those of a GPU.
  bool on_processor = false;
  /// Without a GPU: chooses the machine whose prices count, instead of the first shipped one.
  std::function<std::string(const cost::PriceDatabase&)> machine = {};
};

/// A call that was never measured, or not in all surroundings, and the predicted time of all such kernels of a graph.
struct MissingCall {
  cost::Call call;
  cost::Cost predicted = 0;
};
/// By the text of the call.
using MissingCalls = std::map<std::string, MissingCall>;

class Pricing {
 public:
  /// With a GPU, unmeasured kernels are measured on it. Throws InputError for bad price files.
  Pricing(const PricingOptions& options, std::shared_ptr<gpu::Accelerator> gpu, std::unique_ptr<Watcher> watcher);
  Pricing(const Pricing&) = delete;
  Pricing& operator=(const Pricing&) = delete;

  const cost::KernelPrices& of(cost::Objective objective) const;
  /// The prices for the objective `time`.
  const cost::RecordedPrices& times() const { return *times_; }
  /// Sets how cautious prices are about unmeasured kernels: the more of the model was measured, the more cautious. Also
  /// calls set_cache_residency(). Call it once, with the model to optimise.
  void choose(const Graph& graph, const cost::DimensionSizes& sizes);
  /// The share of a model's time that was measured.
  double share_measured(const Graph& graph, const cost::DimensionSizes& sizes) const;
  /// Prices kernels from now on for a network with these weights: whether they stay in the cache or come from memory.
  void set_cache_residency(const Graph& graph, const cost::DimensionSizes& sizes);
  gpu::Accelerator* gpu() const { return gpu_.get(); }
  bool measures() const { return measures_; }
  /// Turns measuring on or off. When off, prices are those of a machine without a GPU.
  void set_measuring(bool is_on);
  /// Whether unmeasured kernels of our plans can be measured. While hopeful, they count as less than predicted, by as
  /// much as predictions are off: a search then finds those worth measuring.
  bool can_hope() const { return gpu_ && measures_ && !is_for_onnxruntime_; }
  void set_hopeful(bool is_on);
  PriceStore& store() { return store_; }
  /// The variant that was measured for a call; empty if it was not measured.
  std::string choice_of(const cost::Call& call) const;
  /// The variant of the most similar convolution that was measured, among our own kernels with these lowerings; empty
  /// if there is none.
  std::string similar_choice(const cost::Call& call, std::span<const std::string> lowerings) const;
  /// The most streams for concurrent kernels.
  std::uint32_t lanes() const { return lanes_; }
  unsigned threads() const { return threads_; }
  bool is_for_onnxruntime() const { return is_for_onnxruntime_; }
  /// Whether nearly all of the model's time is measured.
  bool is_measured() const { return gpu_ || (!machine_.empty() && !known_); }
  /// Describes where the prices come from, for people.
  std::string source() const;
  /// The machine with other versions of the libraries whose prices are used; empty if there is none.
  const std::string& other_versions() const { return other_versions_; }
  /// Adds the unmeasured kernels of a graph in its faster predicted layout. Returns the predicted time of all its
  /// kernels.
  cost::Cost find_missing(const Graph& graph, const cost::DimensionSizes& sizes, MissingCalls& missing) const;
  /// Measures the calls, those with the most predicted time first. Saves every few seconds; ends early when interrupted
  /// or at the deadline. Returns how many were measured.
  std::size_t measure(const MissingCalls& missing);
  /// Measures the unmeasured kernels of a graph in its faster layout, and in the other one enough to show that it is
  /// slower. Returns how many were measured; 0 without a GPU.
  std::size_t measure_kernels(const Graph& graph, const cost::DimensionSizes& sizes);
  std::size_t measured() const { return measured_; }       ///< so far
  double measuring() const { return measuring_.count(); }  ///< seconds spent
  /// Measures nothing after the deadline.
  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  bool is_late() const { return deadline_ && std::chrono::steady_clock::now() >= *deadline_; }
  /// Hands the GPU to the next user; nothing can be measured here any more.
  std::shared_ptr<gpu::Accelerator> release_gpu() { return std::move(gpu_); }
  /// Saves the measurements.
  void save();

 private:
  void measure_call(const cost::Call& call);
  /// Measures again with the choice of an older record that lacks some figures, which saves a search for the best
  /// choice.
  std::optional<gpu::Measurement> measured_as_before(const cost::Call& call, const std::string& text);
  /// Saves if some seconds have passed since the last time.
  void save_at_times();
  void add_missing(const cost::GraphView& view, const cost::Plan& laid, MissingCalls& missing) const;
  std::size_t measure_all(std::span<const cost::Call> calls);
  bool goes_on() const;

  bool measures_;
  bool is_for_onnxruntime_;
  bool is_on_processor_;
  std::unique_ptr<Watcher> watcher_;
  PriceStore store_;
  std::shared_ptr<gpu::Accelerator> gpu_;
  std::string machine_;
  std::string other_versions_;
  std::uint32_t lanes_;
  unsigned threads_;
  std::unique_ptr<cost::RecordedPrices> times_;
  mutable std::optional<SimilarChoices> similar_;  // made when it is needed
  std::unique_ptr<cost::KernelPrices> bytes_, launches_;
  std::set<std::string> refused_;  // calls that ONNX Runtime cannot run by themselves, which stay predicted
  std::size_t measured_ = 0;
  std::chrono::duration<double> measuring_{0};
  std::optional<Deadline> deadline_;
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
  std::optional<double> known_;  // the measured share of the model's time, unless it is nearly all
};

}  // namespace taso::pricing
