// The recurrent cell of Zoph and Le, Neural Architecture Search with Reinforcement Learning, 2016, in two forms.
//
// `nasrnn` is the benchmark that TASO's paper derived from it and that others adopted: five steps, 512 wide, each step
// with its own matrices, no memory besides the state. The first state is an input here; with a constant, the first
// step's products could be computed ahead of time.
//
// `nas_cell` is the cell itself, as TensorFlow's NASCell: with a memory, one multiplicative combination, and the same
// eight pairs of matrices at every step.
#include <array>

#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t width = 512;
constexpr std::size_t gates = 8;

std::int64_t steps_of(const Variant& variant) { return variant.blocks > 0 ? variant.blocks : 5; }

/// Two operands. Braces make the first one first; the order of a function's arguments depends on the machine.
struct Pair {
  Value first, second;
};
Value sum_of(Builder& net, const Pair& pair) { return net.add(pair.first, pair.second); }
Value product_of(Builder& net, const Pair& pair) { return net.multiply(pair.first, pair.second); }

Value benchmark_step(Builder& net, const Value& x, const Value& state) {
  std::vector<Value> t;
  for (std::size_t i = 0; i < gates; ++i)
    t.push_back(sum_of(net, {net.linear(x, fmt::format("input.{}", i), width, false),
                             net.linear(state, fmt::format("state.{}", i), width, false)}));
  const Value a = sum_of(net, {net.relu(t[0]), net.sigmoid(t[3])});
  const Value b = sum_of(net, {net.sigmoid(t[1]), net.tanh(t[2])});
  const Value c = product_of(net, {net.sigmoid(t[4]), net.tanh(t[5])});
  const Value d = product_of(net, {net.sigmoid(t[6]), net.relu(t[7])});
  const Value e = sum_of(net, {net.sigmoid(b), net.tanh(c)});
  const Value f = product_of(net, {net.tanh(a), net.tanh(d)});
  return net.tanh(product_of(net, {net.tanh(e), net.tanh(f)}));
}

/// The matrices of a cell, shared by all steps.
struct Matrices {
  std::vector<Value> input, state;
};

struct Memory {
  Value state, cell;
};

Memory cell_step(Builder& net, const Value& x, const Memory& before, const Matrices& matrices) {
  std::vector<Value> from_input, from_state;
  for (std::size_t i = 0; i < gates; ++i) {
    from_input.push_back(net.matmul(x, matrices.input[i]));
    from_state.push_back(net.matmul(before.state, matrices.state[i]));
  }
  const auto sum = [&](std::size_t i) { return net.add(from_input[i], from_state[i]); };
  const Value first = product_of(net, {net.sigmoid(sum(0)), net.relu(sum(1))});
  const Value second = sum_of(net, {net.sigmoid(sum(2)), net.relu(net.multiply(from_input[3], from_state[3]))});
  const Value third = product_of(net, {net.tanh(sum(4)), net.sigmoid(sum(5))});
  const Value fourth = sum_of(net, {net.tanh(sum(6)), net.sigmoid(sum(7))});
  const Value injected = net.tanh(net.add(net.tanh(first), before.cell));
  const Value cell = net.multiply(injected, net.tanh(second));
  const Value other = net.tanh(sum_of(net, {net.tanh(third), net.sigmoid(fourth)}));
  return {net.tanh(net.multiply(cell, other)), cell};
}

}  // namespace

void build_nasrnn(Builder& net, const Variant& variant) {
  Value state = net.input("state", {width});
  std::vector<Value> inputs;
  for (std::int64_t step = 0; step < steps_of(variant); ++step)
    inputs.push_back(net.input(fmt::format("x{}", step), {width}));
  for (std::size_t step = 0; step < inputs.size(); ++step) {
    const auto scope = net.scope(fmt::format("step{}", step));
    state = benchmark_step(net, inputs[step], state);
  }
  net.output(state, "last_state");
}

void build_nas_cell(Builder& net, const Variant& variant) {
  Memory memory{net.input("state", {width}), net.input("cell", {width})};
  std::vector<Value> inputs;
  for (std::int64_t step = 0; step < steps_of(variant); ++step)
    inputs.push_back(net.input(fmt::format("x{}", step), {width}));
  Matrices matrices;
  const Spread spread{0, 0.044};  // about one over the root of the width
  for (std::size_t i = 0; i < gates; ++i) {
    matrices.input.push_back(net.parameter(fmt::format("input.{}.weight", i), {width, width}, spread));
    matrices.state.push_back(net.parameter(fmt::format("state.{}.weight", i), {width, width}, spread));
  }
  for (std::size_t step = 0; step < inputs.size(); ++step) {
    const auto scope = net.scope(fmt::format("step{}", step));
    memory = cell_step(net, inputs[step], memory, matrices);
  }
  net.output(memory.state, "last_state");
  net.output(memory.cell, "last_cell");
}

}  // namespace taso::examples
