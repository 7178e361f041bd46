// search_gap [OPTION N]... [--search NAME] [--rules FILE]... --prices FILE MODEL...:
// prints a line of a table for each model: its predicted time on the H200 in microseconds, that of the search's result,
// the lower limit for all graphs that were seen (search/exact/bound.h), how far apart these are, how many computations
// were seen, rounds of rules, integer programs, and the seconds of the search and of the bound. TF32, the sum of the
// kernels' prices in one layout. Models are cleaned up first, as in taso-opt. --search is backtracking (the default),
// saturation or both, as in taso-opt; with saturation a line for every region of the result follows.
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cost/plan/plan.h"
#include "cost/pricing/recorded_prices.h"
#include "cost/pricing/residence.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "rules/language/rule_text.h"
#include "search/exact/bound.h"
#include "search/exact/integer_program.h"
#include "search/exact/saturation.h"
#include "search/search.h"

using namespace taso;

namespace {

struct Settings {
  std::string prices;
  std::vector<rules::Rule> rules;
  search::SearchOptions searching;
  search::BoundOptions bounding;
};

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::unique_ptr<cost::RecordedPrices> prices_of(const std::string& path) {
  auto database = std::make_shared<cost::PriceDatabase>(cost::PriceDatabase::parse(text_of_file(path), path));
  const std::vector<std::string> machines = database->machines();
  return std::make_unique<cost::RecordedPrices>(database, machines.empty() ? "" : machines.front(),
                                                cost::Precision::tf32);
}

void print_gap(const std::string& path, const Settings& settings) {
  taso::onnx::Model model = taso::onnx::Model::load(path);
  model.validate();
  taso::onnx::GraphEdit edit(model);
  taso::onnx::clean_up(edit);
  const auto imported = edit.imported();
  const Graph& graph = imported->graph;
  const std::unique_ptr<cost::RecordedPrices> prices = prices_of(settings.prices);
  prices->set_warm(cost::stay_in_cache(cost::weight_bytes_of(graph, {}, cost::Precision::tf32)));
  const cost::Plan given = cost::best_plan(graph, *prices);
  {
    const cost::WholeGraph view(graph, {}, given.layout);
    for (const cost::Plan::Step& step : given.steps) prices->trust(view, step.kernel);
    prices->set_caution(1.5);
  }
  const auto start = std::chrono::steady_clock::now();
  search::SearchOptions searching = settings.searching;
  searching.layout = given.layout;
  const search::SearchResult found = search::search(graph, settings.rules, *prices, searching);
  const cost::Cost cost = cost::plan(found.graph, *prices, {{}, given.layout}).cost;
  const auto searched = std::chrono::steady_clock::now();
  search::BoundOptions bounding = settings.bounding;
  bounding.choosing.pricing = {{}, given.layout};
  const auto compiled = search::compile(settings.rules);
  std::vector<const search::RewriteRule*> rules;
  for (const auto& rule : compiled) rules.push_back(rule.get());
  const search::Bound bound = search::bound_of(graph, found.graph, rules, *prices, bounding);
  const auto bounded = std::chrono::steady_clock::now();
  const auto microseconds = [](cost::Cost one) { return static_cast<double>(one) * 1e-6; };
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} % | {} | {}{} | {}{} | {:.0f} + {:.0f} |\n",
             std::string(path.begin() + static_cast<std::ptrdiff_t>(path.find_last_of('/') + 1), path.end()),
             microseconds(given.cost), microseconds(cost), microseconds(bound.least),
             100 * (1 - microseconds(bound.least) / microseconds(cost)), bound.computations, bound.saturation.rounds,
             bound.saturation.is_saturated ? ", saturated" : "", bound.solved, bound.is_exact ? "" : ", not solved",
             seconds(start, searched), seconds(searched, bounded));
  for (const search::RegionGap& gap : found.gaps)
    fmt::print(
        "region: {} places, {} operators, {:.1f} µs, at least {:.1f}, gap {:.1f} %, {} computations, {} rounds{}{}, "
        "{} steps{}\n",
        gap.places, gap.operators, microseconds(gap.cost), microseconds(gap.least), gap.percent(), gap.computations,
        gap.rounds, gap.is_saturated ? ", saturated" : "", gap.is_exact ? "" : ", not solved", gap.steps,
        gap.is_reached ? ", reached" : "");
  if (searching.solver != nullptr)
    fmt::print("solved {} regions, {} improved\n", found.counts.solved, found.counts.improved);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  search::Saturation::Options solving;
  bool solves = false;
  settings.searching.jobs = 2;
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = [&] { return std::stoul(argv[++i]); };
    if (argument == "--search") {
      const std::string name = argv[++i];
      settings.searching.explores = name != "saturation";
      solves = name != "backtracking";
    } else if (argument == "--budget")
      settings.searching.budget = number();
    else if (argument == "--piece")
      settings.searching.solver_piece = number();
    else if (argument == "--computations")
      settings.bounding.saturation.most_computations = number();
    else if (argument == "--rounds")
      settings.bounding.saturation.most_rounds = number();
    else if (argument == "--solver-nodes")
      settings.bounding.choosing.most_nodes = number();
    else if (argument == "--region-computations")
      solving.most_computations = number();
    else if (argument == "--region-rounds")
      solving.most_rounds = number();
    else if (argument == "--region-solver-nodes")
      solving.most_nodes = number();
    else if (argument == "--prices")
      settings.prices = argv[++i];
    else if (argument == "--rules") {
      const std::string file = argv[++i];
      for (rules::Rule& rule : rules::parse_rules(Source(file, text_of_file(file))).rules())
        settings.rules.push_back(std::move(rule));
    } else
      models.push_back(argument);
  }
  if (!search::has_cbc()) {
    fmt::print(stderr, "search_gap: {}\n", search::no_cbc);
    return 6;
  }
  const search::Saturation solver(solving);
  if (solves) settings.searching.solver = &solver;
  for (const std::string& model : models) print_gap(model, settings);
  return 0;
}
