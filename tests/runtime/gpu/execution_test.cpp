// Plans prepared for a device and run step by step on the CPU compute the meaning of their graphs.
#include "runtime/gpu/execution.h"

#include <bitset>
#include <map>
#include <set>

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "runtime/gpu/hazards.h"
#include "runtime/gpu/kernels/space.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/cost/corrected_graph.h"
#include "tests/cost/random_plan_graph.h"
#include "tests/ops/random_graph.h"
#include "tests/runtime/gpu/call_on_host.h"

namespace taso::test {

using namespace gpu;

namespace {

bool is_near(const Array& a, const Array& b, double tolerance) {
  if (a.type() != b.type() || a.extents() != b.extents()) return false;
  const auto x = a.doubles(), y = b.doubles();
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return false;
    error += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return error <= tolerance * tolerance * norm;
}

constexpr std::size_t most_steps = 128;
using Steps = std::bitset<most_steps>;

/// Checks byte by byte that concurrent steps do not write what another reads or writes.
void check_hazards(const DeviceSteps& steps, const std::vector<Task>& tasks, const Schedule& schedule) {
  REQUIRE(steps.steps.size() <= most_steps);
  const StepOrder order(tasks, schedule);
  std::map<std::pair<gpu::Binding::Place, std::uint32_t>, std::vector<std::pair<Steps, Steps>>>
      memories;  // read, written
  for (std::uint32_t i = 0; i < steps.steps.size(); ++i)
    for (const MemoryAccess& access : accesses_of(steps.steps[i])) {
      auto& bytes = memories[{access.place, access.index}];
      const Footprint& what = access.what;
      std::vector<std::int64_t> places{what.offset};
      for (std::size_t axis = 0; axis < what.extents.size(); ++axis) {
        std::vector<std::int64_t> more;
        for (const std::int64_t at : places)
          for (std::int64_t k = 0; k < what.extents[axis]; ++k) more.push_back(at + k * what.strides[axis] * what.size);
        places = std::move(more);
      }
      for (const std::int64_t at : places) {
        if (bytes.size() < static_cast<std::size_t>(at + what.size))
          bytes.resize(static_cast<std::size_t>(at + what.size));
        for (std::int64_t k = 0; k < what.size; ++k) {
          auto& [read, written] = bytes[static_cast<std::size_t>(at + k)];
          (access.is_write ? written : read).set(i);
        }
      }
    }
  const auto are_ordered = [&](const Steps& read, const Steps& written) {
    for (std::uint32_t i = 0; i < steps.steps.size(); ++i)
      for (std::uint32_t k = 0; written[i] && k < steps.steps.size(); ++k)
        if (i != k && (read[k] || written[k]) && !order.precedes(i, k) && !order.precedes(k, i)) return false;
    return true;
  };
  for (const auto& [place, bytes] : memories) {
    const std::pair<Steps, Steps>* last = nullptr;  // neighbouring bytes mostly have the same users
    for (const auto& users : bytes) {
      if (last != nullptr && *last == users) continue;
      last = &users;
      REQUIRE(are_ordered(users.first, users.second));
    }
  }
}

/// A random order of steps that the schedule allows.
std::vector<std::uint32_t> some_order(Random& random, const std::vector<Task>& tasks, const Schedule& schedule) {
  const StepOrder order(tasks, schedule);
  std::vector<std::uint32_t> left(tasks.size()), result;
  for (std::uint32_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    random.shuffle(left);
    const auto next = std::find_if(left.begin(), left.end(), [&](std::uint32_t task) {
      return std::none_of(left.begin(), left.end(), [&](std::uint32_t other) { return order.precedes(other, task); });
    });
    REQUIRE(next != left.end());
    result.push_back(*next);
    left.erase(next);
  }
  return result;
}

struct Counts {
  std::size_t plans = 0, schedules = 0;
  std::int64_t planned_bytes = 0, arena_bytes = 0;
};

/// Checks in NHWC that parts of the channels are aligned as kernels expect.
void check_places(const DeviceSteps& steps) {
  const auto check_all = [](const std::vector<cost::Call::Operand>& operands,
                            const std::vector<gpu::Binding>& bindings) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const cost::Call::Operand& operand = operands[i];
      if (operand.extents.size() < 3 || operand.strides[1] != 1 || cost::is_dense(operand.extents, operand.strides))
        continue;
      CHECK(bindings[i].offset % gpu::kernels::alignment_of(operand) == 0);
    }
  };
  for (const DeviceSteps::Step& step : steps.steps) {
    if (step.host) continue;
    check_all(step.call.read, step.read);
    check_all(step.call.written, step.written);
  }
}

