// RNN, GRU and LSTM: cells that carry a state along a sequence.
#include <algorithm>
#include <cmath>

#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

struct Activation {
  std::string name;  ///< in lower case
  double alpha = 0, beta = 0;

  double operator()(double x) const {
    if (name == "sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "tanh") return std::tanh(x);
    if (name == "relu") return std::max(x, 0.0);
    if (name == "affine") return alpha * x + beta;
    if (name == "leakyrelu") return x < 0 ? alpha * x : x;
    if (name == "thresholdedrelu") return x > alpha ? x : 0;
    if (name == "scaledtanh") return alpha * std::tanh(beta * x);
    if (name == "hardsigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
    if (name == "elu") return x < 0 ? alpha * std::expm1(x) : x;
    if (name == "softsign") return x / (1 + std::abs(x));
    return x > 30 ? x : std::log1p(std::exp(x));  // softplus
  }
};

/// The names of the activations, with the alphas and betas assigned in order to those that take one.
std::vector<Activation> read_activations(const HostCall& call, std::vector<std::string> defaults,
                                         std::size_t directions) {
  struct Kind {
    std::string_view name;
    bool takes_alpha, takes_beta;
    double alpha, beta;
  };
  constexpr Kind kinds[] = {
      {"sigmoid", false, false, 0, 0},  {"tanh", false, false, 0, 0},          {"relu", false, false, 0, 0},
      {"affine", true, true, 1, 0},     {"leakyrelu", true, false, 0.01, 0},   {"thresholdedrelu", true, false, 1, 0},
      {"scaledtanh", true, true, 1, 1}, {"hardsigmoid", true, true, 0.2, 0.5}, {"elu", true, false, 1, 0},
      {"softsign", false, false, 0, 0}, {"softplus", false, false, 0, 0},
  };
  std::vector<std::string> names = call.attributes.texts("activations");
  const std::size_t each = defaults.size();
  if (names.empty())
    for (std::size_t i = 0; i < directions; ++i) names.insert(names.end(), defaults.begin(), defaults.end());
  require(call, names.size() == each * directions, "the number of activations does not fit");
  const std::vector<double> alphas = call.attributes.numbers("activation_alpha"),
                            betas = call.attributes.numbers("activation_beta");
  std::size_t alpha = 0, beta = 0;
  std::vector<Activation> result;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    const auto kind = std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return k.name == name; });
    if (kind == std::end(kinds)) refuse(call, fmt::format("unknown activation '{}'", name));
    Activation activation{name, kind->alpha, kind->beta};
    if (kind->takes_alpha && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (kind->takes_beta && beta < betas.size()) activation.beta = betas[beta++];
    result.push_back(std::move(activation));
  }
  return result;
}

/// Common to the three cells: extents, operands and options.
struct Cell {
  std::size_t gates = 1, directions = 1, steps = 0, batches = 0, inputs = 0, hidden = 0;
  bool forward_first = true, batch_first = false;
  std::vector<Activation> activations;
  double clip = 0;
  std::vector<double> x, w, r, bias, peepholes;
  std::vector<double> state, memory;  ///< [direction, batch, hidden]
  std::vector<std::int64_t> lengths;  ///< per batch
  bool input_forget = false, linear_before_reset = false;

  double clipped(double value) const { return clip > 0 ? std::clamp(value, -clip, clip) : value; }
  double activate(std::size_t direction, std::size_t which, double value) const {
    return activations[direction * (activations.size() / directions) + which](clipped(value));
  }
};

double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// An operand with the given extents as [first, second, …] (layout 1 exchanges the first two); zeros if omitted.
std::vector<double> operand_as(const HostCall& call, std::size_t operand, Extents extents, bool exchanged) {
  if (exchanged) std::swap(extents[0], extents[1]);
  if (!call.has(operand)) return std::vector<double>(unsign(product(call, extents, 0, extents.size())), 0);
  require_floating(call, operand);
  if (call.input(operand).extents() != extents)
    refuse(call, fmt::format("operand {} must be {}, not {}", operand, text_of(extents),
                             text_of(call.input(operand).extents())));
  std::vector<double> values = call.input(operand).doubles();
  if (!exchanged) return values;
  std::vector<double> result(values.size());
  const std::size_t first = unsign(extents[0]), second = unsign(extents[1]);
  const std::size_t run = result.empty() ? 0 : values.size() / first / second;
  for (std::size_t i = 0; i < first; ++i)
    for (std::size_t k = 0; k < second; ++k)
      std::copy_n(values.begin() + sign((i * second + k) * run), run, result.begin() + sign((k * first + i) * run));
  return result;
}

