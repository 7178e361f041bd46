#include "tests/search/agreement.h"

#include <unordered_set>

#include <fmt/format.h>

#include "runtime/host/interpreter.h"
#include "tests/search/rule_graph.h"

namespace taso::test {
namespace {

constexpr double greatest_number = 1e100, tolerance = 1e-9;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x2545f4914f6cdd1du;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 27);
}

Extents sizes_of(const Shape& shape) {
  Extents extents;
  for (const Dim& dim : shape) extents.push_back(dim.evaluate(size_of_unknown));
  return extents;
}

enum class Draw { whole, positive, any };

Array draw(Random& random, const Extents& extents, Draw kind) {
  if (kind == Draw::whole) return whole_array(random, extents);
  Array array(ElementType::float64, extents);
  for (double& value : array.mutable_values<double>())
    value = kind == Draw::positive ? 0.5 + random.unit() : 4 * random.unit() - 2;
  return array;
}

/// For each output, whether it depends on an operator with laws that hold for real numbers only.
std::vector<bool> are_of_real_numbers(const Graph& graph) {
  static const std::vector<std::string_view> names{"max",  "min",        "relu",     "leaky_relu", "clip",
                                                   "gelu", "hard_swish", "max_pool", "reduce_max", "softmax",
                                                   "tanh", "erf",        "sqrt",     "exp",        "pow"};
  std::unordered_set<const ops::Node*> found;
  for (const ops::Node* node : graph.nodes()) {
    const bool is_one = node->as_operator() != nullptr &&
                        std::find(names.begin(), names.end(), ops::name_of(*node->as_operator())) != names.end();
    const bool is_behind_one = std::any_of(node->inputs().begin(), node->inputs().end(), [&](const Value& operand) {
      return operand && found.contains(operand.node);
    });
    if (is_one || is_behind_one) found.insert(node);
  }
  std::vector<bool> result;
  for (const Value& output : graph.outputs) result.push_back(found.contains(output.node));
  return result;
}

/// For each output, whether it differs over the field. Arbitrary elements show all differences except laws of the
/// order, like relu(2x) = 2 relu(x). Those hold for small integers that averages divide.
std::vector<bool> differences_over_field(const Graph& before, const Graph& after, std::uint64_t seed) {
  const auto differences = [&](std::uint64_t draw, bool whole) {
    const auto expected = evaluate_field(before, seed + draw, whole), given = evaluate_field(after, seed + draw, whole);
    std::vector<bool> differs;
    for (std::size_t i = 0; i < expected.size(); ++i)
      differs.push_back(expected[i].extents != given[i].extents || expected[i].data != given[i].data);
    return differs;
  };
  const std::vector<bool> anywhere = differences(0, false);
  std::vector<bool> in_small(anywhere.size(), false);
  for (std::uint64_t draw = 1; draw < 4 && in_small != anywhere; ++draw) {
    const auto differs = differences(draw, true);
    for (std::size_t i = 0; i < in_small.size(); ++i)
      if (anywhere[i] && differs[i]) in_small[i] = true;
  }
  return in_small;
}

/// The outputs, and for each the greatest number on the way to it; infinite if an intermediate result is not a number.
struct Outcome {
  std::vector<Array> outputs;
  std::vector<double> greatest;
};

Outcome outcome_of(const Graph& graph, std::span<const Array> inputs) {
  Graph everything = graph;
  const auto nodes = graph.nodes();
  for (const ops::Node* node : nodes)
    for (std::size_t i = 0; i < node->outputs().size(); ++i) everything.outputs.push_back(node->output(i));
  Outcome outcome;
  outcome.outputs = runtime::interpret(everything, inputs, {1, true});
  std::unordered_map<const ops::Node*, double> greatest;
  auto next = outcome.outputs.begin() + static_cast<std::ptrdiff_t>(graph.outputs.size());
  for (const ops::Node* node : nodes) {
    double& here = greatest[node] = 1;
    for (const Value& operand : node->inputs())
      if (operand) here = std::max(here, greatest.at(operand.node));
    for (std::size_t i = 0; i < node->outputs().size(); ++i, ++next)
      for (const double value : next->doubles())
        here = std::isfinite(value) ? std::max(here, std::abs(value)) : std::numeric_limits<double>::infinity();
  }
  for (const Value& output : graph.outputs) outcome.greatest.push_back(greatest.at(output.node));
  outcome.outputs.resize(graph.outputs.size());
  return outcome;
}

/// The difference of one output; empty if there is none.
std::string difference_of(const Array& before, const Array& after, double scale, std::size_t output) {
  if (before.extents() != after.extents()) return fmt::format("output {} has another shape", output);
  const auto left = before.doubles(), right = after.doubles();
  for (std::size_t k = 0; k < left.size(); ++k)
    if (!(std::abs(left[k] - right[k]) <= tolerance * scale))
      return fmt::format("output {} at {}: {} became {}", output, k, left[k], right[k]);
  return {};
}

}  // namespace

std::int64_t size_of_unknown(std::string_view name) { return name == "N" ? 3 : 2; }

Operator at_sizes(Operator op) {
  std::visit(
      [](auto& o) {
        o.fields(o, [](std::string_view, auto& field) {
          using Member = std::remove_cvref_t<decltype(field)>;
          if constexpr (std::is_same_v<Member, Dim>)
            field = field.evaluate(size_of_unknown);
          else if constexpr (std::is_same_v<Member, std::vector<Dim>>)
            for (Dim& dim : field) dim = dim.evaluate(size_of_unknown);
        });
      },
      op);
  return op;
}

