#include "cost/functions/recurrence.h"

#include <algorithm>

#include "cost/functions/node.h"

namespace taso::cost {
namespace {

using Cell = Recurrence::Cell;

std::optional<Cell> cell_of(std::string_view name) {
  if (name == "RNN") return Cell::rnn;
  if (name == "GRU") return Cell::gru;
  return name == "LSTM" ? std::optional(Cell::lstm) : std::nullopt;
}

std::vector<std::string> default_activations(const Recurrence& made) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < made.directions; ++i) {
    if (made.cell != Cell::rnn) names.emplace_back("sigmoid");
    names.emplace_back("tanh");
    if (made.cell == Cell::lstm) names.emplace_back("tanh");
  }
  return names;
}

bool read_activations(const Attributes& attributes, Recurrence& made) {
  std::vector<std::string> names = attributes.texts("activations");
  if (names.empty()) names = default_activations(made);
  if (names.size() != made.activations_of_direction() * static_cast<std::size_t>(made.directions)) return false;
  const std::vector<double> alphas = attributes.numbers("activation_alpha"),
                            betas = attributes.numbers("activation_beta");
  std::size_t alpha = 0, beta = 0;
  for (std::string name : names) {
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const auto kind = std::find_if(cell_activations.begin(), cell_activations.end(),
                                   [&](const CellActivation& one) { return one.name == name; });
    if (kind == cell_activations.end()) return false;
    Recurrence::Activation own{static_cast<std::size_t>(kind - cell_activations.begin()), kind->alpha, kind->beta};
    if (kind->takes_alpha && alpha < alphas.size()) own.alpha = alphas[alpha++];
    if (kind->takes_beta && beta < betas.size()) own.beta = betas[beta++];
    made.activations.push_back(own);
  }
  return true;
}

/// Whether the operands that are there have these types and extents.
bool has_fit_operands(const FunctionNode& node, const Recurrence& made) {
  const std::int64_t all = made.gates() * made.hidden;
  const auto state = made.is_batch_first ? Extents{made.batches, made.directions, made.hidden}
                                         : Extents{made.directions, made.batches, made.hidden};
  const std::vector<Extents> expected{node.extents(0),
                                      {made.directions, all, made.inputs},
                                      {made.directions, all, made.hidden},
                                      {made.directions, 2 * all},
                                      {made.batches},
                                      state,
                                      state,
                                      {made.directions, 3 * made.hidden}};
  const std::size_t most = made.cell == Cell::lstm ? 8 : 6;
  if (node.operands.size() > most) return false;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (!node.has(i)) continue;
    if (node.extents(i) != expected[i]) return false;
    if (i == 4 ? node.element(i) != ElementType::int32 : node.element(i) != node.element(0)) return false;
  }
  for (const FunctionNode::Side& result : node.results)
    if (result.element != ElementType::undefined && result.element != node.element(0)) return false;
  return true;
}

/// What a block keeps has to fit into its shared memory.
bool fits_into_block(const Recurrence& made, ElementType element) {
  constexpr std::int64_t most_bytes = 48 << 10;
  const std::int64_t size = element == ElementType::float64 ? 8 : 4;
  return made.hidden > 0 && made.inputs > 0 && made.hidden * (made.gates() + 3) * size <= most_bytes;
}

}  // namespace

std::optional<DeviceFunction> recurrent_function(const FunctionNode& node) {
  const std::optional<Cell> cell = cell_of(node.node.name);
  if (!cell || node.operands.size() < 3 || !node.has(1) || !node.has(2)) return std::nullopt;
  for (const std::size_t i : {0U, 1U, 2U})
    if (node.extents(i).size() != 3) return std::nullopt;
  if (!is_floating(node.element(0))) return std::nullopt;
  const Attributes& attributes = node.node.attributes;
  const std::string direction = attributes.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") return std::nullopt;
  Recurrence made;
  made.cell = *cell;
  made.directions = direction == "bidirectional" ? 2 : 1;
  made.is_reverse = direction == "reverse";
  made.is_batch_first = attributes.integer("layout", 0) != 0;
  made.steps = node.extents(0)[made.is_batch_first ? 1 : 0];
  made.batches = node.extents(0)[made.is_batch_first ? 0 : 1];
  made.inputs = node.extents(0)[2];
  made.hidden = node.extents(2)[2];
  made.is_linear_before_reset = attributes.integer("linear_before_reset", 0) != 0;
  made.joins_input_and_forget = attributes.integer("input_forget", 0) != 0;
  made.clip = attributes.number("clip", 0);
  if (attributes.integer("hidden_size", made.hidden) != made.hidden) return std::nullopt;
  if (!read_activations(attributes, made) || !has_fit_operands(node, made)) return std::nullopt;
  if (!fits_into_block(made, node.element(0))) return std::nullopt;
  DeviceFunction function;
  function.name = node.node.name;
  function.integers = {made.directions,
                       made.steps,
                       made.batches,
                       made.inputs,
                       made.hidden,
                       made.is_reverse ? 1 : 0,
                       made.is_batch_first ? 1 : 0,
                       made.is_linear_before_reset ? 1 : 0,
                       made.joins_input_and_forget ? 1 : 0};
  function.numbers = {made.clip};
  for (const Recurrence::Activation& one : made.activations) {
    function.integers.push_back(static_cast<std::int64_t>(one.kind));
    function.numbers.insert(function.numbers.end(), {one.alpha, one.beta});
  }
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    function.operands.push_back(node.has(i) ? std::optional(i) : std::nullopt);
  return function;
}

bool is_recurrence(const DeviceFunction& function) { return cell_of(function.name).has_value(); }

Recurrence recurrence_of(const DeviceFunction& function) {
  const std::vector<std::int64_t>& integers = function.integers;
  constexpr std::size_t first = 9;  // integer of an activation
  Recurrence made;
  made.cell = *cell_of(function.name);
  made.directions = integers.at(0);
  made.steps = integers.at(1);
  made.batches = integers.at(2);
  made.inputs = integers.at(3);
  made.hidden = integers.at(4);
  made.is_reverse = integers.at(5) != 0;
  made.is_batch_first = integers.at(6) != 0;
  made.is_linear_before_reset = integers.at(7) != 0;
  made.joins_input_and_forget = integers.at(8) != 0;
  made.clip = function.numbers.at(0);
  for (std::size_t i = first; i < integers.size(); ++i)
    made.activations.push_back({static_cast<std::size_t>(integers[i]), function.numbers.at(1 + 2 * (i - first)),
                                function.numbers.at(2 + 2 * (i - first))});
  return made;
}

double operations_of_recurrence(const DeviceFunction& function) {
  const Recurrence made = recurrence_of(function);
  return 2 * static_cast<double>(made.gates() * (made.inputs + made.hidden)) + 40;
}

double chain_of_recurrence(const DeviceFunction& function) {
  const Recurrence made = recurrence_of(function);
  // Of one step: its threads meet and exchange sums, and a multiprocessor reads the weights, from its own cache if they
  // fit there.
  const double meetings = made.cell == Cell::gru && !made.is_linear_before_reset ? 160 : 100;
  const double weights = static_cast<double>(made.gates() * made.hidden * made.hidden);
  constexpr double own_cache = 40'000, read_there = 120, read_elsewhere = 40;  // weights; weights per operation
  const double reading = weights / (weights <= own_cache ? read_there : read_elsewhere);
  return static_cast<double>(made.steps) * (meetings + reading);
}

}  // namespace taso::cost