Cell read_cell(const HostCall& call, std::size_t gates, std::vector<std::string> default_activations) {
  Cell cell;
  cell.gates = gates;
  require_floating(call, 0);
  for (const std::size_t operand : {0, 1, 2}) require_rank(call, operand, 3);
  const std::string direction = call.attributes.text("direction", "forward");
  require(call, direction == "forward" || direction == "reverse" || direction == "bidirectional", "unknown direction");
  cell.directions = direction == "bidirectional" ? 2 : 1;
  cell.forward_first = direction != "reverse";
  cell.batch_first = call.attributes.integer("layout", 0) != 0;
  const Extents& x = call.input(0).extents();
  cell.steps = unsign(x[cell.batch_first ? 1 : 0]);
  cell.batches = unsign(x[cell.batch_first ? 0 : 1]);
  cell.inputs = unsign(x[2]);
  const std::int64_t directions = sign(cell.directions), hidden = call.input(2).extents()[2],
                     all = times(call, sign(gates), hidden);
  require(call, call.attributes.integer("hidden_size", hidden) == hidden, "hidden_size does not fit the weights");
  cell.hidden = unsign(hidden);
  const std::int64_t batches = sign(cell.batches);
  cell.x = operand_as(call, 0, {sign(cell.steps), batches, x[2]}, cell.batch_first);
  cell.w = operand_as(call, 1, {directions, all, x[2]}, false);
  cell.r = operand_as(call, 2, {directions, all, hidden}, false);
  cell.bias = operand_as(call, 3, {directions, times(call, 2, all)}, false);
  cell.lengths.assign(cell.batches, sign(cell.steps));
  if (call.has(4)) cell.lengths = integers_of(call, 4);
  require(call, cell.lengths.size() == cell.batches, "there must be one length per batch");
  for (const std::int64_t length : cell.lengths)
    require(call, length >= 0 && length <= sign(cell.steps), "a sequence is longer than the operand");
  cell.state = operand_as(call, 5, {directions, batches, hidden}, cell.batch_first);
  cell.clip = call.attributes.number("clip", 0);
  cell.activations = read_activations(call, std::move(default_activations), cell.directions);
  cell.input_forget = call.attributes.integer("input_forget", 0) != 0;
  cell.linear_before_reset = call.attributes.integer("linear_before_reset", 0) != 0;
  return cell;
}

/// W x + R h + both biases, for all gates of a direction and one batch: `from_x` without the recurrent part.
struct Sums {
  std::vector<double> from_x, from_h;
};

void gather_sums(const Cell& cell, std::size_t direction, const double* x, const double* h, Sums& sums) {
  const std::size_t all = cell.gates * cell.hidden;
  sums.from_x.resize(all);
  sums.from_h.resize(all);
  const double* w_bias = cell.bias.data() + direction * 2 * all;
  for (std::size_t i = 0; i < all; ++i) {
    sums.from_x[i] = w_bias[i] + dot(cell.w.data() + (direction * all + i) * cell.inputs, x, cell.inputs);
    sums.from_h[i] = w_bias[all + i] + dot(cell.r.data() + (direction * all + i) * cell.hidden, h, cell.hidden);
  }
}

void step_rnn(const Cell& cell, std::size_t direction, const double*, const Sums& sums, double* h, double*) {
  for (std::size_t i = 0; i < cell.hidden; ++i) h[i] = cell.activate(direction, 0, sums.from_x[i] + sums.from_h[i]);
}

