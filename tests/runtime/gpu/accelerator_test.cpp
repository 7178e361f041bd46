// Compares what the GPU computes, with every variant, with the meaning of the operators in float64. Skipped without a
// GPU.
#include "runtime/gpu/accelerator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "cost/plan/plan.h"
#include "cost/pricing/roofline.h"
#include "runtime/gpu/device.h"
#include "runtime/gpu/execution.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/cost/corrected_graph.h"
#include "tests/ops/random_graph.h"
#include "tests/runtime/gpu/call_on_host.h"
#include "tests/runtime/gpu/source_calls.h"
#include "tests/runtime/gpu/source_check.h"

namespace taso::test {

using namespace gpu;

namespace {

/// Null, with a message by which ctest recognises skipped tests, if there is no GPU.
Accelerator* gpu() {
  static std::string trouble;
  static const std::unique_ptr<Accelerator> opened = open_accelerator(trouble);
  if (!opened) WARN("SKIPPED: " << trouble);
  return opened.get();
}

double tolerance(cost::Precision precision) {
  switch (precision) {
    case cost::Precision::fp32: return 1e-5;
    case cost::Precision::tf32: return 2e-3;
    case cost::Precision::fp16: return 4e-3;
    default: return 3e-2;
  }
}

/// A call under construction: operands first, then steps.
struct CallBuilder {
  cost::Call call;
  ElementType element;