/// Checks that a second program with the weights of the first brings none, and computes the same.
void check_sharing(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& laid, cost::Precision precision,
                   const Execution& first, const std::vector<std::vector<std::byte>>& inputs,
                   const std::vector<std::vector<std::byte>>& outputs) {
  KnownWeights known;
  auto block = std::make_shared<const HostWeights>(first.steps.weights);
  known.add(graph.pool, first.new_weights, block);
  const Execution second = make_execution(view, graph, laid, precision, usual_lanes, &known);
  CHECK(second.steps.weights.empty());
  CHECK(second.new_weights.empty());
  REQUIRE(run_on_host(second.steps, inputs) == outputs);
  const bool has_weights = !first.steps.weights.empty();
  CHECK(second.steps.shared_weights.size() == (has_weights ? 1 : 0));
  // Half of them, in a block whose start is something else.
  std::vector<KnownWeights::Placed> half(first.new_weights.begin(),
                                         first.new_weights.begin() + first.new_weights.size() / 2);
  constexpr std::int64_t shift = 256;
  std::vector<std::byte> shifted(shift);
  shifted.insert(shifted.end(), first.steps.weights.begin(), first.steps.weights.end());
  for (KnownWeights::Placed& one : half) one.offset += shift;
  KnownWeights some;
  const auto moved = std::make_shared<const HostWeights>(shifted);
  some.add(graph.pool, half, moved);
  const Execution third = make_execution(view, graph, laid, precision, usual_lanes, &some);
  CHECK(third.new_weights.size() == first.new_weights.size() - half.size());
  REQUIRE(run_on_host(third.steps, inputs) == outputs);
}

void check_execution(const Graph& graph, Random& random, cost::Precision precision, double tolerance,
                     Counts* counts = nullptr) {
  std::vector<Array> inputs;
  for (const Value& input : graph.inputs)
    inputs.push_back(random_array(random, input.type().element, *static_extents(input.shape())));
  std::vector<Array> expected;
  try {
    expected = runtime::interpret(graph, inputs);
  } catch (const InputError&) {
    return;  // an operator that does not run
  }
  for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
    const cost::WholeGraph view(graph, {}, layout);
    const cost::Plan laid = cost::plan(view, cost::Roofline());
    const Execution execution = make_execution(view, graph, laid, precision);
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      bytes.push_back(view.find(graph.inputs[i]) == cost::no_plan_value ? std::vector<std::byte>()
                                                                        : to_device(inputs[i], precision));
    INFO(text_of(graph) << "\n" << cost::text_of(laid, view));
    if (precision == cost::Precision::fp32 && layout == cost::Layout::channels_last) check_places(execution.steps);
    const auto outputs = run_on_host(execution.steps, bytes);
    REQUIRE(outputs.size() == expected.size());
    check_sharing(view, graph, laid, precision, execution, bytes, outputs);
    for (const Schedule& schedule : execution.steps.schedules) {
      check_hazards(execution.steps, execution.tasks, schedule);
      // Bit by bit: the same steps on the same numbers.
      for (int round = 0; round < 3; ++round)
        REQUIRE(run_on_host(execution.steps, bytes, some_order(random, execution.tasks, schedule)) == outputs);
    }
    const Outlook outlook = look_ahead(view, graph, laid, precision);
    // The best expected schedule, if it is better than the sequential one.
    Outlook best{1, one_after_the_other(execution.tasks).predicted};
    CHECK(outlook.sequential == best.cost);
    CHECK((outlook.copies > 0) == (execution.tasks.size() > execution.plan_steps.size()));
    for (const Schedule& schedule : execution.steps.schedules)
      if (schedule.expected < best.cost) best = {schedule.lanes, schedule.expected};
    CHECK(outlook.lanes == best.lanes);
    CHECK(outlook.cost == best.cost);
    if (counts != nullptr) {
      ++counts->plans;
      counts->schedules += execution.steps.schedules.size();
      counts->planned_bytes += laid.arena_bytes;
      counts->arena_bytes += execution.steps.arena_bytes;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      INFO(text_of(graph) << "\n"
                          << cost::text_of(laid, view) << "output " << i
                          << (layout == cost::Layout::channels_last ? " last" : ""));
      REQUIRE(is_near(from_device(outputs[i], expected[i].type(), expected[i].extents(), precision), expected[i],
                      tolerance));
    }
  }
}

