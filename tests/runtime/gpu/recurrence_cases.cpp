// Random recurrent networks: all directions, activations, initial states, lengths and layouts.
#include "tests/runtime/gpu/function_maker.h"

namespace taso::test::functions {
namespace {

/// So small that errors of rounding do not grow along a sequence.
Array small_array(Random& random, ElementType type, const Extents& extents) {
  std::vector<double> list;
  for (std::int64_t i = count(extents); i > 0; --i) list.push_back(random.unit() - 0.5);
  return Array::of<double>(extents, list).cast(type);
}

/// Adds an operand, or leaves it out.
void add_sometimes(Maker& m, bool is_there, const std::function<Array()>& make) {
  is_there ? static_cast<void>(m.add(make())) : m.omit();
}

void add_recurrence(Maker& m, std::int64_t gates, std::size_t activations) {
  static const std::vector<std::string> names{"Sigmoid",         "Tanh",       "Relu",        "Affine", "LeakyRelu",
                                              "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu",    "Softsign",
                                              "Softplus"};
  Random& random = m.random;
  const ElementType type = random.pick(floats);
  const std::string direction = random.pick(std::vector<std::string>{"forward", "reverse", "bidirectional"});
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const std::int64_t steps = random.between(1, 6), batches = random.between(1, 3), inputs = random.between(1, 40),
                     hidden = random.between(1, random.chance(0.3) ? 70 : 9);
  const bool is_batch_first = random.chance(0.3);
  const auto turned = [&](Extents extents) {
    if (is_batch_first) std::swap(extents[0], extents[1]);
    return extents;
  };
  const auto small = [&](const Extents& extents) {
    return [&, extents] { return small_array(random, type, extents); };
  };
  m.add(small(turned({steps, batches, inputs}))());
  m.add(small({directions, gates * hidden, inputs})());
  m.add(small({directions, gates * hidden, hidden})());
  add_sometimes(m, random.chance(0.7), small({directions, 2 * gates * hidden}));
  add_sometimes(m, random.chance(0.5), [&] {
    std::vector<std::int32_t> lengths;
    for (std::int64_t i = 0; i < batches; ++i) lengths.push_back(static_cast<std::int32_t>(random.between(0, steps)));
    return Array::of<std::int32_t>({batches}, lengths);
  });
  add_sometimes(m, random.chance(0.5), small(turned({directions, batches, hidden})));
  if (gates == 4) {
    add_sometimes(m, random.chance(0.5), small(turned({directions, batches, hidden})));
    add_sometimes(m, random.chance(0.3), small({directions, 3 * hidden}));
  }
  m.set("direction", direction);
  m.set("hidden_size", hidden);
  if (is_batch_first) m.set("layout", std::int64_t{1});
  if (random.chance(0.5)) m.set("linear_before_reset", std::int64_t{1});
  if (random.chance(0.3)) m.set("input_forget", std::int64_t{1});
  if (random.chance(0.3)) m.set("clip", 0.5);
  if (random.chance(0.5)) {
    std::vector<std::string> chosen;
    for (std::size_t i = 0; i < activations * static_cast<std::size_t>(directions); ++i)
      chosen.push_back(random.pick(names));
    m.set("activations", chosen);
    if (random.chance(0.5)) m.set("activation_alpha", std::vector<double>{0.5, 0.25});
    if (random.chance(0.5)) m.set("activation_beta", std::vector<double>{0.125});
  }
  m.made.results = gates == 4 ? 3 : 2;
}

}  // namespace

void add_recurrent_functions(Table& table) {
  table["RNN"] = [](Maker& m) { add_recurrence(m, 1, 1); };
  table["GRU"] = [](Maker& m) { add_recurrence(m, 3, 2); };
  table["LSTM"] = [](Maker& m) { add_recurrence(m, 4, 3); };
}

}  // namespace taso::test::functions