  CallBuilder(cost::Kernel::Kind kind, cost::Precision precision)
      : element(cost::stored(ElementType::float32, precision)) {
    call.kind = kind;
    call.precision = precision == cost::Precision::tf32 ? cost::Precision::tf32 : cost::Precision::fp32;
  }
  std::uint32_t read(const Extents& extents, const cost::Strides& strides, bool is_weight = false) {
    call.read.push_back({element, extents, strides, is_weight});
    return static_cast<std::uint32_t>(call.read.size() - 1);
  }
  /// All operands must have been added before.
  std::uint32_t step(Operator op, std::vector<std::uint32_t> operands) {
    const auto result = static_cast<std::uint32_t>(call.read.size() + call.steps.size());
    call.steps.push_back({std::move(op), std::move(operands), result});
    return result;
  }
  cost::Call finish(std::uint32_t result, const Extents& extents, const cost::Strides& strides) {
    call.written.push_back({element, extents, strides, false});
    call.results = {result};
    return call;
  }
};

/// Applies one activation or none.
std::uint32_t activated(CallBuilder& builder, Random& random, std::uint32_t value) {
  const auto gelu = [](bool tanh) {
    op::Gelu made;
    made.tanh = tanh;
    return made;
  };
  const auto clip = [](double low, double high) {
    op::Clip made;
    made.low = low;
    made.high = high;
    return made;
  };
  op::LeakyRelu leaky;
  leaky.alpha = 0.25;
  const std::vector<Operator> functions{op::Relu{}, op::Relu{}, op::Sigmoid{}, gelu(false),      gelu(true),
                                        clip(0, 6), leaky,      op::Tanh{},    clip(-0.5, 0.25), op::Erf{}};
  return random.chance(0.25) ? value : builder.step(random.pick(functions), {value});
}

/// Combines the value with another; in most cases adds it.
std::uint32_t joined(CallBuilder& builder, Random& random, std::uint32_t value, std::uint32_t other) {
  const Operator how =
      random.chance(0.6) ? op::Add{} : random.pick(std::vector<Operator>{op::Sub{}, op::Mul{}, op::Max{}, op::Min{}});
  return builder.step(how, random.chance(0.7) ? std::vector{value, other} : std::vector{other, value});
}

cost::Call random_convolution(Random& random, cost::Precision precision) {
  CallBuilder builder(cost::Kernel::Kind::convolution, precision);
  const std::size_t rank = random.chance(0.7) ? 2 : random.chance(0.5) ? 1 : 3;
  const cost::Layout layout = random.chance(0.5) ? cost::Layout::channels_last : cost::Layout::channels_first;
  op::Conv conv;
  conv.groups = random.pick(std::vector<std::int64_t>{1, 1, 1, 2, 4, 8});
  const bool is_depthwise = conv.groups == 8;
  const std::int64_t in_group = is_depthwise ? 1 : random.pick(std::vector<std::int64_t>{3, 4, 8, 16});
  const std::int64_t out_group = is_depthwise ? 1 : random.pick(std::vector<std::int64_t>{4, 5, 8, 16});
  Extents x{random.between(1, 3), in_group * conv.groups}, w{out_group * conv.groups, in_group}, y{x[0], w[0]};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    w.push_back(random.between(1, 3));
    conv.strides.push_back(random.between(1, 2));
    conv.dilations.push_back(random.chance(0.2) ? 2 : 1);
    x.push_back(random.chance(0.15) ? conv.dilations.back() * (w.back() - 1) + 1  // leaves one place
                                    : random.between(6, rank == 3 ? 9 : 20));
  }
  conv.pads.resize(2 * rank);
  const bool is_even = random.chance(0.6);  // the same before and after
  for (std::size_t axis = 0; axis < rank; ++axis) {
    conv.pads[axis] = random.between(0, w[2 + axis] / 2);
    conv.pads[rank + axis] = is_even ? conv.pads[axis] : random.between(0, 1);
    const std::int64_t reach = conv.dilations[axis] * (w[2 + axis] - 1) + 1;
    y.push_back((x[2 + axis] + conv.pads[axis] + conv.pads[rank + axis] - reach) / conv.strides[axis] + 1);
  }
  const auto placed = [&](Extents extents) {
    // In NHWC, a part of the channels of a larger tensor.
    if (layout == cost::Layout::channels_last && random.chance(0.3))
      extents[1] += random.pick(std::vector<std::int64_t>{2, 8, 16});
    return cost::packed(extents, layout);
  };
  const cost::Strides y_strides = placed(y);
  const std::uint32_t from = builder.read(x, placed(x)), weight = builder.read(w, cost::packed(w, layout), true);
  std::vector<std::uint32_t> operands{from, weight};
  if (random.chance(0.7)) operands.push_back(builder.read({w[0]}, {1}, true));
  const bool has_residual = random.chance(0.3);
  std::uint32_t residual = 0;
  if (has_residual) residual = builder.read(y, y_strides);
  // In NCHW, a part of a concat.
  cost::Strides written = y_strides;
  if (layout == cost::Layout::channels_first && y[0] > 1 && random.chance(0.3)) written[0] += 2 * written[1];
  std::uint32_t value = builder.step(conv, operands);
  if (has_residual) value = joined(builder, random, value, residual);
  value = activated(builder, random, value);
  return builder.finish(value, y, written);
}

cost::Call random_matmul(Random& random, cost::Precision precision) {
  CallBuilder builder(cost::Kernel::Kind::matmul, precision);
  const std::vector<std::int64_t> sizes{1, 4, 16, 17, 32, 64, 100};
  const std::int64_t rows = random.pick(sizes), depth = random.pick(sizes), columns = random.pick(sizes);
  Extents batch;
  for (std::size_t i = random.below(3); i > 0; --i) batch.push_back(random.between(1, 4));
  const auto matrix = [&](std::int64_t height, std::int64_t width) {
    Extents extents = batch;
    extents.push_back(height);
    extents.push_back(width);
    return extents;
  };
  const auto lying = [&](const Extents& extents) {  // in either orientation, perhaps as a part of a wider matrix
    const std::size_t rank = extents.size();
    Extents whole = extents;
    if (random.chance(0.2)) whole[rank - 1] += random.pick(std::vector<std::int64_t>{1, 4, 16});
    cost::Strides strides = strides_of(whole);
    if (whole != extents) return strides;
    if (random.chance(0.3)) {
      strides[rank - 2] = 1;
      strides[rank - 1] = extents[rank - 2];
    }
    return strides;
  };
  const Extents a = matrix(rows, depth), y = matrix(rows, columns);
  Extents b = matrix(depth, columns);
  const bool is_weight = random.chance(0.5);
  if (is_weight) b = {depth, columns};
  const std::uint32_t left = builder.read(a, lying(a)), right = builder.read(b, lying(b), is_weight);
  std::optional<std::uint32_t> bias, residual;
  if (random.chance(0.6)) bias = builder.read({columns}, {1}, true);
  if (random.chance(0.3)) residual = builder.read(y, strides_of(y));
  std::uint32_t value = builder.step(op::MatMul{}, {left, right});
  const bool is_residual_last = random.chance(0.3);
  if (bias) value = builder.step(op::Add{}, {value, *bias});
  if (residual && !is_residual_last) value = joined(builder, random, value, *residual);
  value = activated(builder, random, value);
  if (residual && is_residual_last) value = joined(builder, random, value, *residual);
  return builder.finish(value, y, strides_of(y));
}

double distance(const Array& found, const Array& expected) {
  const auto a = found.doubles(), b = expected.doubles();
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i])) norm += b[i] * b[i];
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    error += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return norm == 0 ? std::sqrt(error) : std::sqrt(error / norm);  // NaN stays NaN
}

