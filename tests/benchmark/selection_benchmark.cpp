// What the choice of rules by the kind of network does to a search: its time and its result, with and without.
//
//   benchmark_selection [--budget N] [--batch N] [NETWORK|MODEL.onnx]...
//
// Networks are those of examples/networks; without any, ResNet, MobileNet, SSD and BERT as in their papers. Time is the
// processor's, for one thread; "until" is when the last improvement was made.
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

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Run {
  SearchResult found;
  double seconds = 0, seconds_until = 0;
  std::size_t expanded_until = 0;
};

Run run(const Graph& graph, const std::vector<Rule>& rules, const SearchOptions& options) {
  Run result;
  const double start = processor_seconds();
  Cost best = 0;
  result.found = search(graph, rules, Roofline(), options, {}, [&](const SearchProgress& now) {
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
  const auto cost = [](Cost picoseconds) { return static_cast<double>(picoseconds) * 1e-9; };
  fmt::print("  {:<10} {:>5} {:>6} {:>9.4f} {:>7.2f}% {:>8} {:>8} {:>8.2f} {:>8.2f}  {}\n", what, rules,
             run.found.counts.rules, cost(run.found.cost_after),
             100.0 * cost(run.found.cost_after) / std::max(cost(run.found.cost_before), 1e-12),
             run.found.counts.expanded, run.expanded_until, run.seconds, run.seconds_until, text_of(run.found.end));
  std::fflush(stdout);
}

void compare(const std::string& name, const Graph& graph, const std::vector<Rule>& rules, const Experience& experience,
             const SearchOptions& options) {
  const Architecture architecture = recognise(graph);
  const RuleChoice choice = choose_rules(rules, architecture.kind, experience);
  fmt::print("{}: {}: {}\n", name, text_of(architecture.kind), architecture.reason);
  print("all", run(graph, rules, options), rules.size());
  SearchOptions chosen = options;
  chosen.direct_rules = choice.others;
  print("chosen", run(graph, choice.rules, chosen), choice.rules.size());
}

}  // namespace

int main(int argc, char** argv) {
  SearchOptions options;
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
  const std::vector<Rule> rules = shipped_rules();
  const Experience experience = parse_experience(Source::read((source_folder() / "rules/search.experience").string()));
  fmt::print("  {:<10} {:>5} {:>6} {:>18} {:>8} {:>8} {:>8} {:>8}\n", "rules", "", "usable", "predicted ms", "expanded",
             "until", "seconds", "until");
  for (const std::string& name : names) {
    if (name.ends_with(".onnx")) {
      Model model = Model::load(name);
      model.validate();
      compare(name, cleaned_graph(model), rules, experience, options);
    } else {
      const Model model = model_of({name, batch, ElementType::float32, {}});
      compare(name, cleaned_graph(model), rules, experience, options);
    }
  }
  return 0;
}
