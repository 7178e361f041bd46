// RNN, GRU and LSTM in two kernels. The first one multiplies all inputs of the sequence by their weights: a warp for
// each row of them, for some inputs at a time. The second one goes through the steps: a block for each example and
// direction, which keeps the state in shared memory; a warp multiplies some rows of the recurrent weights at a time.
#include "cost/functions/recurrence.h"

#include <algorithm>

#include "runtime/gpu/functions/formula_text.h"
#include "runtime/gpu/functions/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;
using Cell = cost::Recurrence::Cell;

constexpr std::int64_t inputs_at_once = 8, warps_for_inputs = 8, rows_at_once = 4, most_warps = 32;

/// Sums of a warp's lanes, and products of rows of the weights with a vector in shared memory.
constexpr std::string_view recurrence_definitions = R"(__device__ inline real sum_of_warp(real sum) {
  for (int with = 16; with > 0; with /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, with);
  return sum;
}
template <int rows_at_once, int warps, int length, class T>
__device__ inline void multiply(const T* __restrict__ weights, const real* vector, real* sums, int first, int end) {
  const int lane = static_cast<int>(threadIdx.x % 32u), warp = static_cast<int>(threadIdx.x / 32u);
  for (int row = first + warp; row < end; row += rows_at_once * warps) {
    real own[rows_at_once];
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q) {
      const int at = row + q * warps < end ? row + q * warps : row;
      own[q] = 0;
      const T* const from = weights + static_cast<long long>(at) * length;
      for (int k = lane; k < length; k += 32) own[q] += get(from[k]) * vector[k];
    }
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q) {
      own[q] = sum_of_warp(own[q]);
      if (lane == 0 && row + q * warps < end) sums[row + q * warps] = own[q];
    }
  }
}
)";

class RecurrentKernels {
 public:
  explicit RecurrentKernels(const cost::Call& call)
      : call_(call),
        what_(cost::recurrence_of(call.function->what)),
        arithmetic_(arithmetic_of(call)),
        hidden_(what_.hidden),
        rows_(what_.gates() * what_.hidden) {}

  std::vector<SourceLaunch> make() const {
    std::vector<SourceLaunch> launches;
    launches.push_back(inputs());
    launches.push_back(steps());
    return launches;
  }

  std::int64_t scratch_bytes() const {
    return what_.steps * what_.batches * what_.directions * rows_ * (arithmetic_ == Arithmetic::twice ? 8 : 4);
  }

 private:
  enum Operand : std::size_t { x, w, r, bias, lengths, state, memory, peepholes };

  bool has(Operand operand) const {
    return operand < call_.function->operands.size() &&
           call_.function->operands[operand] != cost::Call::Function::omitted;
  }
  std::string name(Operand operand) const { return pointer(false, call_.function->operands.at(operand)); }
  void add(Parameters& parameters, Operand operand) const {
    if (has(operand)) parameters.add(call_, false, call_.function->operands[operand]);
  }
  static void add_scratch(Parameters& parameters, std::string_view type) {
    parameters.text += fmt::format(", {} from_x", type);
    parameters.arguments.push_back({Argument::Place::scratch, 0, 0});
  }
  SourceLaunch finish(SourceLaunch launch, const Code& code, const std::string& definitions) const {
    launch.source = prelude(arithmetic_) + std::string(recurrence_definitions) + definitions + code.text();
    return launch;
  }
  /// Whether the recurrent bias of the last gate waits for the reset gate.
  bool is_bias_reset() const { return what_.cell == Cell::gru && what_.is_linear_before_reset; }

  /// [inputs in the order of x, directions, gates * hidden]: products with the weights, and biases.
  SourceLaunch inputs() const {
    const std::int64_t positions = what_.steps * what_.batches, all = what_.directions * rows_;
    const std::int64_t across = (all + warps_for_inputs - 1) / warps_for_inputs,
                       down = (positions + inputs_at_once - 1) / inputs_at_once;
    SourceLaunch launch;
    launch.name = "recurrent_inputs";
    launch.block = static_cast<std::uint32_t>(32 * warps_for_inputs);
    launch.grid[0] = grid_of(across * down);
    Parameters parameters;
    for (const Operand operand : {x, w, bias}) add(parameters, operand);
    add_scratch(parameters, "real* __restrict__");
    Code code;
    open_kernel(code, launch, parameters);
    write_waiting(code);
    code.line("const int lane = static_cast<int>(threadIdx.x % 32u);");
    code.line("const int row = static_cast<int>(blockIdx.x % {0}u * {1}u + threadIdx.x / 32u);", across,
              warps_for_inputs);
    code.line("if (row >= {}) return;", all);
    code.line("const long long first = static_cast<long long>(blockIdx.x / {}u) * {};", across, inputs_at_once);
    code.line("real sums[{}];", inputs_at_once);
    code.unrolled("q", inputs_at_once);
    code.line("sums[q] = 0;");
    code.close();
    code.open("for (int k = lane; k < {}; k += 32)", what_.inputs);
    code.line("const real weight = get({}[static_cast<long long>(row) * {} + k]);", name(w), what_.inputs);
    code.unrolled("q", inputs_at_once);
    code.line("const long long at = first + q < {0}ll ? first + q : {0}ll - 1;", positions);
    code.line("sums[q] += weight * get({}[at * {} + k]);", name(x), what_.inputs);
    code.close();
    code.close();
    code.line("real more = 0;");
    if (has(bias)) {
      code.line("const int direction = row / {0}, gate = row % {0};", rows_);
      code.line("more = get({}[direction * {} + gate]);", name(bias), 2 * rows_);
      const std::string recurrent = fmt::format("get({}[direction * {} + {} + gate])", name(bias), 2 * rows_, rows_);
      if (is_bias_reset())
        code.line("if (gate < {}) more += {};", 2 * hidden_, recurrent);
      else
        code.line("more += {};", recurrent);
    }
    code.unrolled("q", inputs_at_once);
    code.line("const real sum = sum_of_warp(sums[q]) + more;");
    code.line("if (lane == q && first + q < {}ll) from_x[(first + q) * {} + row] = sum;", positions, all);
    code.close();
    code.close();
    return finish(std::move(launch), code, "");
  }