/// From 0.5 on, or from 1 on for integers.
void make_positive(Array& data) {
  with_element_type(data.type(), [&](auto sample) {
    using T = decltype(sample);
    for (T& value : data.mutable_values<T>()) {
      if constexpr (std::is_same_v<T, bool>)
        value = true;
      else if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(1 + (value < 0 ? -value : value) % 5);
      else
        value = T(0.5F + std::abs(static_cast<float>(value)));
    }
  });
}

/// A call to be run with some variant, on random numbers.
struct Trial {
  cost::Call call;
  std::string choice;  ///< empty: any
  Random random;
  std::vector<bool> is_positive;  ///< see RandomCall
  std::vector<std::uint32_t> masks = {};
};

/// The operands of a call, and its expected results.
class Expected {
 public:
  explicit Expected(Trial& trial) : call_(trial.call) {
    for (const cost::Call::Operand& operand : call_.read) {
      const auto elements = span_bytes(operand) / static_cast<std::int64_t>(size_of(operand.element));
      Array data = random_array(trial.random, operand.element, {elements});
      if (inputs_.size() < trial.is_positive.size() && trial.is_positive[inputs_.size()]) make_positive(data);
      if (std::find(trial.masks.begin(), trial.masks.end(), inputs_.size()) != trial.masks.end())
        fill_mask(trial.random, operand, data.mutable_data());
      inputs_.emplace_back(data.bytes());
      std::copy_n(data.data(), data.bytes(), inputs_.back().begin());
    }
    for (const cost::Call::Operand& operand : call_.written) {
      written_.emplace_back(static_cast<std::size_t>(span_bytes(operand)));
      // Copies of pieces may leave places unwritten; comparing with the previous content finds these.
      if (!call_.pieces.empty())
        written_elsewhere_.emplace_back(static_cast<std::size_t>(span_bytes(operand)), std::byte{1});
    }
    std::vector<const std::byte*> from;
    for (const auto& input : inputs_) from.push_back(input.data());
    for (auto* const outputs : {&written_, &written_elsewhere_}) {
      if (outputs->empty()) continue;
      std::vector<std::byte*> to;
      for (auto& output : *outputs) to.push_back(output.data());
      run_on_host(call_, from, to);
    }
  }

  const std::vector<std::vector<std::byte>>& inputs() const { return inputs_; }
  double distance_to(std::span<std::vector<std::byte>> outputs) const {
    double worst = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      for (std::size_t byte = 0; !written_elsewhere_.empty() && byte < outputs[i].size(); ++byte)
        if (written_[i][byte] != written_elsewhere_[i][byte]) outputs[i][byte] = written_[i][byte];
      const double error =
          distance(gathered(call_.written[i], outputs[i].data()), gathered(call_.written[i], written_[i].data()));
      if (!(error <= worst)) worst = error;
    }
    return worst;
  }

 private:
  const cost::Call& call_;
  std::vector<std::vector<std::byte>> inputs_, written_, written_elsewhere_;
};

struct Outcome {
  std::string choice;  ///< the variant used
  double error = 0;    ///< the distance between the computed and the expected result
};

/// Runs all trials in one program, so that their kernels are compiled in parallel.
std::vector<Outcome> outcomes_of(Accelerator& device, std::span<Trial> trials) {
  DeviceSteps steps;
  std::vector<Expected> expected;
  std::vector<std::span<const std::byte>> inputs;
  expected.reserve(trials.size());  // the program keeps pointers to these
  for (Trial& trial : trials) {
    const Expected& one = expected.emplace_back(trial);
    DeviceSteps::Step step;
    step.call = trial.call;
    step.choice = trial.choice;
    for (const auto& input : one.inputs()) {
      step.read.push_back({gpu::Binding::Place::input, static_cast<std::uint32_t>(inputs.size()), 0});
      inputs.emplace_back(input);
      steps.input_bytes.push_back(static_cast<std::int64_t>(input.size()));
    }
    for (const cost::Call::Operand& operand : trial.call.written) {
      step.written.push_back({gpu::Binding::Place::output, static_cast<std::uint32_t>(steps.output_bytes.size()), 0});
      steps.output_bytes.push_back(span_bytes(operand));
    }
    steps.steps.push_back(std::move(step));
  }
  const std::unique_ptr<DeviceProgram> program = device.load(std::move(steps));
  std::vector<Outcome> outcomes;
  for (const std::string& choice : program->choices()) outcomes.push_back({choice, 0});
  for (int run = 0; run < 2; ++run) {  // results must be repeatable
    auto outputs = program->run(inputs);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const std::size_t count = trials[i].call.written.size();
      const double error = expected[i].distance_to(std::span(outputs).subspan(begin, count));
      if (!(error <= outcomes[i].error)) outcomes[i].error = error;
      begin += count;
    }
  }
  return outcomes;
}

