// Records which rules pay off for which kind of network: searches the example networks with all rules and writes
// rules/search.experience. scripts/record-experience runs it.
//
//   search_experience [--budget N] [--jobs N] -o FILE
//
// The networks have fewer blocks than in their papers, because equal blocks are solved only once anyway.
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "search/selection/learn.h"
#include "tests/benchmark/example_graph.h"
#include "tests/search/golden_case.h"
#include "tests/search/rule_graph.h"

using namespace taso;
using namespace taso::test;

namespace {

constexpr std::string_view header =
    "# How rules did in searches of the example networks, by the kind of network that taso-opt detects, and of\n"
    "# the small graphs in tests/search/golden, whose kind is unknown. A rule is listed if a search ended worse\n"
    "# without it; \"saved\" is the difference, summed over all searches. For a network of a known kind, taso-opt\n"
    "# searches with only these of the rules that taso-gen found, except for single steps that pay off at once.\n"
    "# scripts/record-experience writes this file.\n";

std::vector<ExampleNetwork> recorded_networks() {
  std::vector<ExampleNetwork> all;
  for (const std::string_view name :
       {"resnet50", "resnext50", "mobilenet_v2", "ssd300_resnet50", "bert_base", "vit_b_16", "inception_v3",
        "squeezenet1_1", "nasnet_mobile", "densenet121", "nasrnn", "nas_cell"}) {
    ExampleNetwork one{name, "1", ElementType::float32, {}};
    one.variant.blocks = 2;
    all.push_back(one);
    one.batch = "16";
    one.type = ElementType::float16;
    all.push_back(one);
  }
  return all;
}

void note(const std::string& name, search::NetworkKind kind, const search::Lesson& lesson) {
  const auto share = [&](cost::Cost cost) {
    return 100.0 * static_cast<double>(cost) / static_cast<double>(std::max<cost::Cost>(lesson.cost_before, 1));
  };
  fmt::print(stderr, "{:<32} {:<10} {:>6.1f} % with all rules, {:>6.1f} % with {}\n", name, search::name_of(kind),
             share(lesson.cost_with_all), share(lesson.cost_with_these), lesson.rules.size());
}

}  // namespace

int main(int argc, char** argv) {
  search::SearchOptions options;
  options.jobs = 2;
  std::string output;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string argument = argv[i];
    if (argument == "--budget")
      options.budget = std::stoul(argv[i + 1]);
    else if (argument == "--jobs")
      options.jobs = static_cast<unsigned>(std::stoul(argv[i + 1]));
    else if (argument == "-o")
      output = argv[i + 1];
  }
  if (output.empty()) {
    fmt::print(stderr, "usage: search_experience [--budget N] [--jobs N] -o FILE\n");
    return 2;
  }
  const std::vector<rules::Rule> rules = shipped_rules();
  search::Experience experience;
  for (const ExampleNetwork& example : recorded_networks()) {
    const taso::onnx::Model model = model_of(example);
    const Graph graph = cleaned_graph(model);
    const search::NetworkKind kind = search::recognise(graph).kind;
    const search::Lesson lesson = search::learn(graph, rules, cost::Roofline(), options);
    note(fmt::format("{} {} {}", example.name, example.batch, name_of(example.type)), kind, lesson);
    if (kind != search::NetworkKind::unknown) experience.add(kind, lesson.rules);
  }
  for (const auto& file : golden_files("golden")) {
    // In a small graph one worse step is a large share, so it needs its own threshold.
    const GoldenCase golden = read_golden(file);
    options.alpha = golden.options.alpha;
    const search::Lesson lesson = search::learn(golden.graph, rules, cost::Roofline(), options);
    note(file.stem().string(), search::NetworkKind::unknown, lesson);
    experience.add(search::NetworkKind::unknown, lesson.rules);
  }
  const std::string text = search::text_of(experience);
  const std::size_t first = text.find('\n') + 1;
  std::ofstream out(output, std::ios::binary | std::ios::trunc);
  out << text.substr(0, first) << '\n' << header << text.substr(first);
  return out.flush() ? 0 : 6;
}
