#include <cmath>
#include <future>

#include "cli/opt/certificate.h"
#include "cli/opt/steps/steps.h"
#include "ops/support/threads.h"
#include "search/preference.h"

namespace taso::cli {
namespace {

cost::Cost picoseconds(double seconds) { return static_cast<cost::Cost>(std::llround(seconds * 1e12)); }

search::ModelCost cost_of(cost::Objective objective, const pricing::Figures& figures, std::size_t nodes) {
  return {{picoseconds(figures.concurrent_seconds), picoseconds(figures.seconds)},
          figures.of(objective),
          figures.work_on_weights,
          nodes};
}

double least_gain(const OptRun& run) {
  if (run.options.min_gain) return *run.options.min_gain / 100;
  return search::usual_least_gain(run.options.objective, run.pricing.is_measured());
}

void measure(const OptRun& run, const Graph& graph) {
  run.pricing.measure_kernels(graph, pricing::sizes_from(graph, run.shapes));
}

}  // namespace

Candidate improve(const OptRun& run, Candidate cleaned, const SearchRules& rules) {
  const std::size_t nodes = cleaned.edit->view().nodes.size();
  Candidate found = std::move(cleaned);
  // The search needs no figures. Without a GPU it measures nothing that would change them.
  std::future<void> figures;
  if (thread_count(run.options.jobs) > 1 && run.pricing.gpu() == nullptr)
    figures = std::async([&] { figures_before(run, found); });
  found.search = search_model(*found.edit, rules, run.shapes, run.options, run.pricing, run.console);
  if (figures.valid()) figures.get();
  found.search->min_gain = 100 * least_gain(run);
  if (!found.is_improved())  // if there is a note, the edit holds a result that could not be written
    return found.search->note.empty() ? std::move(found) : give_up(run, found, found.search->note);

  std::vector<onnx::CleanupAction> actions;
  const auto more = onnx::clean_up(*found.edit, exact_passes_only(clean_ups_of(run.options)), &actions);
  found.clean_ups_after = steps_of(actions);
  for (std::size_t i = 0; i < more.size(); ++i) found.passes[i].count += more[i].count;

  // Measure both before comparing them: a measured graph and a predicted one are not comparable.
  measure(run, found.edit->imported()->graph);
  if (found.cleaned) measure(run, found.cleaned->graph);
  const auto before = figures_before(run, found), after = figures_after(run, found);
  if (!before || !after) return give_up(run, found, "the written model would not be better");
  const search::Decision decision =
      search::decide(run.options.objective, cost_of(run.options.objective, *before, nodes),
                     cost_of(run.options.objective, *after, found.edit->view().nodes.size()), least_gain(run));
  return decision.keeps ? std::move(found) : give_up(run, found, decision.why);
}

}  // namespace taso::cli
