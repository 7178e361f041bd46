// What kernels cost in a run: prices that were recorded, measured on the spot, or predicted.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
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
#include "runtime/pricing/watcher.h"

namespace taso::pricing {

/// In floating point: what people give may be later than the clock can count.
using Deadline = std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>;

struct PricingOptions {
  bool on_gpu = false;                        ///< measure on this machine's GPU what nobody has measured yet
  std::optional<std::filesystem::path> file;  ///< where measured prices are kept, instead of the user's own
  cost::Precision precision = cost::Precision::tf32;
  bool with_shipped = true;                ///< whether prices count that come with taso
  bool measures = true;                    ///< with a GPU: whether kernels that nobody has measured yet are measured
  std::uint32_t lanes = gpu::usual_lanes;  ///< at most so many kernels run side by side
  /// Whether the user's own prices count, if no file is named: else only where a GPU is asked for, so that all machines come to
  /// the same.
  bool with_own = false;
};

/// A call that nobody has measured yet, or not in all surroundings, and what all such kernels of a graph are predicted to take.
struct MissingCall {
  cost::Call call;
  cost::Cost predicted = 0;
};
/// By the text of the call.
using MissingCalls = std::map<std::string, MissingCall>;

class Pricing {
 public:
  /// With a GPU, what nobody has measured yet is measured there. Throws InputError for bad files of prices.
  Pricing(const PricingOptions& options, std::unique_ptr<gpu::Accelerator> gpu, std::unique_ptr<Watcher> watcher);
  Pricing(const Pricing&) = delete;
  Pricing& operator=(const Pricing&) = delete;

  const cost::KernelPrices& of(cost::Objective objective) const;
  /// Of time.
  const cost::RecordedPrices& times() const { return *times_; }
  /// Says how cautious prices are about kernels that nobody has measured: the more of the model was measured, the more. To be
  /// called once, with the model that is to be optimised; for its kind of prices (see `suit`) too.
  void choose(const Graph& graph, const cost::DimensionSizes& sizes);
  /// The share of a model's time that is known from measurements.
  double share_measured(const Graph& graph, const cost::DimensionSizes& sizes) const;
  /// From now on kernels cost what they do in a network with such weights: whether those come from memory or stay in the cache.
  void suit(const Graph& graph, const cost::DimensionSizes& sizes);
  gpu::Accelerator* gpu() const { return gpu_.get(); }
  bool measures() const { return measures_; }
  /// Whether from now on kernels are measured; if not, prices are what they would be on a machine without a GPU.
  void set_measuring(bool is_on);
  PriceStore& store() { return store_; }
  /// How a call was done when it was measured; empty if it was not.
  std::string choice_of(const cost::Call& call) const;
  /// At most so many kernels run side by side.
  std::uint32_t lanes() const { return lanes_; }
  /// Whether prices are measured, of nearly all that the model takes.
  bool is_measured() const { return gpu_ || (!machine_.empty() && !known_); }
  /// Where they come from, for people.
  std::string source() const;
  /// Adds the kernels of a graph that nobody has measured yet, in the layout in which it is predicted to take less; what all its
  /// kernels are predicted to take comes back.
  cost::Cost find_missing(const Graph& graph, const cost::DimensionSizes& sizes, MissingCalls& missing) const;
  /// Measures them, those with the most predicted time first, keeps what was measured every few seconds, and ends early when
  /// interrupted or when time is up. How many were measured.
  std::size_t measure(const MissingCalls& missing);
  /// Measures what nobody has measured yet of a graph, in its faster layout; in the other as much as shows that it is slower.
  /// How many were measured; none without a GPU.
  std::size_t measure_kernels(const Graph& graph, const cost::DimensionSizes& sizes);
  std::size_t measured() const { return measured_; }       ///< so far
  double measuring() const { return measuring_.count(); }  ///< seconds that it took
  /// From then on nothing more is measured.
  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  bool is_late() const { return deadline_ && std::chrono::steady_clock::now() >= *deadline_; }
  /// For the next user; nothing can be measured here any more.
  std::unique_ptr<gpu::Accelerator> release_gpu() { return std::move(gpu_); }
  /// Keeps what was measured.
  void save();

 private:
  void measure_call(const cost::Call& call);
  /// What older files lack is measured in the way that they name, which saves looking for one.
  std::optional<gpu::Measurement> measured_as_before(const cost::Call& call, const std::string& text);
  /// Keeps what was measured, if some seconds have passed since the last time.
  void save_at_times();
  void add_missing(const cost::GraphView& view, const cost::Plan& laid, MissingCalls& missing) const;
  std::size_t measure_all(std::span<const cost::Call> calls);
  bool goes_on() const;

  bool measures_;
  std::unique_ptr<Watcher> watcher_;
  PriceStore store_;
  std::unique_ptr<gpu::Accelerator> gpu_;
  std::string machine_;
  std::uint32_t lanes_;
  std::unique_ptr<cost::RecordedPrices> times_;
  std::unique_ptr<cost::KernelPrices> bytes_, launches_;
  std::size_t measured_ = 0;
  std::chrono::duration<double> measuring_{0};
  std::optional<Deadline> deadline_;
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
  std::optional<double> known_;  // the share of the model's time that records tell, if that is not nearly all
};

}  // namespace taso::pricing
