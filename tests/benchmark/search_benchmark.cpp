// Measures how fast the search expands graphs, and how that depends on their size.
//
//   benchmark_search [EXPANSIONS]
//
// Searches a sequence of blocks of an Inception-like network with the shipped rules.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <sys/resource.h>

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "search/search.h"
#include "tests/search/rule_graph.h"

using namespace taso;
using namespace taso::test;

namespace {

/// Twelve operators per block: four branches of 1×1, 3×3 and pooled convolutions, activated and joined.
Graph network(std::size_t blocks) {
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const auto type = [](Shape shape) { return Type{ElementType::float32, std::move(shape)}; };
  Value x = pool.input("x", type({1, 64, 28, 28}));
  graph.inputs = {x};
  std::size_t weights = 0;
  const auto convolve = [&](const Value& from, std::int64_t kernel) {
    const Value weight = pool.constant("w" + std::to_string(weights++), type({16, from.shape()[1], kernel, kernel}));
    op::Conv conv;
    conv.strides = conv.dilations = {1, 1};
    conv.pads.assign(4, kernel / 2);
    return pool.apply(op::Relu{}, {pool.apply(conv, {from, weight})});
  };
  for (std::size_t block = 0; block < blocks; ++block) {
    op::MaxPool pooling;
    pooling.kernel = {3, 3};
    pooling.strides = pooling.dilations = {1, 1};
    pooling.pads = {1, 1, 1, 1};
    const Value a = convolve(x, 1), b = convolve(convolve(x, 1), 3), c = convolve(convolve(x, 1), 3),
                d = convolve(pool.apply(pooling, {x}), 1);
    op::Concat concat;
    concat.axis = 1;
    x = pool.apply(concat, {pool.apply(concat, {pool.apply(concat, {a, b}), c}), d});
  }
  graph.outputs = {x};
  return graph;
}

long peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  search::SearchOptions options;
  options.budget = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1000;
  const std::vector<rules::Rule> rules = shipped_rules();
  fmt::print("{} rules, {} expansions\n", rules.size(), options.budget);
  fmt::print("{:>6} {:>6} {:>6} {:>9} {:>9} {:>8} {:>10} {:>10} {:>8}\n", "blocks", "nodes", "rules", "seconds",
             "exp./s", "matches", "kept", "cost", "peak MB");
  for (const std::size_t blocks : {1, 2, 4, 8, 16, 32, 64}) {
    const Graph graph = network(blocks);
    const auto start = std::chrono::steady_clock::now();
    const search::SearchResult result = search::search(graph, rules, cost::Roofline(), options);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    fmt::print("{:>6} {:>6} {:>6} {:>9.3f} {:>9.0f} {:>8} {:>10} {:>9.1f}% {:>8}\n", blocks, graph.nodes().size(),
               result.counts.rules, time.count(), static_cast<double>(result.counts.expanded) / time.count(),
               result.counts.matched, result.counts.kept,
               100.0 * static_cast<double>(result.cost_after) / static_cast<double>(result.cost_before),
               peak_megabytes());
  }
  return 0;
}