double error_of(Accelerator& device, const cost::Call& call, const std::string& choice, const Random& random) {
  Trial trial{call, choice, random, {}};
  const Outcome outcome = outcomes_of(device, {&trial, 1}).front();
  if (!choice.empty()) CHECK(outcome.choice == choice);
  return outcome.error;
}

/// The variants in which one kernel of ours does the whole call.
std::vector<std::string> own_ways(const cost::Call& call) {
  std::vector<std::string> ways;
  for (const Lowering& lowering : lowerings(call))
    if (lowering.launches.size() == 1 && std::holds_alternative<SourceLaunch>(lowering.launches.front()))
      ways.push_back(lowering.name + ": own");
  return ways;
}

/// TASO_TEST_PATIENCE: the share of the usual time, for GPUs that are rented by the second.
double patience_asked_for() {
  const char* const text = std::getenv("TASO_TEST_PATIENCE");
  return text == nullptr ? 1 : std::atof(text);
}

/// TASO_TEST_SEED: the first call, to return to one that failed.
std::uint64_t first_seed() {
  const char* const text = std::getenv("TASO_TEST_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// How long a check may go on; the first calls are always the same.
struct Patience {
  std::uint64_t calls = 0;  ///< at most this many
  double seconds = 0;       ///< no further call after this time
  std::uint64_t least = 20;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  bool goes_on(std::uint64_t done) const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return done < calls && (done < least || spent.count() < seconds * patience_asked_for());
  }
};

double allowed_error(const cost::Call& call) {
  double allowed = 1e-5;
  for (const auto* list : {&call.read, &call.written})
    for (const cost::Call::Operand& operand : *list)
      allowed = std::max(allowed, operand.element == ElementType::bfloat16  ? 1e-2
                                  : operand.element == ElementType::float16 ? 2e-3
                                                                            : 0);
  if (call.precision == cost::Precision::tf32)  // functions after a product may amplify its rounding
    allowed = call.steps.size() > 1 ? 2e-2 : 1e-3;
  return allowed;
}

/// `least`: the share of random calls that a kernel of ours supports.
void check_own_kernels(const char* name, RandomCall (*make)(Random&), const Patience& patience, double least = 0.5) {
  Accelerator* const device = gpu();
  if (device == nullptr) return;
  constexpr std::uint64_t together = 32;
  std::uint64_t seed = 0, checked = 0;
  while (patience.goes_on(seed)) {
    std::vector<Trial> trials;
    for (const std::uint64_t end = std::min(seed + together, patience.calls); seed < end; ++seed) {
      Random random(first_seed() + seed);
      RandomCall made = make(random);
      const std::vector<std::string> ways = own_ways(made.call);
      const cost::Kernel::Kind kind = made.call.kind;
      if (!cost::has_products(kind)) REQUIRE_FALSE(ways.empty());
      if (ways.empty()) continue;  // some products are for libraries only
      if (kind == cost::Kernel::Kind::copy && seed % 10 == 0) CHECK(device->measure(made.call).trouble.empty());
      const std::string& way = random.pick(ways);
      trials.push_back({std::move(made.call), way, random, std::move(made.is_positive), std::move(made.masks)});
    }
    INFO(name << ", the last " << trials.size() << " before seed " << first_seed() + seed);
    std::vector<Outcome> outcomes;
    REQUIRE_NOTHROW(outcomes = outcomes_of(*device, trials));
    for (std::size_t i = 0; i < trials.size(); ++i) {
      INFO(trials[i].choice << ", " << cost::text_of(trials[i].call));
      CHECK(outcomes[i].error <= allowed_error(trials[i].call));
      checked += outcomes[i].choice == trials[i].choice ? 1 : 0;  // older GPUs do not support all variants
    }
  }
  CHECK(static_cast<double>(checked) >= least * static_cast<double>(seed));
  WARN(name << ": " << checked << " configurations checked");
}

/// `is_thorough`: tests the measured winner and `ways_each` of all variants. Otherwise tests `ways_each` of the most
/// promising variants, and for every tenth call the measured winner.
void check_calls(const char* name, cost::Call (*make)(Random&, cost::Precision), std::size_t ways_each,
                 bool is_thorough, const Patience& patience) {
  Accelerator* const device = gpu();
  if (device == nullptr) return;
  std::size_t ways = 0;
  std::uint64_t done = 0;
  for (; patience.goes_on(done); ++done) {
    const std::uint64_t seed = first_seed() + done;
    Random random(seed);
    const cost::Precision precision = static_cast<cost::Precision>(seed % 4);
    const cost::Call call = make(random, precision);
    INFO("seed " << seed << "\n" << cost::text_of(call));
    std::vector<std::string> choices;
    if (is_thorough || seed % 10 == 0) {
      const Measurement best = device->measure(call);
      REQUIRE(best.trouble == "");
      CHECK(best.nanoseconds > 0);
      CHECK(best.warm_nanoseconds > 0);
      choices.push_back(best.choice);
    }
    if (is_thorough) {
      std::vector<Measurement> all = device->measure_all(call);
      random.shuffle(all);
      for (const Measurement& one : all)
        if (one.trouble.empty() && choices.size() < ways_each) choices.push_back(one.choice);
    } else {
      for (std::string& choice : device->ways(call, ways_each)) choices.push_back(std::move(choice));
      REQUIRE(!choices.empty());
    }
    for (const std::string& choice : choices) {
      INFO(choice);
      double error = 0;
      REQUIRE_NOTHROW(error = error_of(*device, call, choice, random));  // stop here: a GPU may not recover
      CHECK(error <= tolerance(precision));
      ++ways;
    }
  }
  WARN(name << ": " << done << " configurations checked, in " << ways << " ways");
}

constexpr std::size_t all_ways = 1000;

constexpr std::pair<const char*, RandomCall (*)(Random&)> own_kinds[] = {
    {"element-wise", random_element_wise},
    {"rows", random_rows},
    {"pooling", random_pooling},
    {"local response norm", random_local_response},
    {"transposed convolution", random_transposed_convolution},
    {"copies", random_copy},
    {"direct convolutions", random_direct_convolution},
    {"depthwise convolutions", random_depthwise_convolution},
    {"products on tensor cores", random_tensor_product},
    {"attention", random_attention}};

}  // namespace

