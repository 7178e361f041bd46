// All lowerings of a product compute its meaning, and write nothing else. The CPU stands in for libraries.
#include <cmath>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "cost/plan/movement.h"
#include "cost/plan/plan.h"
#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"
#include "tests/runtime/gpu/call_on_host.h"
#include "tests/runtime/gpu/launch_on_host.h"

namespace taso::test {

using namespace gpu;

namespace {

std::vector<cost::Call> products_of(const Graph& graph, cost::Layout layout) {
  std::vector<cost::Call> calls;
  const cost::WholeGraph view(graph, {}, layout);
  for (const cost::Plan::Step& step : cost::plan(view, cost::Roofline()).steps)
    if (cost::has_products(step.kernel.kind))
      calls.push_back(cost::call_of(view, step.kernel, cost::Precision::fp32).call);
  return calls;
}

/// One lowering of a call, with the numbers of its own kernels.
struct Way {
  cost::Call call;
  Lowering lowering;
  std::vector<std::size_t> kernels;
};

void check_way(const Way& way, const HostKernels& kernels) {
  Random random(7);
  std::vector<std::vector<std::byte>> read, written, expected;
  for (const cost::Call::Operand& operand : way.call.read) {
    REQUIRE(operand.element == ElementType::float32);
    std::vector<float> numbers(static_cast<std::size_t>(span_bytes(operand)) / sizeof(float));
    // Variances must be positive.
    for (float& number : numbers)
      number = static_cast<float>(operand.is_weight ? random.unit() + 0.1 : random.unit() * 2 - 1);
    read.emplace_back(numbers.size() * sizeof(float));
    std::memcpy(read.back().data(), numbers.data(), read.back().size());
  }
  for (const cost::Call::Operand& operand : way.call.written)
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
    const cost::Call::Operand& operand = way.call.written[i];
    double largest = 1, apart = 0;
    const auto a = gathered(operand, to[i]).doubles(), b = gathered(operand, wanted[i]).doubles();
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (!std::isnan(b[j])) largest = std::max(largest, std::abs(b[j]));
      if (std::isnan(a[j]) != std::isnan(b[j])) apart = HUGE_VAL;
      if (!std::isnan(a[j])) apart = std::max(apart, std::abs(a[j] - b[j]));
    }
    CHECK(apart <= 1e-5 * largest);
  }
  // Gaps must stay unchanged.
  run_on_host(way.call, {from.begin(), from.end()}, to);
  CHECK(written == expected);
}

void check_ways(const std::vector<cost::Call>& calls, std::set<std::string>& names) {
  std::vector<Way> ways;
  std::vector<SourceLaunch> sources;
  for (const cost::Call& call : calls)
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
    INFO(way.lowering.name << " " << cost::text_of(way.call));
    check_way(way, kernels);
  }
}

}  // namespace

TEST_CASE("all lowerings of a product compute its meaning") {
  std::vector<cost::Call> calls;
  std::set<std::string> texts, names;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Graph graph = random_plan_graph(random, 1 + static_cast<std::int64_t>(seed % 2), 4 + seed % 30);
    for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last})
      for (cost::Call& call : products_of(graph, layout))
        if (texts.insert(cost::text_of(call)).second && calls.size() < 80) calls.push_back(std::move(call));
  }
  check_ways(calls, names);
  for (const char* name : {"plain", "fused", "apart", "direct", "parts"}) CHECK(names.contains(name));
}