/// Attention as PyTorch exports it for grouped heads: keys and values of a past and of new tokens, each head repeated.
Graph grouped_attention(std::int64_t batch, std::int64_t tokens, std::int64_t key_heads, bool has_past) {
  constexpr std::int64_t heads = 8, width = 16;
  const std::int64_t past = has_past ? 70 : 0, keys = past + tokens, each = heads / key_heads;
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const auto input = [&](const std::string& name, const Extents& extents) {
    graph.inputs.push_back(pool.input(name, {ElementType::float32, shape_of(extents)}));
    return graph.inputs.back();
  };
  const auto constant = [&](const char* name, Array array) {
    const Type type{array.type(), shape_of(array.extents())};
    return pool.constant(name, type, std::make_shared<HeldWeight>(std::move(array)));
  };
  const auto split_heads = [&](const Value& x, std::int64_t many) {
    return pool.apply(op::Transpose{{0, 2, 1, 3}},
                      {pool.apply(op::Reshape{shape_of({batch, tokens, many, width})}, {x})});
  };
  const Value target = constant("target", Array::of<std::int64_t>({5}, {batch, key_heads, each, keys, width}));
  const auto grown = [&](const std::string& name) {
    Value x = split_heads(input(name, {batch, tokens, key_heads * width}), key_heads);
    if (has_past) {
      x = pool.apply(op::Concat{2}, {input("past_" + name, {batch, key_heads, past, width}), x});
      graph.outputs.push_back(x);
    }
    const Value apart = pool.apply(op::Reshape{shape_of({batch, key_heads, 1, keys, width})}, {x});
    const Value many =
        apply_plain(pool, plain("Expand"), {ElementType::float32, shape_of({batch, key_heads, each, keys, width})},
                    {apart, target});
    return pool.apply(op::Reshape{shape_of({batch, heads, keys, width})}, {many});
  };
  const Value query = split_heads(input("query", {batch, tokens, heads * width}), heads), key = grown("key");
  const Value scale = constant("scale", Array::scalar(0.5F));
  const Value turned = pool.apply(op::Mul{}, {pool.apply(op::Transpose{{0, 1, 3, 2}}, {key}), scale});
  Random random(3);
  const Value mask = constant("mask", random_array(random, ElementType::float32, {1, heads, tokens, keys}));
  const Value scores = pool.apply(op::Add{}, {pool.apply(op::MatMul{}, {query, turned}), mask});
  const Value sums = pool.apply(op::MatMul{}, {pool.apply(op::Softmax{3}, {scores}), grown("value")});
  graph.outputs.push_back(pool.apply(op::Reshape{shape_of({batch, tokens, heads * width})},
                                     {pool.apply(op::Transpose{{0, 2, 1, 3}}, {sums})}));
  return graph;
}

/// A body that takes rows, or casts, and declares this movement.
class Mover : public OpaqueBody {
 public:
  Mover(PlainMovement movement, ElementType element) : movement_(movement), element_(element) {}
  std::string obstacle() const override { return ""; }
  std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const override {
    if (movement_.kind == PlainMovement::Kind::cast) return {inputs[0]->cast(element_)};
    if (movement_.kind == PlainMovement::Kind::expand) return {};
    const std::vector<double> data = inputs[0]->doubles();
    std::vector<float> rows;  // of a matrix
    const std::int64_t length = inputs[0]->extents()[0], width = inputs[0]->extents()[1];
    for (std::int64_t index : inputs[1]->integers())
      for (std::int64_t i = 0; i < width; ++i)
        rows.push_back(static_cast<float>(data[static_cast<std::size_t>((index + length) % length * width + i)]));
    return {Array::of<float>({inputs[1]->size(), width}, rows)};
  }
  bool same(const OpaqueBody& other) const override { return this == &other; }
  std::optional<PlainMovement> movement() const override { return movement_; }