std::vector<Array> Mixture::run(const std::vector<std::optional<Array>>& inputs) const {
  double sum = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    Random weights(mixed(key_, i));
    for (const double value : inputs[i]->doubles()) sum += (weights.unit() - 0.5) * value;
  }
  check(!inputs.empty() && inputs[0].has_value(), "a mixture has an operand");
  Array result(ElementType::float64, inputs[0]->extents());
  std::size_t place = 0;
  for (double& value : result.mutable_values<double>()) value = std::sin(sum + static_cast<double>(place++));
  std::vector<Array> results{std::move(result)};
  if (results_ > 1) results.push_back(Array::of<std::int64_t>({}, {static_cast<std::int64_t>(inputs[0]->rank())}));
  return results;
}

std::vector<ops::Tensor<Field>> Mixture::run(const std::vector<std::optional<ops::Tensor<Field>>>& inputs) const {
  std::uint64_t state = key_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    state = mixed(state, i);
    if (!inputs[i]) continue;
    for (const Field& value : inputs[i]->data) state = mixed(state, value.bits());
  }
  ops::Tensor<Field> result(inputs[0]->extents, Field());
  for (Field& value : result.data) value = Field::from_bits((state = mixed(state, 1)) >> 3);
  std::vector<ops::Tensor<Field>> results{std::move(result)};
  if (results_ > 1)
    results.emplace_back(Extents{}, std::vector<Field>{Field(static_cast<std::int64_t>(inputs[0]->rank()))});
  return results;
}

bool Mixture::same(const OpaqueBody& other) const {
  const auto* mixture = dynamic_cast<const Mixture*>(&other);
  return mixture != nullptr && mixture->key_ == key_ && mixture->results_ == results_;
}

std::vector<ops::Tensor<Field>> evaluate_field(const Graph& graph, std::uint64_t seed, bool whole) {
  Random random(seed);
  std::unordered_map<const ops::Node*, std::vector<ops::Tensor<Field>>> values;
  for (const Value& input : graph.inputs) {
    ops::Tensor<Field> tensor(sizes_of(input.shape()), Field());
    for (Field& element : tensor.data)
      element = whole ? Field(random.between(-9, 9) * 2520) : Field::from_bits(random.next() >> 3);
    values[input.node] = {std::move(tensor)};
  }
  for (const ops::Node* node : graph.nodes()) {
    if (node->as_input() != nullptr) continue;
    if (const Constant* constant = node->as_constant()) {
      const Array array = constant->weight->load();
      std::vector<Field> data;
      for (const double value : array.doubles()) data.push_back(Math<Field>::constant(value));
      values[node] = {ops::Tensor<Field>(array.extents(), std::move(data))};
    } else if (const Opaque* opaque = node->as_opaque()) {
      std::vector<std::optional<ops::Tensor<Field>>> operands;
      for (const Value& value : node->inputs())
        operands.push_back(value ? std::optional(values.at(value.node)[value.output]) : std::nullopt);
      const auto* mixture = dynamic_cast<const Mixture*>(opaque->body.get());
      check(mixture != nullptr, "opaque nodes of random graphs are mixtures");
      values[node] = mixture->run(operands);
    } else {
      std::vector<ops::Tensor<Field>> operands;
      for (const Value& value : node->inputs()) operands.push_back(values.at(value.node)[value.output]);
      values[node] = evaluate<Field>(at_sizes(*node->as_operator()), operands);
    }
  }
  std::vector<ops::Tensor<Field>> outputs;
  for (const Value& value : graph.outputs) outputs.push_back(values.at(value.node)[value.output]);
  return outputs;
}

Agreement compare(const Graph& before, const Graph& after, std::uint64_t seed) {
  check(before.outputs.size() == after.outputs.size(), "graphs that are compared have as many outputs");
  Agreement agreement;
  const auto differs = differences_over_field(before, after, seed);
  const auto real_before = are_of_real_numbers(before), real_after = are_of_real_numbers(after);
  for (std::size_t i = differs.size(); i-- > 0;) {
    if (!differs[i]) continue;
    agreement.field = Agreement::Kind::differs;
    agreement.differs_exactly = agreement.differs_exactly || (!real_before[i] && !real_after[i]);
    agreement.difference = fmt::format("output {} differs over the field", i);
  }
  std::vector<bool> told(before.outputs.size(), false);
  for (const Draw kind : {Draw::whole, Draw::positive, Draw::any}) {
    Random random(seed + static_cast<std::uint64_t>(kind));
    std::vector<Array> inputs;
    for (const Value& input : before.inputs) inputs.push_back(draw(random, sizes_of(input.shape()), kind));
    const Outcome first = outcome_of(before, inputs), second = outcome_of(after, inputs);
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (first.greatest[i] > greatest_number) continue;
      told[i] = true;
      // If only the other graph has results that are not numbers, the difference shows it.
      const double scale = std::max(first.greatest[i], std::isfinite(second.greatest[i]) ? second.greatest[i] : 0);
      const std::string difference = difference_of(first.outputs[i], second.outputs[i], scale, i);
      if (difference.empty()) continue;
      agreement.real = Agreement::Kind::differs;
      agreement.difference = difference;
      return agreement;
    }
  }
  if (std::find(told.begin(), told.end(), false) != told.end()) agreement.real = Agreement::Kind::no_number;
  return agreement;
}

}  // namespace taso::test
