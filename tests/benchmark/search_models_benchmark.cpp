// Shows what the search makes of models: kernels, predicted times, and the time and memory to find them.
//
//   benchmark_search_models [--rules FILE] [--budget N] [--alpha A] [--channels first|last] [--steps] MODEL...
//
// Models are cleaned up first, as in taso-opt. The rules are the shipped ones, taken as proved.
#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include <sys/resource.h>

#include <fmt/format.h>

#include "cost/plan/plan.h"
#include "cost/pricing/roofline.h"
#include "search/search.h"
#include "tests/benchmark/example_graph.h"
#include "tests/search/rule_graph.h"

using namespace taso;
using namespace taso::test;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The resident memory of the process in megabytes.
double resident() {
  std::ifstream in("/proc/self/statm");
  double size = 0, resident = 0;
  in >> size >> resident;
  return resident * 4096e-6;
}

double peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1e-3;
}

void search_model(const std::string& path, const std::vector<rules::Rule>& rules, const search::SearchOptions& options,
                  bool steps) {
  taso::onnx::Model model = taso::onnx::Model::load(path);
  model.validate();
  const Graph graph = cleaned_graph(model);
  const double before = resident();
  const auto start = Clock::now();
  const search::SearchResult found = search::search(graph, rules, cost::Roofline(), options);
  const double time = seconds_since(start);
  const cost::PlanOptions planning{{}, found.layout};
  const cost::Plan first = cost::plan(graph, cost::Roofline(), planning),
                   last = cost::plan(found.graph, cost::Roofline(), planning);
  check(first.cost == found.cost_before && last.cost == found.cost_after, "graphs cost what their plans cost");
  fmt::print("{:<24} {:>5} {:>5} {:>5} {:>9.4f} {:>9.4f} {:>6.1f}% {:>6} {:>5} {:>7} {:>9} {:>8.2f} {:>8.0f}  {}\n",
             std::filesystem::path(path).stem().string(), graph.nodes().size(), first.launches(), last.launches(),
             static_cast<double>(first.cost) * 1e-9, static_cast<double>(last.cost) * 1e-9,
             100.0 * static_cast<double>(last.cost) / static_cast<double>(std::max<cost::Cost>(first.cost, 1)),
             found.counts.rules, found.steps.size(), found.counts.expanded, found.counts.matched, time,
             std::max(peak() - before, 0.0), search::text_of(found.end));
  if (steps) {
    std::map<std::string, std::pair<int, cost::Cost>> rules_used;
    for (const rules::RewriteStep& step : found.steps) {
      auto& [count, saved] = rules_used[step.rule];
      ++count;
      saved += step.cost_before - step.cost_after;
    }
    for (const auto& [rule, used] : rules_used)
      fmt::print("    {:>4} {:>10.3f} us  {}\n", used.first, static_cast<double>(used.second) * 1e-6, rule);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  search::SearchOptions options;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> models;
  bool steps = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--steps")
      steps = true;
    else if (argument == "--rules" && i + 1 < argc)
      files.push_back(argv[++i]);
    else if (argument == "--budget" && i + 1 < argc)
      options.budget = std::stoul(argv[++i]);
    else if (argument == "--channels" && i + 1 < argc)
      options.layout = std::string(argv[++i]) == "last" ? cost::Layout::channels_last : cost::Layout::channels_first;
    else if (argument == "--alpha" && i + 1 < argc)
      options.alpha = std::stod(argv[++i]);
    else
      models.push_back(argument);
  }
  const auto start = Clock::now();
  std::vector<rules::Rule> rules = files.empty() ? shipped_rules() : std::vector<rules::Rule>();
  for (const auto& file : files)
    for (rules::Rule& rule : rules_of_file(file)) rules.push_back(std::move(rule));
  fmt::print("{} rules, read in {:.2f} s; alpha {}, {} expansions at most\n", rules.size(), seconds_since(start),
             options.alpha, options.budget);
  fmt::print("{:<24} {:>5} {:>11} {:>19} {:>7} {:>6} {:>5} {:>7} {:>9} {:>8} {:>8}\n", "model", "nodes", "kernels",
             "predicted ms", "", "rules", "steps", "expand", "matches", "seconds", "MB more");
  for (const std::string& model : models) search_model(model, rules, options, steps);
  return 0;
}
