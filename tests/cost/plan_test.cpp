// Plans of small graphs. tests/cost/plans.graphs holds graphs, each with its kernels and their prices, to the
// picosecond; TASO_BLESS=1 rewrites these.
#include "cost/plan/plan.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/cost/corrected_graph.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace cost;

namespace {

struct Section {
  std::string graph;     ///< with the comments above it
  std::string expected;  ///< lines that begin with "#="
};

std::vector<Section> sections_of(const std::string& text) {
  std::vector<Section> sections;
  std::istringstream lines(text);
  Section section;
  const auto end = [&] {
    if (!section.graph.empty()) sections.push_back(section);
    section = {};
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.empty())
      end();
    else
      (line.starts_with("#=") ? section.expected : section.graph) += line + "\n";
  }
  end();
  return sections;
}

std::string describe(const std::string& text_of_graph) {
  const Graph graph = parse_graph(text_of_graph);
  const auto says = [&](std::string_view what) { return text_of_graph.find(what) != std::string::npos; };
  const WholeGraph view(graph, {},
                        says("# NHWC")           ? Layout::channels_last
                        : says("# ONNX Runtime") ? Layout::onnxruntime
                                                 : Layout::channels_first);
  const Plan laid = plan(view, Roofline());
  std::string text;
  for (const Plan::Step& step : laid.steps) {
    text += fmt::format("#= {} ps {}:", step.price, cost::name_of(step.kernel.kind));
    if (step.kernel.nodes.empty()) text += " conversion";
    for (const PlanNode node : step.kernel.nodes)
      text += fmt::format(" {}", view.op(node) ? ops::name_of(*view.op(node)) : "opaque");
    text += "\n";
  }
  return text + fmt::format("#= {} bytes\n", laid.arena_bytes);
}

}  // namespace

TEST_CASE("graphs are mapped to the expected kernels") {
  const auto file = source_folder() / "tests/cost/plans.graphs";
  std::ifstream in(file, std::ios::binary);
  REQUIRE(in.good());
  std::ostringstream text;
  text << in.rdbuf();
  const bool bless = std::getenv("TASO_BLESS") != nullptr;
  std::string blessed;
  const auto sections = sections_of(text.str());
  CHECK(sections.size() >= 30);
  for (const Section& section : sections) {
    INFO(section.graph);
    const std::string given = describe(section.graph);
    if (!bless) CHECK(given == section.expected);
    blessed += (blessed.empty() ? "" : "\n") + section.graph + given;
  }
  if (bless) std::ofstream(file, std::ios::binary) << blessed;
}

TEST_CASE("prices equal those computed by hand") {
  RooflineConstants round;
  round.least_element_wise = 1000;
  round.least_channels_first = 2000;
  round.slab_wait = 100;
  round.meeting = 50;
  round.tile_bandwidth = 64;
  round.result_bandwidth = 32;
  round.channels_first = 2;
  round.weight_wait = 300;
  round.weight_rate = 10000;
  round.activation_rate = 5000;
  round.chain_wait = 10;
  const Roofline roofline(Precision::tf32, round);
  const auto cost_of = [&](std::string_view text) { return plan(parse_graph(text), roofline).cost; };
  // 1 us, 10 ns for the operation on an element, and 786,432 bytes at 5,000 per nanosecond.
  CHECK(cost_of(R"(graph
    input x: float32[128, 768]
    y = relu(x)
    output y)") == 1'167'286);
  // 100 times as much: 50,000,000 bytes at 5,000 per nanosecond, the rest at 4,800.
  CHECK(cost_of(R"(graph
    input x: float32[12800, 768]
    y = relu(x)
    output y)") == 16'977'333);
  // 196 pixels and 256 filters are 4 x 4 tiles of 64 x 64. Cut 8 times, they fill 128 multiprocessors, which process 9
  // slabs each, in 256 and 100 ns, pass on a tile in 512 ns and combine sums 3 times in 50 ns. In NCHW this takes 2
  // times as long. Added to that are 2 us, 300 ns, and 2,359,296 bytes of weights at 10,000 per nanosecond.
  CHECK(cost_of(R"(graph
    input x: float32[1, 256, 14, 14]
    constant w: float32[256, 256, 3, 3]
    y = conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=1](x, w)
    output y)") == 10'267'930);
}

TEST_CASE("unknown dimensions have the given sizes for pricing") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[N, 768]
    y = relu(x)
    output y)");
  const Graph fixed = parse_graph(R"(graph
    input x: float32[12800, 768]
    y = relu(x)
    output y)");
  const PlanOptions options{[](std::string_view name) { return name == "N" ? 12800 : 1; }};
  CHECK(plan(graph, Roofline(), options).cost == plan(fixed, Roofline()).cost);
  CHECK(plan(graph, Roofline()).cost < plan(fixed, Roofline()).cost);
}