TEST_CASE("attention of several examples can be done by a kernel of ours or by every library") {
  const char* const text = R"(graph
  input q: float32[{b}, {r}, 4, {d}]
  input k: float32[{b}, {t}, 4, {d}]
  input v: float32[{b}, {t}, 4, {d}]
  a = transpose[permutation=[0, 2, 1, 3]](q)
  c = transpose[permutation=[0, 2, 3, 1]](k)
  e = transpose[permutation=[0, 2, 1, 3]](v)
  f = matmul(a, c)
  g = softmax[axis=3](f)
  h = matmul(g, e)
  y = transpose[permutation=[0, 2, 1, 3]](h)
  output y
)";
  std::set<std::string> names;
  std::vector<cost::Call> calls;
  for (const int examples : {1, 3})
    for (const int rows : {1, 16})
      for (const int keys : {1, 16, 40})
        for (const int depth : {16, 10})  // of 10, our kernel cannot read chunks
          for (cost::Call& call :
               products_of(parse_graph(fmt::format(fmt::runtime(text), fmt::arg("b", examples), fmt::arg("r", rows),
                                                   fmt::arg("t", keys), fmt::arg("d", depth))),
                           cost::Layout::channels_first)) {
            INFO(cost::text_of(call));
            const std::vector<Lowering> ways = lowerings(call);
            CHECK(std::any_of(ways.begin(), ways.end(), [](const Lowering& way) {
              return std::all_of(way.launches.begin(), way.launches.end(), [](const Launch& launch) {
                const auto* const product = std::get_if<MatmulLaunch>(&launch);
                if (product == nullptr) return true;
                const auto is_fit = [](const LaunchTensor& one) {
                  return cost::has_one_batch_stride(one.extents, one.strides);
                };
                return is_fit(product->a) && is_fit(product->b) && is_fit(product->y);
              });
            }));
            CHECK(
                (call.kind != cost::Kernel::Kind::attention || ways[0].name.starts_with("attention") == (depth == 16)));
            calls.push_back(std::move(call));
          }
  check_ways(calls, names);
  for (const char* name : {"attention 16x1 by 32", "parts", "four parts", "copied four parts"})
    CHECK(names.contains(name));
}

TEST_CASE("parts of channels are read and written in place, or through copies") {
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
  const std::vector<cost::Call> calls = products_of(parse_graph(text), cost::Layout::channels_last);
  REQUIRE(calls.size() == 3);
  CHECK(calls[1].read[0].strides == cost::Strides{240, 1, 40, 8});
  CHECK(calls[1].written[0].strides == cost::Strides{600, 1, 100, 20});
  CHECK(calls[2].written[0].strides == cost::Strides{600, 1, 100, 20});
  check_ways(calls, names);
  for (const char* name :
       {"plain", "fused", "apart", "gathered plain", "plain scattered", "gathered plain scattered", "fused scattered"})
    CHECK(names.contains(name));
}

TEST_CASE("windows that do not overlap are copied side by side") {
  const char* const text = R"(graph
  input x: float32[2, 3, 9, 8]
  constant w: float32[8, 3, 4, 4]
  constant b: float32[8]
  constant v: float32[6, 8, 2, 1]
  constant u: float32[12, 6, 2, 2]
  c = conv[strides=[4, 4], dilations=[1, 1], pads=[0, 0, 0, 0], groups=1](x, w, b)
  d = conv[strides=[2, 1], dilations=[1, 1], pads=[0, 0, 0, 0], groups=1](c, v)
  e = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 1, 0], groups=1](d, u)
  f = conv[strides=[3, 5], dilations=[1, 1], pads=[0, 0, 0, 0], groups=1](x, w)
  output d, e, f
)";
  for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
    std::set<std::string> names;
    check_ways(products_of(parse_graph(text), layout), names);
    for (const char* name : {"patches plain", "patches fused"}) CHECK(names.contains(name));
  }
}

namespace {

class Number : public Weight {
 public:
  explicit Number(float value) : value_(value) {}
  Array load() const override { return Array::of<float>({}, {value_}); }

 private:
  float value_;
};

/// The gelu of a product with a bias, in one of the forms that exporters write.
Graph gelu_graph(int order, float root, float half_of_it = 0.5F, float power = 3) {
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const auto constant = [&](const char* name, float value) {
    return pool.constant(name, {ElementType::float32, Shape()}, std::make_shared<Number>(value));
  };
  const auto weight = [&](const char* name, const Extents& extents) {
    return pool.constant(name, {ElementType::float32, shape_of(extents)}, nullptr);
  };
  graph.inputs = {pool.input("x", {ElementType::float32, shape_of({3, 8})})};
  const Value product = pool.apply(op::MatMul{}, {graph.inputs[0], weight("w", {8, 8})});
  const Value x = pool.apply(op::Add{}, {product, weight("b", {8})});
  const Value half = constant("half", half_of_it), one = constant("one", 1), two = constant("two", 2);
  const auto times = [&](const Value& a, const Value& b) { return pool.apply(op::Mul{}, {a, b}); };
  const auto plus = [&](const Value& a, const Value& b) { return pool.apply(op::Add{}, {a, b}); };
  Value result;
  if (order < 4) {
    const Value scaled =
        order % 2 == 0 ? pool.apply(op::Div{}, {x, constant("root", root)}) : times(constant("inverse", 1 / root), x);
    const Value erf = pool.apply(op::Erf{}, {scaled});
    const Value gate = order % 2 == 0 ? plus(erf, one) : plus(one, erf);
    if (order == 0) result = times(times(x, gate), half);
    if (order == 1) result = times(times(half, x), gate);
    if (order == 2) result = times(x, times(gate, half));
    if (order == 3) result = pool.apply(op::Div{}, {times(gate, x), two});
  } else {
    const Value cube = order == 4 ? pool.apply(op::Pow{}, {x, constant("three", power)}) : times(times(x, x), x);
    const Value bent = plus(x, times(constant("small", 0.044715F), cube));
    const Value tanh = pool.apply(op::Tanh{}, {times(bent, constant("factor", root))});
    result = times(times(half, x), plus(one, tanh));
  }
  graph.outputs = {result};
  return graph;
}

}  // namespace