 private:
  PlainMovement movement_;
  ElementType element_;
};

/// A body that cannot run, or that has a result of unknown size.
class Obstructed : public Mover {
 public:
  explicit Obstructed(std::string obstacle) : Mover({}, ElementType::float32), obstacle_(std::move(obstacle)) {}
  std::string obstacle() const override { return obstacle_; }
  std::optional<PlainMovement> movement() const override { return std::nullopt; }

 private:
  std::string obstacle_;
};

}  // namespace

TEST_CASE("moves and casts need no host, modelled or not") {
  for (const ElementType index_type : {ElementType::int32, ElementType::int64}) {
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    Pool& pool = *graph.pool;
    const Value data = pool.input("data", {ElementType::float32, shape_of({5, 4})});
    const Value indices = pool.input("indices", {index_type, shape_of({3})});
    graph.inputs = {data, indices};
    const Type rows{ElementType::float32, shape_of({3, 4})}, numbers{ElementType::float32, shape_of({3})};
    const Value cast =
        pool.add_opaque({"Cast", 0, {numbers}, std::make_shared<Mover>(PlainMovement{}, ElementType::float32)},
                        std::vector{indices})
            .output();
    const Value gathered =
        pool.add_opaque({"Gather",
                         0,
                         {rows},
                         std::make_shared<Mover>(PlainMovement{PlainMovement::Kind::gather, -2}, ElementType::float32)},
                        std::vector{pool.apply(op::Relu{}, {data}), indices})
            .output();
    const Type repeated{ElementType::float32, shape_of({2, 3, 2})};
    const Value column = pool.apply(op::Reshape{shape_of({3, 1})}, {cast});
    const Value expanded =
        pool.add_opaque({"Expand",
                         0,
                         {repeated},
                         std::make_shared<Mover>(PlainMovement{PlainMovement::Kind::expand, 0}, ElementType::float32)},
                        std::vector{column, indices})
            .output();
    graph.outputs = {pool.apply(op::Relu{}, {gathered}), pool.apply(op::Relu{}, {cast}), expanded};
    const cost::WholeGraph view(graph);
    const cost::Plan laid = cost::plan(view, cost::Roofline());
    const Execution execution = make_execution(view, graph, laid, cost::Precision::fp32);
    CHECK(execution.on_host.empty());
    const std::vector<Array> inputs{
        Array::of<float>({5, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}),
        Array::of<std::int64_t>({3}, {4, -5, 1}).cast(index_type)};
    const auto outputs = run_on_host(
        execution.steps, {to_device(inputs[0], cost::Precision::fp32), to_device(inputs[1], cost::Precision::fp32)});
    CHECK(from_device(outputs[0], ElementType::float32, {3, 4}, cost::Precision::fp32).doubles() ==
          std::vector<double>{16, 17, 18, 19, 0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(from_device(outputs[1], ElementType::float32, {3}, cost::Precision::fp32).doubles() ==
          std::vector<double>{4, 0, 1});
    CHECK(from_device(outputs[2], ElementType::float32, {2, 3, 2}, cost::Precision::fp32).doubles() ==
          std::vector<double>{4, 4, -5, -5, 1, 1, 4, 4, -5, -5, 1, 1});
    const std::vector<Lowering> ways = lowerings(execution.steps.steps[1].call);
    CHECK(ways.size() == 1);
  }
}

TEST_CASE("values that depend on constants only are computed once, also by opaque operators") {
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const auto constant = [&](const char* name, Array array) {
    const Type type{array.type(), shape_of(array.extents())};
    return pool.constant(name, type, std::make_shared<HeldWeight>(std::move(array)));
  };
  const Type type{ElementType::float32, shape_of({2, 3})};
  const Value few = constant("few", Array::of<std::int8_t>({2, 3}, {-128, 0, 127, 1, 2, 3}));
  const Value scale = constant("scale", Array::scalar(0.5F)), zero = constant("zero", Array::scalar(std::int8_t{2}));
  const PlainFunction function = plain("DequantizeLinear", 1);
  const Value x = pool.input("x", type);
  graph.inputs = {x};
  graph.outputs = {pool.apply(op::Add{}, {x, apply_plain(pool, function, type, {few, scale, zero})})};
  const cost::WholeGraph view(graph);
  const cost::Plan laid = cost::plan(view, cost::Roofline());
  REQUIRE(laid.steps.size() == 1);
  const Execution execution = make_execution(view, graph, laid, cost::Precision::fp32);
  const auto outputs =
      run_on_host(execution.steps, {to_device(Array::of<float>({2, 3}, {1, 1, 1, 1, 1, 1}), cost::Precision::fp32)});
  CHECK(from_device(outputs[0], ElementType::float32, {2, 3}, cost::Precision::fp32).doubles() ==
        std::vector<double>{-64, 0, 63.5, 0.5, 1, 1.5});

  /// A body with another result each time.
  class Dice : public PlainBody {
   public:
    using PlainBody::PlainBody;
    bool is_deterministic() const override { return false; }
  };
  const Value drawn =
      pool.add_opaque({"Dice", 0, {type}, std::make_shared<Dice>(function)}, std::vector{few, scale}).output();
  graph.outputs = {pool.apply(op::Add{}, {x, drawn})};
  CHECK(cost::plan(cost::WholeGraph(graph), cost::Roofline()).steps.size() == 2);
}

TEST_CASE("programs compute the meaning of the graph, in either layout, also concurrently") {
  Counts counts;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    INFO("seed " << seed);
    const Graph graph = random_plan_graph(random, 1 + static_cast<std::int64_t>(seed % 2), 4 + seed % 40);
    check_execution(graph, random, cost::Precision::fp32, 1e-4, &counts);
  }
  CHECK(counts.schedules > counts.plans);
  CHECK(counts.arena_bytes < 2 * counts.planned_bytes);
}

TEST_CASE("heads that share keys and values read them in place") {
  for (const std::int64_t batch : {1, 2})
    for (const std::int64_t tokens : {1, 3})
      for (const std::int64_t key_heads : {1, 2, 4})
        for (const bool has_past : {false, true}) {
          INFO(batch << " examples, " << tokens << " tokens, " << key_heads << " heads of keys"
                     << (has_past ? ", past" : ""));
          const Graph graph = grouped_attention(batch, tokens, key_heads, has_past);
          Random random(5);
          check_execution(graph, random, cost::Precision::fp32, 1e-4);
          const cost::WholeGraph view(graph);
          for (const cost::Kernel& kernel : cost::kernels_of(view)) {
            CHECK(kernel.kind != cost::Kernel::Kind::opaque);  // no Expand
            if (kernel.kind != cost::Kernel::Kind::attention) continue;
            const cost::Call call = cost::call_of(view, kernel, cost::Precision::fp32).call;
            INFO(cost::text_of(call));
            const std::vector<Lowering> ways = lowerings(call);
            CHECK(ways.at(0).name.starts_with("attention"));
          }
        }
}

TEST_CASE("corrections are written over the corrected value in any order that a schedule allows") {
  Counts counts;
  for (const Corrected what : all_corrected)
    for (const std::int64_t batch : {1, 2}) {
      Random random(static_cast<std::uint64_t>(batch));
      check_execution(corrected_graph(batch, what), random, cost::Precision::fp32, 1e-4, &counts);
    }
  CHECK(counts.schedules > 0);
}

TEST_CASE("graphs over all operators run step by step") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    INFO("seed " << seed);
    RandomGraphOptions options;
    options.nodes = 4 + seed % 12;
    options.most_elements = 2000;
    check_execution(RandomGraph(seed, options).make(), random, cost::Precision::fp32, 1e-4);
  }
}