  /// a0(direction, x), a1(direction, x), …
  std::string activations() const {
    std::string text;
    const std::size_t each = what_.activations_of_direction();
    for (std::size_t k = 0; k < each; ++k) {
      std::vector<std::string> of_directions;
      for (std::size_t d = 0; d < static_cast<std::size_t>(what_.directions); ++d) {
        const cost::Recurrence::Activation& one = what_.activations.at(d * each + k);
        of_directions.push_back(fmt::format(
            "static_cast<real>({})",
            text_of(cost::cell_activations.at(one.kind).formula, {{"x"}, {}, {one.alpha, one.beta}}, arithmetic_)));
      }
      text +=
          fmt::format("__device__ inline real a{}(int direction, real x) {{ return {}{}; }}\n", k,
                      of_directions.size() > 1 ? "direction == 1 ? " + of_directions[1] + " : " : "", of_directions[0]);
    }
    const std::string clip = number(what_.clip, arithmetic_);
    text += fmt::format("__device__ inline real clipped(real x) {{ return {}; }}\n",
                        what_.clip > 0 ? fmt::format("x < -{0} ? -{0} : x > {0} ? {0} : x", clip) : "x");
    return text;
  }

  void write_products(Code& code, std::string_view vector, std::int64_t first, std::int64_t end) const {
    code.line("multiply<{}, {}, {}>({} + static_cast<long long>(direction) * {}, {}, sums, {}, {});", rows_at_once,
              warps(), hidden_, name(r), rows_ * hidden_, vector, first, end);
    code.line("__syncthreads();");
  }
  void open_elements(Code& code) const {
    code.open("for (int i = static_cast<int>(threadIdx.x); i < {}; i += {})", hidden_, 32 * warps());
  }
  /// The sum of a gate, clipped.
  std::string gate(std::int64_t which, std::string_view more = "") const {
    return fmt::format("clipped(given[{0} + i] + sums[{0} + i]{1})", which * hidden_, more);
  }
  std::int64_t warps() const {
    return std::clamp<std::int64_t>((rows_ + rows_at_once - 1) / rows_at_once, 1, most_warps);
  }

  void write_rnn(Code& code) const {
    write_products(code, "h", 0, rows_);
    open_elements(code);
    code.line("h[i] = a0(direction, {});", gate(0));
  }

  void write_gru(Code& code) const {
    write_products(code, "h", 0, what_.is_linear_before_reset ? rows_ : 2 * hidden_);
    open_elements(code);
    code.line("const real update = a0(direction, {}), reset = a0(direction, {});", gate(0), gate(1));
    if (what_.is_linear_before_reset) {
      const std::string more =
          has(bias) ? fmt::format(" + get({}[direction * {} + {} + i])", name(bias), 2 * rows_, rows_ + 2 * hidden_)
                    : "";
      code.line("const real linear = sums[{} + i]{};", 2 * hidden_, more);
      code.line("const real next = a1(direction, clipped(given[{} + i] + reset * linear));", 2 * hidden_);
    } else {
      code.line("sums[i] = update;");
      code.line("kept[i] = reset * h[i];");
      code.close();
      code.line("__syncthreads();");
      write_products(code, "kept", 2 * hidden_, rows_);
      open_elements(code);
      code.line("const real update = sums[i], next = a1(direction, {});", gate(2));
    }
    code.line("h[i] = (1 - update) * next + update * h[i];");
  }

  void write_lstm(Code& code) const {
    const auto peephole = [&](std::int64_t which) {
      return has(peepholes) ? fmt::format(" + get({}[direction * {} + {} + i]) * c[i]", name(peepholes), 3 * hidden_,
                                          which * hidden_)
                            : "";
    };
    write_products(code, "h", 0, rows_);
    open_elements(code);
    code.line("const real in = a0(direction, {});", gate(0, peephole(0)));
    code.line("const real forget = {};",
              what_.joins_input_and_forget ? "1 - in" : fmt::format("a0(direction, {})", gate(2, peephole(2))));
    code.line("c[i] = forget * c[i] + in * a1(direction, {});", gate(3));
    code.line("const real out = a0(direction, {});", gate(1, peephole(1)));
    // The operand of the last activation is not a sum of gates: it is not clipped.
    code.line("h[i] = out * a2(direction, c[i]);");
  }

