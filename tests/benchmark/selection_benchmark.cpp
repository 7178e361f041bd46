// Compares the search with all rules and with those selected for the kind of network: time and result.
//
//   benchmark_selection [--budget N] [--batch N] [NETWORK|MODEL.onnx]...
//
// Networks are those of examples/networks; without any, ResNet, MobileNet, SSD and BERT as in their papers. Time is
// processor time of one thread; "until" is when the last improvement was found.
#include <cstdio>
#include <ctime>
#include <string>

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "search/search.h"
#include "search/selection/experience.h"
#include "tests/benchmark/example_graph.h"
#include "tests/search/rule_graph.h"

using namespace taso;
using namespace taso::test;

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Run {
  search::SearchResult found;
  double seconds = 0, seconds_until = 0;
  std::size_t expanded_until = 0;
};

Run run(const Graph& graph, const std::vector<rules::Rule>& rules, const search::SearchOptions& options) {
  Run result;
  const double start = processor_seconds();
  cost::Cost best = 0;
  result.found = search::search(graph, rules, cost::Roofline(), options, {}, [&](const search::SearchProgress& now) {
    if (now.best < (best == 0 ? now.before : best)) {
      result.seconds_until = processor_seconds() - start;
      result.expanded_until = now.expanded;
    }
    best = now.best;
  });
  result.seconds = processor_seconds() - start;
  return result;
}

void print(const std::string& what, const Run& run, std::size_t rules) {
  const auto cost = [](cost::Cost picoseconds) { return static_cast<double>(picoseconds) * 1e-9; };
  fmt::print("  {:<10} {:>5} {:>6} {:>9.4f} {:>7.2f}% {:>8} {:>8} {:>8.2f} {:>8.2f}  {}\n", what, rules,
             run.found.counts.rules, cost(run.found.cost_after),
             100.0 * cost(run.found.cost_after) / std::max(cost(run.found.cost_before), 1e-12),
             run.found.counts.expanded, run.expanded_until, run.seconds, run.seconds_until,
             search::text_of(run.found.end));
  std::fflush(stdout);
}

void compare(const std::string& name, const Graph& graph, const std::vector<rules::Rule>& rules,
             const search::Experience& experience, const search::SearchOptions& options) {
  const search::Architecture architecture = search::recognise(graph);
  const search::RuleChoice choice = search::choose_rules(rules, architecture.kind, experience);
  fmt::print("{}: {}: {}\n", name, search::text_of(architecture.kind), architecture.reason);
  print("all", run(graph, rules, options), rules.size());
  search::SearchOptions chosen = options;
  chosen.direct_rules = choice.others;
  print("chosen", run(graph, choice.rules, chosen), choice.rules.size());
}

}  // namespace

int main(int argc, char** argv) {
  search::SearchOptions options;
  std::string batch = "1";
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--budget" && i + 1 < argc)
      options.budget = std::stoul(argv[++i]);
    else if (argument == "--batch" && i + 1 < argc)
      batch = argv[++i];
    else
      names.push_back(argument);
  }
  if (names.empty()) names = {"resnet50", "mobilenet_v2", "ssd300_resnet50", "bert_base"};
  const std::vector<rules::Rule> rules = shipped_rules();
  const search::Experience experience =
      search::parse_experience(Source::read((source_folder() / "rules/search.experience").string()));
  fmt::print("  {:<10} {:>5} {:>6} {:>18} {:>8} {:>8} {:>8} {:>8}\n", "rules", "", "usable", "predicted ms", "expanded",
             "until", "seconds", "until");
  for (const std::string& name : names) {
    if (name.ends_with(".onnx")) {
      taso::onnx::Model model = taso::onnx::Model::load(name);
      model.validate();
      compare(name, cleaned_graph(model), rules, experience, options);
    } else {
      const taso::onnx::Model model = model_of({name, batch, ElementType::float32, {}});
      compare(name, cleaned_graph(model), rules, experience, options);
    }
  }
  return 0;
}
