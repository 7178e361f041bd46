// Kernels for opaque operators compute what the host's functions do: from their source on the CPU, and on a GPU if
// there is one. TASO_CALLS sets the number of random nodes of each operator.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "cost/plan/plan.h"
#include "cost/pricing/call.h"
#include "cost/pricing/roofline.h"
#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/execution.h"
#include "tests/catch.h"
#include "tests/cost/plain_body.h"
#include "tests/runtime/gpu/function_cases.h"
#include "tests/runtime/gpu/source_kernels.h"

namespace taso::test {

using namespace gpu;

namespace {

class HeldArray : public ops::Weight {
 public:
  explicit HeldArray(Array array) : array_(std::move(array)) {}
  Array load() const override { return array_; }

 private:
  Array array_;
};

/// A graph of one node.
struct Single {
  FunctionCase node;
  cost::Precision precision;
  std::vector<Array> expected, inputs;
  Graph graph;

  /// As the device stores it.
  Array rounded(const Array& array) const {
    return from_device(to_device(array, precision), array.type(), array.extents(), precision);
  }

  Single(FunctionCase made, cost::Precision wanted) : node(std::move(made)), precision(wanted) {
    const auto body = std::make_shared<PlainBody>(node.function, node.results);
    for (std::size_t i = 0; i < node.operands.size(); ++i)  // a kernel knows the exact content of a constant
      if (node.operands[i] && !node.function.constants.at(i)) node.operands[i] = rounded(*node.operands[i]);
    for (const Array& result : body->run(node.operands)) expected.push_back(rounded(result));
    expected.resize(node.results);
    graph.pool = std::make_shared<Pool>();
    std::vector<Value> operands;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      operands.emplace_back();
      if (!node.operands[i]) continue;
      const Array& array = *node.operands[i];
      const Type type{array.type(), shape_of(array.extents())};
      if (i < node.function.constants.size() && node.function.constants[i]) {
        operands.back() = graph.pool->constant(std::to_string(i), type, std::make_shared<HeldArray>(array));
      } else {
        operands.back() = graph.pool->input(std::to_string(i), type);
        graph.inputs.push_back(operands.back());
        inputs.push_back(array);
      }
    }
    std::vector<Type> types;
    for (const Array& array : expected) types.push_back({array.type(), shape_of(array.extents())});
    const ops::Node& opaque = graph.pool->add_opaque({node.function.name, 0, types, body}, operands);
    for (std::size_t i = 0; i < node.results; ++i) graph.outputs.push_back(opaque.output(i));
  }
};

double tolerance_of(const Single& single, ElementType element) {
  if (single.node.is_exact) return 0;
  switch (cost::stored(element, single.precision)) {
    case ElementType::float32: return 3e-5;
    case ElementType::float16: return 3e-3;
    case ElementType::bfloat16: return 2e-2;
    case ElementType::float64: return 1e-9;
    default: return 0;
  }
}

/// Empty if both arrays have the same numbers, as far as rounding allows.
std::string difference(const Single& single, const Array& found, const Array& expected) {
  const std::vector<double> a = found.doubles(), b = expected.doubles();
  // Sums lose digits of their greatest terms.
  double greatest = 1;
  for (const auto& operand : single.node.operands)
    if (operand)
      for (const double x : operand->doubles())
        if (std::isfinite(x)) greatest = std::max(greatest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double most = tolerance_of(single, expected.type()) * std::max(greatest, std::abs(b[i]));
    if (!(std::abs(a[i] - b[i]) <= most)) return fmt::format("element {} is {} instead of {}", i, a[i], b[i]);
  }
  return "";
}

std::size_t cases_of_each() {
  const char* const number = std::getenv("TASO_CALLS");
  return number != nullptr ? static_cast<std::size_t>(std::atol(number)) : 6;
}

std::vector<Single> random_singles() {
  std::vector<Single> singles;
  std::uint64_t seed = 0;
  for (const std::string& name : function_names())
    for (std::size_t i = 0; i < cases_of_each(); ++i) {
      Random random(++seed);
      INFO(name << ", seed " << seed);
      // The scale of numbers that are quantised by their range would be rounded, too.
      const bool is_half = i % 4 == 3 && name != "DynamicQuantizeLinear";
      singles.emplace_back(random_function(name, random), is_half ? cost::Precision::fp16 : cost::Precision::fp32);
    }
  return singles;
}

/// A launch with the memory of its arguments.
struct Launched {
  std::size_t single;
  SourceLaunch launch;
};

/// The call of a node, and what it reads and writes, on the CPU.
struct OnHost {
  cost::PlacedCall placed;
  std::vector<std::vector<std::byte>> read, written;
  std::vector<std::byte> scratch = {};