TEST_CASE("without a GPU an accelerator is refused in one line") {
  std::string trouble;
  const std::unique_ptr<Accelerator> opened = open_accelerator(trouble);
  if (opened) {
    CHECK(trouble.empty());
    CHECK_FALSE(opened->device().empty());
    CHECK(opened->versions().starts_with("driver "));
    return;
  }
  CHECK_FALSE(trouble.empty());
  CHECK(trouble.find('\n') == std::string::npos);
}

TEST_CASE("without a module there is no accelerator") {
  setenv("TASO_CUDA_MODULE", "/nonexistent/libtaso_cuda.so", 1);
  std::string trouble;
  CHECK(open_accelerator(trouble) == nullptr);
  CHECK(trouble.find("/nonexistent/libtaso_cuda.so") != std::string::npos);
  unsetenv("TASO_CUDA_MODULE");
}

TEST_CASE("convolutions on the GPU compute what they mean", "[gpu]") {
  check_calls("convolutions", random_convolution, 2, false, {200, 22});
}
TEST_CASE("products on the GPU compute what they mean", "[gpu]") {
  check_calls("products", random_matmul, 3, false, {200, 22});
}
TEST_CASE("convolutions on the GPU compute the same in all ways", "[gpu]") {
  check_calls("convolutions in all ways", random_convolution, all_ways, false, {30, 15, 5});
}
TEST_CASE("products on the GPU compute the same in all ways", "[gpu]") {
  check_calls("products in all ways", random_matmul, all_ways, false, {30, 15, 5});
}
TEST_CASE("kernels of our own on the GPU compute what they mean", "[gpu]") {
  for (const auto& [name, make] : own_kinds) check_own_kernels(name, make, {300, 8});
}
TEST_CASE("products of few rows on the GPU compute what they mean", "[gpu]") {
  check_own_kernels("products of few rows", random_row_product, {300, 8});
}
TEST_CASE("attention on the GPU computes what it means", "[gpu]") {
  check_own_kernels("attention", random_attention, {300, 8}, 0.33);
}
// Hidden tests have other names than the rest, so that patterns for the rest do not select them.
TEST_CASE("many calls on a device compute their meaning", "[.][full]") {
  constexpr double no_end = 1e9;
  check_calls("convolutions", random_convolution, 40, true, {400, no_end});
  check_calls("products", random_matmul, 40, true, {400, no_end});
  for (const auto& [name, make] : own_kinds) check_own_kernels(name, make, {300, no_end});
}
/// For tools that make everything a hundred times slower.
TEST_CASE("a few calls of each kind on a device", "[.][sanitize]") {
  check_calls("convolutions", random_convolution, 1, false, {24, 40, 4});
  check_calls("products", random_matmul, 1, false, {24, 20, 4});
  for (const auto& [name, make] : own_kinds) check_own_kernels(name, make, {12, 8, 3});
}

