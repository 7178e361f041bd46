// All ways to do a product compute what it means, and write nothing else: libraries stood in for by the CPU.
#include <cmath>
#include <cstring>
#include <set>

#include "cost/plan.h"
#include "cost/roofline.h"
#include "ops/graph_text.h"
#include "tests/catch.h"
#include "tests/cost/call_on_host.h"
#include "tests/cost/launch_on_host.h"
#include "tests/cost/random_plan_graph.h"

using namespace taso;

namespace {

std::vector<Call> products_of(const Graph& graph, Layout layout) {
  std::vector<Call> calls;
  const WholeGraph view(graph, {}, layout);
  for (const Plan::Step& step : plan(view, Roofline()).steps)
    if (step.kernel.kind == Kernel::Kind::convolution || step.kernel.kind == Kernel::Kind::matmul)
      calls.push_back(call_of(view, step.kernel, Precision::fp32).call);
  return calls;
}

/// One way of a call, with the numbers that its own kernels have.
struct Way {
  Call call;
  Lowering lowering;
  std::vector<std::size_t> kernels;
};

void check_way(const Way& way, const HostKernels& kernels) {
  Random random(7);
  std::vector<std::vector<std::byte>> read, written, expected;
  for (const Call::Operand& operand : way.call.read) {
    REQUIRE(operand.element == ElementType::float32);
    std::vector<float> numbers(static_cast<std::size_t>(span_bytes(operand)) / sizeof(float));
    // Variances are above 0.
    for (float& number : numbers)
      number = static_cast<float>(operand.is_weight ? random.unit() + 0.1 : random.unit() * 2 - 1);
    read.emplace_back(numbers.size() * sizeof(float));
    std::memcpy(read.back().data(), numbers.data(), read.back().size());
  }
  for (const Call::Operand& operand : way.call.written)
    written.emplace_back(static_cast<std::size_t>(span_bytes(operand)), std::byte{0xA5});
  expected = written;
  std::vector<std::byte> scratch(static_cast<std::size_t>(way.lowering.scratch_bytes), std::byte{0xFF});
  std::vector<std::byte*> from, to, wanted;
  for (auto& bytes : read) from.push_back(bytes.data());
  for (auto& bytes : written) to.push_back(bytes.data());
  for (auto& bytes : expected) wanted.push_back(bytes.data());
  run_on_host(way.call, {from.begin(), from.end()}, wanted);
  std::size_t next = 0;
  for (const Launch& launch : way.lowering.launches) {
    if (const auto* source = std::get_if<SourceLaunch>(&launch)) {
      std::vector<void*> arguments;
      for (const Argument& argument : source->arguments)
        arguments.push_back(place_of(argument, from, to, scratch.data()));
      kernels.run(way.kernels.at(next++), *source, arguments);
    } else if (const auto* convolution = std::get_if<ConvolutionLaunch>(&launch)) {
      run_on_host(*convolution, from, to, scratch.data());
    } else {
      run_on_host(std::get<MatmulLaunch>(launch), from, to, scratch.data());
    }
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Call::Operand& operand = way.call.written[i];
    double largest = 1, apart = 0;
    const auto a = gathered(operand, to[i]).doubles(), b = gathered(operand, wanted[i]).doubles();
    for (std::size_t j = 0; j < a.size(); ++j) {
      largest = std::max(largest, std::abs(b[j]));
      apart = std::max(apart, std::isnan(a[j]) ? HUGE_VAL : std::abs(a[j] - b[j]));
    }
    CHECK(apart <= 1e-5 * largest);
  }
  // What lies in between is what it was.
  run_on_host(way.call, {from.begin(), from.end()}, to);
  CHECK(written == expected);
}

void check_ways(const std::vector<Call>& calls, std::set<std::string>& names) {
  std::vector<Way> ways;
  std::vector<SourceLaunch> sources;
  for (const Call& call : calls)
    for (Lowering& lowering : lowerings(call)) {
      Way way{call, std::move(lowering), {}};
      for (const Launch& launch : way.lowering.launches)
        if (const auto* source = std::get_if<SourceLaunch>(&launch)) {
          way.kernels.push_back(sources.size());
          sources.push_back(*source);
        }
      names.insert(way.lowering.name);
      ways.push_back(std::move(way));
    }
  const HostKernels kernels(sources);
  for (const Way& way : ways) {
    INFO(way.lowering.name << " " << text_of(way.call));
    check_way(way, kernels);
  }
}

}  // namespace

TEST_CASE("all ways to do a product compute what it means") {
  std::vector<Call> calls;
  std::set<std::string> texts, names;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Graph graph = random_plan_graph(random, 1 + static_cast<std::int64_t>(seed % 2), 4 + seed % 30);
    for (const Layout layout : {Layout::channels_first, Layout::channels_last})
      for (Call& call : products_of(graph, layout))
        if (texts.insert(text_of(call)).second && calls.size() < 80) calls.push_back(std::move(call));
  }
  check_ways(calls, names);
  for (const char* name : {"plain", "fused", "apart", "direct"}) CHECK(names.contains(name));
}

TEST_CASE("parts of channels are read and written in their place, or by way of copies") {
  const char* const text = R"(graph
  input x: float32[2, 6, 5, 12]
  constant w: float32[8, 12, 3, 3]
  constant v: float32[16, 4, 1, 1]
  constant b: float32[4, 8, 1, 1]
  constant q: float32[1, 4, 1, 1]
  t = transpose[permutation=[0, 3, 1, 2]](x)
  a = conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=1](t, w)
  f, g = split[axis=1, at=4](a)
  c = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0], groups=1](f, v)
  d = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0], groups=1](a, b)
  e = add(d, g)
  h = relu(e)
  i = mul(h, q)
  j = concat[axis=1](c, i)
  y = transpose[permutation=[0, 2, 3, 1]](j)
  output y
)";
  std::set<std::string> names;
  const std::vector<Call> calls = products_of(parse_graph(text), Layout::channels_last);
  REQUIRE(calls.size() == 3);
  CHECK(calls[1].read[0].strides == Strides{240, 1, 40, 8});
  CHECK(calls[1].written[0].strides == Strides{600, 1, 100, 20});
  CHECK(calls[2].written[0].strides == Strides{600, 1, 100, 20});
  check_ways(calls, names);
  for (const char* name :
       {"plain", "fused", "apart", "gathered plain", "plain scattered", "gathered plain scattered", "fused scattered"})
    CHECK(names.contains(name));
}