TEST_CASE("objectives") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[128, 768]
    a = relu(x)
    b = exp(a)
    y, z = split[axis=1, at=384](b)
    output y, z)");
  CHECK(plan(graph, LaunchCount()).cost == 2);
  CHECK(plan(graph, LaunchCount()).launches() == 2);
  CHECK(plan(graph, BytesWritten()).cost == 2 * 128 * 768 * 4);
  CHECK(plan(graph, Roofline()).arena_bytes == 2 * 128 * 768 * 4);
}

TEST_CASE("fp32 is slower than TF32, which is slower than fp16") {
  const auto graph_in = [](std::string_view element) {
    return parse_graph(fmt::format(R"(graph
      input x: {0}[128, 768]
      constant w: {0}[768, 768]
      y = matmul(x, w)
      output y)",
                                   element));
  };
  const Cost fp32 = plan(graph_in("float32"), Roofline(Precision::fp32)).cost;
  const Cost tf32 = plan(graph_in("float32"), Roofline()).cost;
  const Cost fp16 = plan(graph_in("float16"), Roofline()).cost;
  CHECK(tf32 < fp32);
  CHECK(fp16 < tf32);
  CHECK(plan(graph_in("bfloat16"), Roofline()).cost == fp16);
}

TEST_CASE("operands of a concat lie in its buffer, views in that of their operand") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[1, 4, 8, 8]
    a = relu(x)
    b = exp(x)
    c = concat[axis=1](a, b)
    s = slice[axis=1, begin=3, end=6](c)
    r = reshape[shape=[192]](s)
    output r)");
  const WholeGraph view(graph);
  const Plan laid = plan(view, Roofline());
  REQUIRE(laid.launches() == 2);
  REQUIRE(laid.buffers.size() == 1);
  CHECK(laid.buffers[0].size == 8 * 8 * 8 * 4);
  std::vector<std::int64_t> offsets;
  for (const Plan::Place& value : laid.places) offsets.push_back(value.offset);
  CHECK(offsets == std::vector<std::int64_t>{0, 4 * 64 * 4, 0, 3 * 64 * 4, 3 * 64 * 4});
}

TEST_CASE("a corrected value is computed in place, and the share of its corrections is known") {
  for (const Corrected what : all_corrected)
    for (const std::int64_t batch : {1, 2})
      for (const Layout layout : layouts) {
        const Graph graph = corrected_graph(batch, what);
        const WholeGraph view(graph, {}, layout);
        const Plan laid = plan(view, Roofline());
        INFO(cost::text_of(laid, view));
        const Corrections corrections = corrections_of(view, laid);
        // The rest is the same kernels as without corrections, and at most one kernel copies.
        std::size_t convolutions = 0, copies = 0;
        Cost cost = 0;
        for (const std::size_t step : corrections.steps) {
          const Kernel& kernel = laid.steps[step].kernel;
          cost += laid.steps[step].price;
          convolutions += kernel.kind == Kernel::Kind::convolution;
          const bool joins = view.op(kernel.main) && std::holds_alternative<op::Concat>(*view.op(kernel.main));
          copies += joins;
          // The result of a transpose is row-major: in NHWC it is not written into an image.
          if (joins && ((what != Corrected::moved && what != Corrected::joined) || layout == Layout::channels_first))
            CHECK(kernel.bytes <= bytes_of(view, kernel.written[0]) * (what == Corrected::both_axes ? 1.5 : 0.9));
        }
        CHECK(corrections.cost == cost);
        CHECK(convolutions == (what == Corrected::both_axes ? 4U : what == Corrected::border ? 2U : 1U));
        CHECK(copies <= 1);
        CHECK(corrections.cost < laid.cost);
        const std::size_t rest = laid.steps.size() - corrections.steps.size();
        if (layout == Layout::channels_first && what != Corrected::joined)
          CHECK(rest == (what == Corrected::moved ? 4U : 3U));
      }
}

}  // namespace taso::test