  SourceLaunch steps() const {
    SourceLaunch launch;
    launch.name = "recurrent_steps";
    launch.block = static_cast<std::uint32_t>(32 * warps());
    launch.grid[0] = grid_of(what_.batches * what_.directions);
    Parameters parameters;
    for (const Operand operand : {r, lengths, state, memory}) add(parameters, operand);
    if (is_bias_reset()) add(parameters, bias);
    add(parameters, peepholes);
    for (std::uint32_t i = 0; i < call_.written.size(); ++i) parameters.add(call_, true, i);
    add_scratch(parameters, "const real* __restrict__");
    Code code;
    open_kernel(code, launch, parameters);
    code.line("__shared__ real h[{0}], c[{0}], kept[{0}], sums[{1}];", hidden_, rows_);
    write_waiting(code);
    code.line("static_cast<void>(kept);");
    code.line("const int batch = static_cast<int>(blockIdx.x % {0}u), direction = static_cast<int>(blockIdx.x / {0}u);",
              what_.batches);
    code.line("const long long state_at = ({}) * {}ll;",
              what_.is_batch_first ? fmt::format("batch * {}ll + direction", what_.directions)
                                   : fmt::format("direction * {}ll + batch", what_.batches),
              hidden_);
    write_start(code);
    code.open("for (int step = 0; step < length; ++step)");
    code.line("const int time = {} ? length - 1 - step : step;", what_.directions == 2 ? "direction == 1"
                                                                 : what_.is_reverse    ? "true"
                                                                                       : "false");
    code.line("const real* const given = from_x + (({}) * {}ll + direction) * {};", place_of_input("time"),
              what_.directions, rows_);
    switch (what_.cell) {
      case Cell::rnn: write_rnn(code); break;
      case Cell::gru: write_gru(code); break;
      case Cell::lstm: write_lstm(code); break;
    }
    write_to_sequence(code, "time", "h[i]");
    code.close();
    code.line("__syncthreads();");
    code.close();
    write_end(code);
    code.close();
    return finish(std::move(launch), code, activations());
  }

  /// The number of an input among all of x.
  std::string place_of_input(std::string_view time) const {
    return what_.is_batch_first ? fmt::format("batch * {}ll + {}", what_.steps, time)
                                : fmt::format("{} * {}ll + batch", time, what_.batches);
  }

  void write_start(Code& code) const {
    if (has(lengths))  // the host refuses lengths out of range
      code.line("const int wanted = {}[batch], length = wanted < 0 || wanted > {} ? {} : wanted;", name(lengths),
                what_.steps, what_.steps);
    else
      code.line("const int length = {};", what_.steps);
    open_elements(code);
    const auto given = [&](Operand operand) {
      return has(operand) ? fmt::format("get({}[state_at + i])", name(operand)) : "0";
    };
    code.line("h[i] = {};", given(state));
    code.line("c[i] = {};", given(memory));
    code.close();
    code.line("__syncthreads();");
  }

  /// Writes an element of the sequence of states, if it is wanted.
  void write_to_sequence(Code& code, std::string_view time, std::string_view value) const {
    for (std::uint32_t i = 0; i < call_.written.size(); ++i) {
      if (call_.function->results[i] != 0) continue;
      const std::string place =
          what_.is_batch_first
              ? fmt::format("(batch * {}ll + {}) * {} + direction", what_.steps, time, what_.directions)
              : fmt::format("({} * {}ll + direction) * {} + batch", time, what_.directions, what_.batches);
      code.line("{}[({}) * {} + i] = put<{}>({});", pointer(true, i), place, hidden_,
                type_text(call_.written[i].element), value);
    }
  }

  /// Writes zeros behind the end of a short sequence, and the last states.
  void write_end(Code& code) const {
    open_elements(code);
    if (has(lengths)) {
      code.open("for (int time = length; time < {}; ++time)", what_.steps);
      write_to_sequence(code, "time", "real(0)");
      code.close();
    }
    for (std::uint32_t i = 0; i < call_.written.size(); ++i)
      if (call_.function->results[i] != 0)
        code.line("{}[state_at + i] = put<{}>({}[i]);", pointer(true, i), type_text(call_.written[i].element),
                  call_.function->results[i] == 1 ? "h" : "c");
    code.close();
  }

  const cost::Call& call_;
  cost::Recurrence what_;
  Arithmetic arithmetic_;
  std::int64_t hidden_, rows_;
};

}  // namespace

std::vector<SourceLaunch> recurrent_sources(const cost::Call& call) { return RecurrentKernels(call).make(); }

std::int64_t scratch_bytes_of_function(const cost::Call& call) {
  return cost::is_recurrence(call.function->what) ? RecurrentKernels(call).scratch_bytes() : 0;
}

}  // namespace taso::gpu
