#include "runtime/pricing/pricing.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "cost/pricing/residence.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "ops/text/characters.h"
#include "runtime/pricing/figures.h"

namespace taso::pricing {
namespace {

/// A kernel that the GPU cannot run costs more than any that it can.
constexpr cost::Cost price_of_impossible = cost::highest_kernel_price;
/// Share of a model's time. If this much is measured, an unmeasured kernel is the exception.
constexpr double nearly_all = 0.9;
/// Nine of ten roofline predictions are off by less. With measuring on, no caution is needed: promising kernels get
/// measured.
constexpr double caution_beside_measured = 1.5;
constexpr std::chrono::seconds between_saves{5};

/// Calls with the most predicted time first.
std::vector<cost::Call> in_order(const MissingCalls& missing) {
  std::vector<const MissingCall*> order;
  for (const auto& [text, one] : missing) order.push_back(&one);
  std::stable_sort(order.begin(), order.end(),
                   [](const MissingCall* a, const MissingCall* b) { return a->predicted > b->predicted; });
  std::vector<cost::Call> calls;
  for (const MissingCall* one : order) calls.push_back(one->call);
  return calls;
}

/// Weights of fewer bytes stay in the caches of a processor from one run of the network to the next; of more, nothing
/// that counts does, whatever the caches are called: those of servers are shared with others. Between them, the share
/// that leaves the caches grows evenly, which predicts best (cost/results/onnxruntime.md).
constexpr double fit_in_processor_caches = 8e6, exceed_processor_caches = 64e6;

std::string_view shipped_for(const PricingOptions& options) {
  if (!options.with_shipped) return PriceStore::none;
  return options.for_onnxruntime ? PriceStore::of_onnxruntime : PriceStore::of_plans;
}

/// A graph in one layout, and its kernels.
struct LaidOut {
  LaidOut(const Graph& graph, const cost::DimensionSizes& sizes, cost::Layout layout, const cost::RecordedPrices& times)
      : view(graph, sizes, layout), kernels(cost::kernels_of(view)) {
    is_any_measured = std::any_of(kernels.begin(), kernels.end(),
                                  [&](const cost::Kernel& kernel) { return times.measured(view, kernel).has_value(); });
  }
  cost::WholeGraph view;
  std::vector<cost::Kernel> kernels;
  bool is_any_measured = false;
};

}  // namespace

Pricing::Pricing(const PricingOptions& options, std::shared_ptr<gpu::Accelerator> gpu, std::unique_ptr<Watcher> watcher)
    : measures_(options.measures),
      is_for_onnxruntime_(options.for_onnxruntime),
      is_on_processor_(options.on_processor),
      watcher_(std::move(watcher)),
      store_(options.file, shipped_for(options), options.on_gpu || options.with_own),
      gpu_(std::move(gpu)),
      machine_(gpu_ ? fmt::format("{}, {}", gpu_->device(), gpu_->versions()) : store_.shipped_machine()),
      lanes_(options.lanes),
      threads_(options.threads),
      bytes_(std::make_unique<cost::BytesWritten>()),
      launches_(std::make_unique<cost::LaunchCount>()) {
  if (options.given != nullptr) store_.use(*options.given);
  if (gpu_ && options.with_other_versions && store_.all().size(machine_) == 0)
    other_versions_ = store_.adopt(machine_, gpu_->device());
  if (options.machine && !gpu_) machine_ = options.machine(store_.all());
  times_ = std::make_unique<cost::RecordedPrices>(store_.shared(), machine_, options.precision);
  if (is_for_onnxruntime_) times_->set_onnxruntime();
}

std::optional<gpu::Measurement> Pricing::measured_as_before(const cost::Call& call, const std::string& text) {
  const cost::RecordedPrice* const known = store_.all().find(machine_, text);
  if (known == nullptr || known->choice.empty()) return std::nullopt;
  try {
    return gpu_->measure_choice(call, known->choice);
  } catch (const EnvironmentError& error) {
    watcher_->note(fmt::format("cannot repeat the earlier choice ({}): {}", error.what(), text));
    return std::nullopt;
  }
}

void Pricing::measure_call(const cost::Call& call) {
  const std::string text = cost::text_of(call);
  gpu::Measurement found;
  try {
    const std::optional<gpu::Measurement> as_before = measured_as_before(call, text);
    found = as_before ? *as_before : gpu_->measure(call);
  } catch (const EnvironmentError& error) {
    store_.save();  // keep the earlier measurements
    throw EnvironmentError(fmt::format("{}: {}", error.what(), text));
  }
  if (!found.trouble.empty()) {
    watcher_->note(fmt::format("{}: {}", found.trouble, text));
    // In ONNX Runtime the whole model has run, so it can run this too, just not by itself.
    if (is_for_onnxruntime_)
      refused_.insert(text);
    else
      times_->learn(call, price_of_impossible);
    return;
  }
  store_.add(machine_, text, found);
  times_->learn(call, found);
  ++measured_;
}

void Pricing::save_at_times() {
  const auto now = std::chrono::steady_clock::now();
  if (now - saved_ < between_saves) return;
  store_.save();
  saved_ = now;
}

std::size_t Pricing::measure_kernels(const Graph& graph, const cost::DimensionSizes& sizes) {
  if (!gpu_ || !measures_) return 0;
  std::size_t done = 0;
  std::optional<cost::Cost> best;
  // Start with the most promising layout. In the others, measure only until they are clearly slower.
  std::vector<std::unique_ptr<cost::WholeGraph>> views;
  for (const cost::Layout layout : times_->layouts())
    views.insert(views.begin(), std::make_unique<cost::WholeGraph>(graph, sizes, layout));
  if (views.size() == 2 && cost::plan(*views[1], *times_).cost < cost::plan(*views[0], *times_).cost)
    std::swap(views[0], views[1]);
  for (const auto& view : views) {
    for (std::size_t left = std::numeric_limits<std::size_t>::max(); goes_on();) {
      const cost::Plan laid = cost::plan(*view, *times_);
      MissingCalls found;
      add_missing(*view, laid, found);
      const std::vector<cost::Call> missing = in_order(found);
      if (missing.empty()) {
        best = std::min(best.value_or(laid.cost), laid.cost);
        break;
      }
      if ((best && laid.cost > *best) || missing.size() >= left) break;
      left = missing.size();
      const std::size_t count = best ? std::min<std::size_t>(missing.size(), 8) : missing.size();
      done += measure_all({missing.data(), count});
    }
  }
  if (is_for_onnxruntime_ && done > 0) times_->fit(*views[0], cost::kernels_of(*views[0]));
  return done;
}

void Pricing::add_missing(const cost::GraphView& view, const cost::Plan& laid, MissingCalls& missing) const {
  for (const cost::Plan::Step& step : laid.steps) {
    if (!cost::can_be_called(view, step.kernel) || !times_->is_incomplete(view, step.kernel)) continue;
    cost::Call call = cost::call_of(view, step.kernel, times_->precision()).call;
    if (cost::writes_nothing(call) || (gpu_ && !gpu_->can_measure(call))) continue;
    const std::string text = cost::text_of(call);
    if (refused_.contains(text)) continue;
    missing.try_emplace(text, MissingCall{std::move(call), 0}).first->second.predicted += step.price;
  }
}

cost::Cost Pricing::find_missing(const Graph& graph, const cost::DimensionSizes& sizes, MissingCalls& missing) const {
  const cost::WholeGraph view(graph, sizes, cost::best_layout(graph, *times_, sizes));
  const cost::Plan laid = cost::plan(view, *times_);
  add_missing(view, laid, missing);
  return laid.cost;
}

std::size_t Pricing::measure(const MissingCalls& missing) { return gpu_ ? measure_all(in_order(missing)) : 0; }

std::size_t Pricing::measure_all(std::span<const cost::Call> calls) {
  constexpr std::size_t ahead = 64, each = 32;  // prepare the next calls while measuring, in overlapping batches
  const auto begin = std::chrono::steady_clock::now();
  watcher_->begin();
  std::size_t done = 0;
  for (; done < calls.size() && goes_on(); ++done) {
    if (done % each == 0) gpu_->expect(calls.subspan(done, std::min(ahead, calls.size() - done)));
    watcher_->progress(done, calls.size());
    measure_call(calls[done]);
    save_at_times();
  }
  gpu_->expect({});  // nothing more to prepare
  watcher_->end();
  store_.save();
  measuring_ += std::chrono::steady_clock::now() - begin;
  return done;
}

bool Pricing::goes_on() const { return watcher_->goes_on() && !is_late(); }

double Pricing::share_measured(const Graph& graph, const cost::DimensionSizes& sizes) const {
  try {
    const Figures figures = figures_of(graph, sizes, *this);
    const double kernels = figures.seconds - figures.copying;
    return kernels > 0 ? figures.measured / kernels : 0;
  } catch (const InputError&) {
    return 0;
  }
}

void Pricing::choose(const Graph& graph, const cost::DimensionSizes& sizes) {
  set_cache_residency(graph, sizes);
  if (is_for_onnxruntime_) {
    const cost::WholeGraph view(graph, sizes, cost::Layout::onnxruntime);
    const std::vector<cost::Kernel> kernels = cost::kernels_of(view);
    times_->fit(view, kernels);
    if (gpu_) return;
    // Nothing will be measured, so be cautious with new kernels, as below.
    for (const cost::Kernel& kernel : kernels) times_->trust(view, kernel);
    return times_->set_caution(caution_beside_measured);
  }
  if (machine_.empty() || gpu_) return;
  std::array<std::optional<LaidOut>, cost::layouts.size()> both;
  parallel_for(threads_, std::ssize(both), [&](std::int64_t task) {
    const auto i = static_cast<std::size_t>(task);
    both[i].emplace(graph, sizes, cost::layouts[i], *times_);
  });
  const bool is_any_measured = both[0]->is_any_measured || both[1]->is_any_measured;
  const double share = is_any_measured ? share_measured(graph, sizes) : 0;
  if (share >= nearly_all) {
    times_->set_caution(caution_beside_measured);
    return;
  }
  // Predictions are right on average. Trust them for the model's own kernels. A search seeks out predictions that are
  // too low, so be more cautious with new kernels, the more so the more of the others is measured.
  parallel_for(threads_, std::ssize(both), [&](std::int64_t task) {
    const LaidOut& one = *both[static_cast<std::size_t>(task)];
    for (const cost::Kernel& kernel : one.kernels) times_->trust(one.view, kernel);
  });
  times_->set_caution(1 + (caution_beside_measured - 1) * share / nearly_all);
  known_ = share;
}

void Pricing::set_measuring(bool is_on) {
  measures_ = is_on;
  times_->set_caution(is_on ? 1 : caution_beside_measured);
}

void Pricing::set_hopeful(bool is_on) {
  check(can_hope(), "hope is for what can be measured");
  times_->set_caution(is_on ? 1 / caution_beside_measured : 1);
}

void Pricing::set_cache_residency(const Graph& graph, const cost::DimensionSizes& sizes) {
  const double bytes = cost::weight_bytes_of(graph, sizes, times_->precision());
  if (is_on_processor_) {
    const double share = (bytes - fit_in_processor_caches) / (exceed_processor_caches - fit_in_processor_caches);
    times_->set_cold_share(std::clamp(share, 0.0, 1.0));
  } else {
    times_->set_warm(cost::stay_in_cache(bytes));
  }
}

const cost::KernelPrices& Pricing::of(cost::Objective objective) const {
  switch (objective) {
    case cost::Objective::time: return *times_;
    case cost::Objective::memory: return *bytes_;
    case cost::Objective::launches: break;
  }
  return *launches_;
}

std::string Pricing::choice_of(const cost::Call& call) const {
  const cost::RecordedPrice* const price = store_.all().find(machine_, cost::text_of(call));
  return price == nullptr ? std::string() : price->choice;
}

std::string Pricing::similar_choice(const cost::Call& call, std::span<const std::string> lowerings) const {
  if (!similar_) similar_.emplace(store_.all(), machine_);
  return similar_->find(cost::text_of(call), lowerings);
}

std::string Pricing::source() const {
  if (gpu_) return fmt::format("measured on this machine: {}; {} just now", machine_, with_commas(measured_));
  if (machine_.empty()) return "predicted, none measured";
  if (is_for_onnxruntime_) return fmt::format("measured before: {}", machine_);
  if (!known_) return fmt::format("measured on another machine: {}", machine_);
  if (*known_ == 0)
    return fmt::format("predicted, within a factor of {} for nine of ten kernels; none was measured on {}",
                       caution_beside_measured, machine_);
  return fmt::format(
      "{:.0f} % of this model's time was measured on {}; the rest is predicted, within a factor of {} for nine of ten "
      "kernels",
      100 * *known_, machine_, caution_beside_measured);
}

void Pricing::save() { store_.save(); }

}  // namespace taso::pricing