  void* memory(const Argument& argument) {
    switch (argument.place) {
      case Argument::Place::read: return read.at(argument.index).data();
      case Argument::Place::written: return written.at(argument.index).data();
      case Argument::Place::scratch: break;
    }
    return scratch.data() + argument.offset;
  }
};

OnHost on_host(const Single& single) {
  const cost::WholeGraph view(single.graph);
  const std::vector<cost::Kernel> kernels = cost::kernels_of(view);
  REQUIRE(kernels.size() == 1);
  REQUIRE(cost::can_be_called(view, kernels[0]));
  OnHost made{cost::call_of(view, kernels[0], single.precision), {}, {}};
  for (const cost::PlacedValue& value : made.placed.read) {
    const std::vector<Value>& list = single.graph.inputs;
    const auto at = std::find(list.begin(), list.end(), view.value(value.value)) - list.begin();
    if (at < std::ssize(list)) {
      made.read.push_back(to_device(single.inputs[static_cast<std::size_t>(at)], single.precision));
    } else {
      const ops::Constant* const constant = view.value(value.value).node->as_constant();
      REQUIRE(constant != nullptr);
      made.read.push_back(to_device(constant->weight->load(), single.precision));
    }
  }
  for (const cost::Call::Operand& operand : made.placed.call.written)
    made.written.emplace_back(static_cast<std::size_t>(count(operand.extents)) * size_of(operand.element),
                              std::byte{0xA5});
  return made;
}

}  // namespace

TEST_CASE("kernels for opaque operators compute what the host does", "[functions]") {
  const std::vector<Single> singles = random_singles();
  constexpr std::size_t at_once = 150;
  const DeviceCompiler compiler;
  if (!compiler.is_there()) WARN("NVRTC is not there: the kernels are not compiled for a GPU");
  for (std::size_t first = 0; first < singles.size(); first += at_once) {
    std::vector<OnHost> calls;
    std::vector<Launched> launched;
    std::vector<SourceLaunch> launches;
    for (std::size_t i = first; i < std::min(first + at_once, singles.size()); ++i) {
      INFO(singles[i].node.function.name << ", number " << i);
      calls.push_back(on_host(singles[i]));
      const cost::Call& call = calls.back().placed.call;
      const std::vector<Lowering> ways = lowerings(call);
      calls.back().scratch.resize(static_cast<std::size_t>(ways.at(0).scratch_bytes), std::byte{0xA5});
      for (const Launch& launch : ways.at(0).launches) {
        launched.push_back({i - first, std::get<SourceLaunch>(launch)});
        launches.push_back(launched.back().launch);
      }
    }
    const HostKernels kernels(launches);
    for (std::size_t k = 0; k < launched.size(); ++k) {
      OnHost& memory = calls[launched[k].single];
      std::vector<void*> arguments;
      for (const Argument& argument : launched[k].launch.arguments) arguments.push_back(memory.memory(argument));
      kernels.run(k, launched[k].launch, arguments);
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Single& single = singles[first + i];
      const cost::Call& call = calls[i].placed.call;
      std::string sources;
      for (const Launched& one : launched)
        if (one.single == i) sources += one.launch.source.substr(one.launch.source.rfind("extern \"C\""));
      INFO(single.node.function.name << ", number " << first + i << "\n" << cost::text_of(call) << "\n" << sources);
      for (std::size_t k = 0; k < call.written.size(); ++k) {
        const Array& expected = single.expected.at(call.function->results[k]);
        const Array found = from_device(calls[i].written[k], expected.type(), expected.extents(), single.precision);
        CHECK(difference(single, found, expected) == "");
      }
    }
    if (compiler.is_there()) CHECK(compiler.complaints(DeviceCompiler::joined(launches)) == "");
  }
}