void step_gru(const Cell& cell, std::size_t direction, const double*, const Sums& sums, double* h, double*) {
  const std::size_t n = cell.hidden;
  std::vector<double> update(n), candidate(n), reset(n);
  for (std::size_t i = 0; i < n; ++i) {
    update[i] = cell.activate(direction, 0, sums.from_x[i] + sums.from_h[i]);
    reset[i] = cell.activate(direction, 0, sums.from_x[n + i] + sums.from_h[n + i]);
  }
  if (cell.linear_before_reset) {
    for (std::size_t i = 0; i < n; ++i)
      candidate[i] = cell.activate(direction, 1, sums.from_x[2 * n + i] + reset[i] * sums.from_h[2 * n + i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) reset[i] *= h[i];
    const double* r_bias = cell.bias.data() + direction * 6 * n + 5 * n;
    const double* r = cell.r.data() + (direction * 3 + 2) * n * n;
    for (std::size_t i = 0; i < n; ++i)
      candidate[i] = cell.activate(direction, 1, sums.from_x[2 * n + i] + r_bias[i] + dot(r + i * n, reset.data(), n));
  }
  for (std::size_t i = 0; i < n; ++i) h[i] = (1 - update[i]) * candidate[i] + update[i] * h[i];
}

void step_lstm(const Cell& cell, std::size_t direction, const double* peep, const Sums& sums, double* h, double* c) {
  const std::size_t n = cell.hidden;
  const auto gate = [&](std::size_t which, std::size_t i) {
    return sums.from_x[which * n + i] + sums.from_h[which * n + i];
  };
  for (std::size_t i = 0; i < n; ++i) {
    const double in = cell.activate(direction, 0, gate(0, i) + peep[i] * c[i]);
    const double forget = cell.input_forget ? 1 - in : cell.activate(direction, 0, gate(2, i) + peep[2 * n + i] * c[i]);
    c[i] = forget * c[i] + in * cell.activate(direction, 1, gate(3, i));
    const double out = cell.activate(direction, 0, gate(1, i) + peep[n + i] * c[i]);
    // The last activation is not clipped: its operand is not a sum of gates.
    h[i] = out * cell.activations[direction * 3 + 2](c[i]);
  }
}

using Step = void (*)(const Cell&, std::size_t, const double*, const Sums&, double*, double*);

/// The state as an output [direction, batch, hidden], or with the first two exchanged.
Array state_output(const HostCall& call, const Cell& cell, const std::vector<double>& state) {
  const std::size_t d = cell.directions, b = cell.batches, h = cell.hidden;
  Array result = make_array(call, ElementType::float64,
                            cell.batch_first ? Extents{sign(b), sign(d), sign(h)} : Extents{sign(d), sign(b), sign(h)});
  const auto out = result.mutable_values<double>();
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t k = 0; k < b; ++k)
      std::copy_n(state.data() + (i * b + k) * h, h, out.data() + (cell.batch_first ? k * d + i : i * b + k) * h);
  return result.cast(call.input(0).type());
}

Arrays run(const HostCall& call, Cell cell, Step step) {
  const std::size_t d = cell.directions, b = cell.batches, h = cell.hidden, t = cell.steps;
  Array result = make_zeros(
      call, ElementType::float64,
      cell.batch_first ? Extents{sign(b), sign(t), sign(d), sign(h)} : Extents{sign(t), sign(d), sign(b), sign(h)});
  const auto out = result.mutable_values<double>();
  Sums sums;
  for (std::size_t direction = 0; direction < d; ++direction) {
    const bool forward = direction == 0 && cell.forward_first;
    for (std::size_t batch = 0; batch < b; ++batch) {
      double* state = cell.state.data() + (direction * b + batch) * h;
      double* memory = cell.memory.empty() ? nullptr : cell.memory.data() + (direction * b + batch) * h;
      const double* peep = cell.peepholes.empty() ? nullptr : cell.peepholes.data() + direction * 3 * h;
      const std::size_t length = unsign(cell.lengths[batch]);
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t time = forward ? i : length - 1 - i;
        gather_sums(cell, direction, cell.x.data() + (time * b + batch) * cell.inputs, state, sums);
        step(cell, direction, peep, sums, state, memory);
        const std::size_t place =
            cell.batch_first ? (batch * t + time) * d + direction : (time * d + direction) * b + batch;
        std::copy_n(state, h, out.data() + place * h);
      }
    }
  }
  Arrays results{result.cast(call.input(0).type()), state_output(call, cell, cell.state)};
  if (!cell.memory.empty() || call.op_type == "LSTM") results.push_back(state_output(call, cell, cell.memory));
  return results;
}

Arrays rnn(const HostCall& call) { return run(call, read_cell(call, 1, {"Tanh"}), step_rnn); }

Arrays gru(const HostCall& call) { return run(call, read_cell(call, 3, {"Sigmoid", "Tanh"}), step_gru); }

Arrays lstm(const HostCall& call) {
  Cell cell = read_cell(call, 4, {"Sigmoid", "Tanh", "Tanh"});
  const std::int64_t directions = sign(cell.directions), hidden = sign(cell.hidden);
  cell.memory = operand_as(call, 6, {directions, sign(cell.batches), hidden}, cell.batch_first);
  cell.peepholes = operand_as(call, 7, {directions, 3 * hidden}, false);
  return run(call, std::move(cell), step_lstm);
}

}  // namespace

Family recurrent() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {{"RNN", rnn}, {"GRU", gru}, {"LSTM", lstm}};
  return functions;
}

}  // namespace taso::runtime
