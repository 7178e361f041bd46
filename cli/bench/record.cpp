#include "cli/bench/record.h"

#include <chrono>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/bench/loaded_model.h"
#include "cli/console/interrupt.h"
#include "cli/console/measuring.h"
#include "cli/console/table.h"
#include "cli/files/rule_set.h"
#include "cli/opt/search.h"
#include "onnx/cleanup/cleanup.h"
#include "ops/core/error.h"
#include "runtime/pricing/pricing.h"

namespace taso::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Level = Console::Level;

/// Seconds. A search may measure and repeat as often as it needs, but must leave time for the other models.
constexpr double longest_search = 60;
/// Results of a search by prices alone are measured after two or three rounds.
constexpr std::size_t most_rounds = 4;

class Recording {
 public:
  Recording(const BenchSettings& settings, std::shared_ptr<gpu::Accelerator> gpu, Console& console)
      : settings_(settings), gpu_(std::move(gpu)), console_(console) {
    if (settings.time_budget) deadline_ = Clock::now() + std::chrono::duration<double>(*settings.time_budget);
  }

  ExitCode run() {
    for (const std::optional<std::int64_t>& batch : settings_.batches) {
      const std::vector<LoadedModel> models = load_all(batch);
      for (const cost::Precision precision : settings_.precisions) {
        if (interrupted()) return ExitCode::interrupted;
        record_all(models, batch, precision);
      }
    }
    if (left_ > 0)
      console_.say(Level::result,
                   fmt::format("{} kernels are left: run the same command again to measure them", with_commas(left_)));
    return interrupted() ? ExitCode::interrupted : ExitCode::done;
  }

 private:
  bool is_late() const { return deadline_ && Clock::now() >= *deadline_; }

  /// Leaves out models that cannot have this batch.
  std::vector<LoadedModel> load_all(const std::optional<std::int64_t>& batch) {
    BenchSettings settings = settings_;
    settings.batch = batch;
    std::vector<LoadedModel> models;
    for (const auto& file : settings_.models) {
      try {
        models.push_back(load(file, settings));
      } catch (const InputError& error) {
        if (settings_.batches.size() == 1) throw;
        console_.say(Level::result, fmt::format("left out with batch {}: {}", *batch, error.what()));
      }
    }
    return models;
  }

  void record_all(const std::vector<LoadedModel>& models, const std::optional<std::int64_t>& batch,
                  cost::Precision precision) {
    pricing::Pricing pricing({true, settings_.prices, precision, !settings_.anew}, std::move(gpu_),
                             measuring_on(console_));
    if (deadline_) pricing.set_deadline(*deadline_);
    pricing::MissingCalls missing;
    for (const LoadedModel& model : models) pricing.find_missing(model.graph, {}, missing);
    pricing.measure(missing);
    for (const LoadedModel& model : models)
      pricing.measure_kernels(model.graph, {});  // measures the other layout too, if needed
    if (settings_.search)
      for (const LoadedModel& model : models) search(model, pricing);
    // Only the models' own kernels are counted: what a search would find is not known in advance.
    pricing::MissingCalls left;
    cost::Cost all = 0, predicted = 0;
    for (const LoadedModel& model : models) all += pricing.find_missing(model.graph, {}, left);
    for (const auto& [text, one] : left) predicted += one.predicted;
    left_ += left.size();
    std::string text = batch ? fmt::format("batch {}, ", *batch) : "";
    text += fmt::format("{}: {} kernels measured", cost::name_of(precision), with_commas(pricing.measured()));
    if (!left.empty())
      text += fmt::format(", {} of the models left ({:.1f} % of the predicted time)", with_commas(left.size()),
                          all > 0 ? 100 * static_cast<double>(predicted) / static_cast<double>(all) : 0.0);
    if (searches_left_ > 0) text += fmt::format(", {} models not searched", searches_left_);
    searches_left_ = 0;
    console_.say(Level::result, text);
    pricing.save();
    gpu_ = pricing.release_gpu();
  }

  /// Measures the results of searches: first of one that measures as it goes, then of some that use known prices only,
  /// as on a machine without a GPU. Predicted prices may lead those elsewhere.
  void search(const LoadedModel& model, pricing::Pricing& pricing) {
    pricing.set_cache_residency(model.graph, {});
    std::optional<std::size_t> measured = search_once(model, pricing, true);
    for (std::size_t round = 0; measured && round < most_rounds; ++round) {
      measured = search_once(model, pricing, false);
      if (measured == 0) break;
    }
    if (!measured || is_late()) ++searches_left_;
  }

  /// The number of kernels of the result that had to be measured; nothing if there is no time left.
  std::optional<std::size_t> search_once(const LoadedModel& loaded, pricing::Pricing& pricing,
                                         bool measures_on_its_way) {
    if (interrupted() || is_late()) return std::nullopt;
    if (!rules_) rules_ = prove(read_rule_set({}, {}), settings_.jobs, console_);
    OptSettings options;
    options.jobs = settings_.jobs;
    options.time_budget = longest_search;
    if (deadline_)
      options.time_budget = std::min(longest_search, std::chrono::duration<double>(*deadline_ - Clock::now()).count());
    onnx::GraphEdit edit(loaded.model);
    onnx::clean_up(edit);
    pricing.set_measuring(measures_on_its_way);
    const SearchSummary summary = search_model(edit, *rules_, {}, options, pricing, console_);
    pricing.set_measuring(true);
    return summary.changed() ? pricing.measure_kernels(edit.imported()->graph, {}) : 0;
  }

  const BenchSettings& settings_;
  std::shared_ptr<gpu::Accelerator> gpu_;
  Console& console_;
  std::optional<pricing::Deadline> deadline_;
  std::optional<SearchRules> rules_;
  std::size_t left_ = 0, searches_left_ = 0;
};

}  // namespace

ExitCode record(const BenchSettings& settings, std::shared_ptr<gpu::Accelerator> gpu, Console& console) {
  return Recording(settings, std::move(gpu), console).run();
}

}  // namespace taso::cli