TEST_CASE("scatters write in place if operand and result are the same memory", "[functions]") {
  std::vector<Single> singles;
  for (const std::string name : {"ScatterElements", "ScatterND", "TensorScatter"})
    for (std::uint64_t seed = 1; seed <= cases_of_each(); ++seed) {
      Random random(seed);
      singles.emplace_back(random_function(name, random), cost::Precision::fp32);
    }
  std::vector<SourceLaunch> launches;
  for (const Single& single : singles) {
    const std::vector<Lowering> ways = lowerings(on_host(single).placed.call);
    REQUIRE(ways.at(0).launches.size() == 2);
    REQUIRE(std::get<SourceLaunch>(ways[0].launches[0]).only_copies);
    launches.push_back(std::get<SourceLaunch>(ways[0].launches[1]));
    REQUIRE_FALSE(launches.back().only_copies);
  }
  const HostKernels kernels(launches);
  for (std::size_t k = 0; k < launches.size(); ++k) {
    OnHost memory = on_host(singles[k]);
    std::byte* const data = memory.read.at(memory.placed.call.function->operands[0]).data();
    std::vector<void*> arguments;
    for (const Argument& argument : launches[k].arguments)
      arguments.push_back(argument.place == Argument::Place::read ? memory.read.at(argument.index).data() : data);
    kernels.run(k, launches[k], arguments);
    const Array& expected = singles[k].expected.at(0);
    const std::span<const std::byte> bytes(data, expected.bytes());
    INFO(singles[k].node.function.name << ", number " << k);
    CHECK(difference(singles[k], from_device(bytes, expected.type(), expected.extents(), cost::Precision::fp32),
                     expected) == "");
  }
}

TEST_CASE("every function has a price that is not the host's, and no step there", "[functions]") {
  for (const Single& single : random_singles()) {
    const cost::WholeGraph view(single.graph);
    const cost::Plan laid = cost::plan(view, cost::Roofline());
    INFO(single.node.function.name);
    CHECK(laid.cost > 0);
    CHECK(laid.cost < 20'000'000);  // picoseconds; a step on the host takes longer
    CHECK(make_execution(view, single.graph, laid, single.precision).on_host.empty());
  }
}

TEST_CASE("opaque operators on the GPU compute what the host does", "[gpu][functions]") {
  std::string trouble;
  const std::unique_ptr<Accelerator> device = open_accelerator(trouble);
  if (!device) {
    WARN("SKIPPED: " << trouble);
    return;
  }
  for (const Single& single : random_singles()) {
    const cost::WholeGraph view(single.graph);
    const cost::Plan laid = cost::plan(view, cost::Roofline());
    Execution execution = make_execution(view, single.graph, laid, single.precision);
    std::string texts;
    for (const DeviceSteps::Step& step : execution.steps.steps) texts += cost::text_of(step.call) + "\n";
    INFO(single.node.function.name << "\n" << texts);
    CHECK(execution.on_host.empty());
    const std::unique_ptr<DeviceProgram> program = device->load(std::move(execution.steps));
    std::vector<std::vector<std::byte>> bytes;
    for (const Array& input : single.inputs) bytes.push_back(to_device(input, single.precision));
    const std::vector<std::span<const std::byte>> inputs(bytes.begin(), bytes.end());
    const auto outputs = program->run(inputs);
    for (std::size_t i = 0; i < single.expected.size(); ++i) {
      const Array& expected = single.expected[i];
      const Array found = from_device(outputs.at(i), expected.type(), expected.extents(), single.precision);
      CHECK(difference(single, found, expected) == "");
    }
  }
}

}  // namespace taso::test