TEST_CASE("corrected values on the GPU, in either layout and on several streams", "[gpu]") {
  Accelerator* const device = gpu();
  if (device == nullptr) return;
  for (const Corrected what : all_corrected)
    for (const std::int64_t batch : {1, 2})
      for (const cost::Layout layout : cost::layouts)
        for (const std::uint32_t lanes : {1, 4}) {
          const Graph graph = corrected_graph(batch, what);
          const cost::WholeGraph view(graph, {}, layout);
          const cost::Plan plan = cost::plan(view, cost::Roofline());
          Execution execution = make_execution(view, graph, plan, cost::Precision::fp32, lanes);
          Random random(3);
          const Extents extents = *static_extents(graph.inputs[0].shape());
          const Array input = random_array(random, ElementType::float32, extents);
          const std::vector<Array> expected = runtime::interpret(graph, std::vector{input});
          const std::vector<std::byte> bytes = to_device(input, cost::Precision::fp32);
          const std::unique_ptr<DeviceProgram> program = device->load(std::move(execution.steps));
          INFO("batch " << batch << ", " << lanes << " streams\n" << cost::text_of(plan, view));
          // More than once: what an earlier run left in memory must not help or hurt.
          for (int run = 0; run < 3; ++run) {
            const std::span<const std::byte> read(bytes);
            const auto outputs = program->run(std::span(&read, 1));
            for (std::size_t k = 0; k < expected.size(); ++k) {
              const Array found =
                  from_device(outputs[k], ElementType::float32, expected[k].extents(), cost::Precision::fp32);
              const std::vector<double> a = found.doubles(), b = expected[k].doubles();
              double error = 0, norm = 0;
              for (std::size_t i = 0; i < a.size(); ++i) {
                error += (a[i] - b[i]) * (a[i] - b[i]);
                norm += b[i] * b[i];
              }
              CHECK(std::sqrt(error) <= tolerance(cost::Precision::fp32) * std::sqrt(norm));
            }
          }
          CHECK(program->lanes().others.find("different results") == std::string::npos);
        }
}

TEST_CASE("an unknown choice is replaced", "[gpu]") {
  Accelerator* const device = gpu();
  if (device == nullptr) return;
  Random random(1);
  const cost::Call call = random_matmul(random, cost::Precision::fp32);
  DeviceSteps steps;
  DeviceSteps::Step step;
  step.call = call;
  step.choice = "fused: engine 123456";
  for (const cost::Call::Operand& operand : call.read) {
    step.read.push_back({gpu::Binding::Place::input, static_cast<std::uint32_t>(steps.input_bytes.size()), 0});
    steps.input_bytes.push_back(span_bytes(operand));
  }
  step.written.push_back({gpu::Binding::Place::output, 0, 0});
  steps.output_bytes.push_back(span_bytes(call.written[0]));
  steps.steps.push_back(std::move(step));
  const std::unique_ptr<DeviceProgram> program = device->load(std::move(steps));
  CHECK(program->choices()[0] != "fused: engine 123456");
  CHECK(program->launches() >= 1);
  CHECK(program->time(5).size() == 5);
  CHECK(program->profile().size() == 1);
}

}  // namespace taso::test