TEST_CASE("a decomposed gelu is passed to libraries as gelu") {
  for (int order = 0; order < 6; ++order) {
    INFO("order " << order);
    const std::vector<cost::Call> calls =
        products_of(gelu_graph(order, order < 4 ? 1.41421356F : 0.79788456F), cost::Layout::channels_first);
    REQUIRE(calls.size() == 1);
    const cost::Call& call = calls[0];
    CHECK(call.steps.size() == 3);
    CHECK(call.read.size() == 3);
    const std::vector<Lowering> ways = lowerings(call);
    const auto* launch = std::get_if<MatmulLaunch>(&ways.at(0).launches.at(0));
    REQUIRE(launch != nullptr);
    REQUIRE(launch->epilogue.size() == 2);
    CHECK(launch->epilogue[1].mode == (order < 4 ? Pointwise::Mode::gelu : Pointwise::Mode::gelu_tanh));
    // Libraries and our own kernels agree.
    std::set<std::string> names;
    check_ways(calls, names);
    // With another constant it is not gelu: libraries have no such epilogue.
    const std::vector<cost::Call> others = products_of(gelu_graph(order, 1.5F), cost::Layout::channels_first);
    REQUIRE(others.size() == 1);
    CHECK(others[0].steps.size() > 3);
    CHECK(lowerings(others[0]).at(0).name == "apart");
    check_ways(others, names);
  }
}

TEST_CASE("near-gelu with different results is not gelu") {
  for (int order = 0; order < 6; ++order) {
    INFO("order " << order);
    const float root = order < 4 ? 1.41421356F : 0.79788456F;
    std::vector<Graph> graphs{gelu_graph(order, root * 1.0003F)};
    if (order != 3) graphs.push_back(gelu_graph(order, root, 0.5002F));
    if (order == 4) graphs.push_back(gelu_graph(order, root, 0.5F, 3.001F));  // NaN for negative numbers
    for (const Graph& graph : graphs) {
      const std::vector<cost::Call> calls = products_of(graph, cost::Layout::channels_first);
      REQUIRE(calls.size() == 1);
      CHECK(calls[0].steps.size() > 3);
    }
  }
}

TEST_CASE("direct convolutions of wide groups have short source") {
  const DeviceCompiler compiler;
  for (const std::int64_t width : {16, 32}) {
    const std::int64_t channels = 32 * width, size = 224 / width;
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    Pool& pool = *graph.pool;
    graph.inputs = {pool.input("x", {ElementType::float32, shape_of({1, channels, size, size})})};
    const Value w = pool.constant("w", {ElementType::float32, shape_of({channels, width, 3, 3})}, nullptr);
    const Value y = pool.apply(op::Conv{{1, 1}, {1, 1}, {1, 1, 1, 1}, 32}, {graph.inputs[0], w});
    graph.outputs = {pool.apply(op::Relu{}, {y})};
    for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
      const std::vector<cost::Call> calls = products_of(graph, layout);
      REQUIRE(calls.size() == 1);
      bool is_there = false;
      for (const Lowering& way : lowerings(calls[0])) {
        if (way.name != "direct") continue;
        is_there = true;
        const std::string& source = std::get<SourceLaunch>(way.launches.at(0)).source;
        CHECK(source.size() < 20'000);
        if (compiler.is_there()) CHECK(compiler.complaints(source) == "");
      }
      CHECK(is_there);
    }
  }
}

}  // namespace taso::test