TEST_CASE("half precision is stored in half of the bytes") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    INFO("seed " << seed);
    const Graph graph = random_plan_graph(random, 1, 3);
    check_execution(graph, random, cost::Precision::fp16, 0.02);
  }
}

TEST_CASE("equal kernels of different graphs are one call") {
  Random random(7);
  std::set<std::string> texts;
  for (int shift = 0; shift < 2; ++shift) {
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    Pool& pool = *graph.pool;
    const Type type{ElementType::float32, shape_of({1, 4, 8, 8})};
    const Value x = pool.input("x", type), other = pool.input("other", type);
    Value value = x;
    if (shift == 1) value = pool.apply(op::MaxPool{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, {other});
    const Value weight = pool.constant(shift == 0 ? "a" : "b", {ElementType::float32, shape_of({4, 4, 3, 3})});
    value = pool.apply(op::Conv{{1, 1}, {1, 1}, {1, 1, 1, 1}, 1}, {value, weight});
    value = pool.apply(op::Relu{}, {pool.apply(op::Add{}, {value, x})});
    graph.inputs = {x, other};
    graph.outputs = {value};
    const cost::WholeGraph view(graph);
    for (const cost::Plan::Step& step : cost::plan(view, cost::Roofline()).steps)
      if (step.kernel.kind == cost::Kernel::Kind::convolution)
        texts.insert(cost::text_of(cost::call_of(view, step.kernel, cost::Precision::tf32).call));
  }
  // In one of them, the residual is the convolution's own input.
  CHECK(texts == std::set<std::string>{
                     "convolution tf32: float32[1,4,8,8] *float32[4,4,3,3] -> float32[1,4,8,8]: "
                     "conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=1](0,1) add(2,0) relu(3)",
                     "convolution tf32: float32[1,4,8,8] *float32[4,4,3,3] float32[1,4,8,8] -> float32[1,4,8,8]: "
                     "conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=1](0,1) add(3,2) relu(4)"});
}

TEST_CASE("weights are known as long as their graph and their memory exist") {
  const auto pool = std::make_shared<Pool>();
  const KnownWeights::Weight weight{
      pool->input("x", {ElementType::float32, shape_of({2})}), ElementType::float32, {2}, {1}};
  KnownWeights::Weight other_strides = weight, rounded = weight;
  other_strides.strides = {2};
  rounded.stored = ElementType::float16;
  auto block = std::make_shared<const HostWeights>(std::vector<std::byte>(64));
  KnownWeights known;
  CHECK_FALSE(known.find(pool, weight));
  known.add(pool, {{weight, 32}}, block);
  REQUIRE(known.find(pool, weight));
  CHECK(known.find(pool, weight)->block == block);
  CHECK(known.find(pool, weight)->offset == 32);
  CHECK_FALSE(known.find(pool, other_strides));
  CHECK_FALSE(known.find(pool, rounded));
  CHECK_FALSE(known.find(std::make_shared<Pool>(), weight));  // its nodes might get the same addresses
  block.reset();
  CHECK_FALSE(known.find(pool, weight));
  known.add(pool, {{weight, 0}}, nullptr);  // a device that shares nothing
  CHECK_FALSE(known.find(pool, weight));
}

TEST_CASE("a result without a size is refused, with what it would be computed from or why it cannot be") {
  const auto refusal = [](const std::string& obstacle, std::size_t operands) {
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    const Value wide = graph.pool->input("wide", {ElementType::float32, shape_of({1, 32, 4, 4})});
    const Value narrow = graph.pool->input("narrow", {ElementType::float32, shape_of({32})});
    graph.inputs = {wide, narrow};
    std::vector<Value> read(operands, narrow);
    if (operands > 0) read[0] = wide;
    Opaque opaque{"Odd", 0, {Type{ElementType::float32, std::nullopt}}, std::make_shared<Obstructed>(obstacle)};
    graph.outputs = {graph.pool->add_opaque(std::move(opaque), read).output()};
    const cost::WholeGraph view(graph);
    try {
      make_execution(view, graph, cost::plan(view, cost::Roofline()), cost::Precision::fp32);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string before = "cannot run: the size of a result of ", unknown = " is not known before run time";
  CHECK(refusal("", 0) == before + "Odd" + unknown);
  CHECK(refusal("", 2) == before + "Odd (of float32[1, 32, 4, 4], float32[32])" + unknown);
  CHECK(refusal("", 9) == before + "Odd (of float32[1, 32, 4, 4], float32[32], float32[32], float32[32], …)" + unknown);
  CHECK(refusal("control flow", 2) == "cannot run Odd: control flow");
}

}  // namespace taso::test
