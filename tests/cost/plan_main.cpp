// cost_plan [--kernels] [--fp32] [--as-it-is] MODEL...: what our plans of models are expected to take on the H200, one line
// a model, or one line a kernel. Models are cleaned up first, as taso-opt does.
#include <map>
#include <string>

#include <fmt/format.h>

#include "cost/plan.h"
#include "cost/roofline.h"
#include "ops/onnx/cleanup.h"
#include "ops/onnx/import.h"

using namespace taso;

namespace {

struct Settings {
  bool kernels = false, as_it_is = false;
  Precision precision = Precision::tf32;
};

void print_plan(const std::string& path, const Settings& settings) {
  Model model = Model::load(path);
  model.validate();
  GraphEdit edit(model);
  if (!settings.as_it_is) clean_up(edit);
  const Imported imported = import_model(edit.view());
  const Roofline prices(settings.precision);
  const WholeGraph view(imported.graph, {}, best_plan(imported.graph, prices).layout);
  const Plan laid = plan(view, prices);
  if (settings.kernels) fmt::print("{}", text_of(laid, view));
  std::map<std::string_view, std::size_t> kinds;
  for (const Plan::Step& step : laid.steps) ++kinds[name_of(step.kernel.kind)];
  std::string counts;
  for (const auto& [kind, count] : kinds) counts += fmt::format("  {} {}", count, kind);
  fmt::print("{}: {:.3f} ms, {} nodes, {} kernels, {:.1f} MB, channels {};{}\n", path,
             static_cast<double>(laid.cost) * 1e-9, view.nodes(), laid.launches(),
             static_cast<double>(laid.arena_bytes) * 1e-6, laid.layout == Layout::channels_last ? "last" : "first",
             counts);
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
    else if (argument == "--fp32")
      settings.precision = Precision::fp32;
    else
      print_plan(argument, settings);
  }
  return 0;
}
