// cost_plan [--kernels] [--fp32] [--as-it-is] [--lanes] [--exact] [--prices FILE] MODEL...: prints the predicted time
// of our plans of models on the H200, one line per model or per kernel, and the operators that run on the host for lack
// of a kernel. With --lanes, also prints the predicted time on several streams; with --exact, the best choice of
// kernels (search/exact/exact_plan.h). Models are cleaned up first, as in taso-opt.
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cost/plan/plan.h"
#include "cost/pricing/recorded_prices.h"
#include "cost/pricing/residence.h"
#include "cost/pricing/roofline.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "runtime/gpu/execution.h"
#include "search/exact/exact_plan.h"

using namespace taso;

namespace {

struct Settings {
  bool kernels = false, as_it_is = false, lanes = false, exact = false;
  cost::Precision precision = cost::Precision::tf32;
  std::string prices;
};

std::unique_ptr<cost::KernelPrices> prices_of(const Settings& settings) {
  if (settings.prices.empty()) return std::make_unique<cost::Roofline>(settings.precision);
  std::ifstream file(settings.prices);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto database = std::make_shared<cost::PriceDatabase>(cost::PriceDatabase::parse(text, settings.prices));
  const std::vector<std::string> machines = database->machines();
  return std::make_unique<cost::RecordedPrices>(database, machines.empty() ? "" : machines.front(), settings.precision);
}

void print_lanes(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& laid, const Settings& settings) {
  const gpu::Execution execution = gpu::make_execution(view, graph, laid, settings.precision);
  const gpu::Execution alone = gpu::make_execution(view, graph, laid, settings.precision, 1);
  fmt::print("  sequential: {:.3f} ms\n",
             static_cast<double>(gpu::one_after_the_other(execution.tasks).predicted) * 1e-9);
  for (const gpu::Schedule& schedule : execution.steps.schedules) {
    std::size_t waits = 0;
    for (const gpu::Schedule::Step& step : schedule.steps) waits += step.after.size();
    fmt::print("  {} streams: {:.3f} ms, {:.3f} ms at best, {} waits\n", schedule.lanes,
               static_cast<double>(schedule.expected) * 1e-9, static_cast<double>(schedule.predicted) * 1e-9, waits);
  }
  fmt::print("  {:.1f} MB, {:.1f} MB sequential\n", static_cast<double>(execution.steps.arena_bytes) * 1e-6,
             static_cast<double>(alone.steps.arena_bytes) * 1e-6);
}

/// Unmeasured kernels that the given plan does not have count one and a half times, as in a search: otherwise the
/// choice finds where predictions are too low.
void be_cautious(const cost::WholeGraph& view, const cost::Plan& given, cost::RecordedPrices& prices) {
  for (const cost::Plan::Step& step : given.steps) prices.trust(view, step.kernel);
  prices.set_caution(1.5);
}

void print_exact(cost::WholeGraph& view, const cost::KernelPrices& prices, const Settings& settings) {
  const search::ExactPlan exact = search::exact_plan(view, prices);
  const auto milliseconds = [](cost::Cost cost) { return static_cast<double>(cost) * 1e-9; };
  fmt::print(
      "  exact: {:.4f} ms, with the best kernels {:.4f} ms ({:.2f} % less), at least {:.4f} ms; {} kernels of {} "
      "groups in {} parts\n",
      milliseconds(exact.given), milliseconds(exact.best),
      100 * (1 - milliseconds(exact.best) / milliseconds(exact.given)), milliseconds(exact.bound), exact.kernels,
      exact.groups, exact.parts);
  if (exact.too_large > 0)
    fmt::print("  {} parts, {:.4f} ms, are too large to be decided and count as they are\n", exact.too_large,
               milliseconds(exact.unbounded));
  if (!settings.kernels) return;
  view.set_cuts(exact.cuts);
  fmt::print("{}", cost::text_of(cost::plan(view, prices), view));
}

void print_plan(const std::string& path, const Settings& settings) {
  taso::onnx::Model model = taso::onnx::Model::load(path);
  model.validate();
  taso::onnx::GraphEdit edit(model);
  if (!settings.as_it_is) taso::onnx::clean_up(edit);
  const auto imported = edit.imported();
  const std::unique_ptr<cost::KernelPrices> known = prices_of(settings);
  if (auto* recorded = dynamic_cast<cost::RecordedPrices*>(known.get()))
    recorded->set_warm(cost::stay_in_cache(cost::weight_bytes_of(imported->graph, {}, settings.precision)));
  const cost::KernelPrices& prices = *known;
  cost::WholeGraph view(imported->graph, {}, cost::best_plan(imported->graph, prices).layout);
  const cost::Plan laid = cost::plan(view, prices);
  if (settings.kernels) fmt::print("{}", cost::text_of(laid, view));
  std::map<std::string_view, std::size_t> kinds;
  for (const cost::Plan::Step& step : laid.steps) ++kinds[cost::name_of(step.kernel.kind)];
  std::string counts;
  for (const auto& [kind, count] : kinds) counts += fmt::format("  {} {}", count, kind);
  fmt::print("{}: {:.3f} ms, {} nodes, {} kernels, {:.1f} MB, channels {};{}\n", path,
             static_cast<double>(laid.cost) * 1e-9, view.nodes(), laid.launches(),
             static_cast<double>(laid.arena_bytes) * 1e-6,
             laid.layout == cost::Layout::channels_last ? "last" : "first", counts);
  if (const cost::Corrections corrections = cost::corrections_of(view, laid); !corrections.steps.empty())
    fmt::print("  corrections: {} kernels, {:.3f} ms\n", corrections.steps.size(),
               static_cast<double>(corrections.cost) * 1e-9);
  std::map<std::string, std::size_t> on_host;
  for (const cost::Plan::Step& step : laid.steps)
    if (!cost::can_be_called(view, step.kernel)) ++on_host[view.opaque(step.kernel.main)->kind];
  std::string names;
  for (const auto& [name, count] : on_host) names += fmt::format("  {} {}", count, name);
  if (!names.empty()) fmt::print("  on the host:{}\n", names);
  if (settings.exact) {
    if (auto* recorded = dynamic_cast<cost::RecordedPrices*>(known.get())) be_cautious(view, laid, *recorded);
    print_exact(view, prices, settings);
  }
  if (settings.lanes) print_lanes(view, imported->graph, laid, settings);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--kernels")
      settings.kernels = true;
    else if (argument == "--as-it-is")
      settings.as_it_is = true;
    else if (argument == "--lanes")
      settings.lanes = true;
    else if (argument == "--exact")
      settings.exact = true;
    else if (argument == "--prices" && i + 1 < argc)
      settings.prices = argv[++i];
    else if (argument == "--fp32")
      settings.precision = cost::Precision::fp32;
    else
      print_plan(argument, settings);
  }
  return 0;
}
