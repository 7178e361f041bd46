#include "tests/runtime/gpu/call_builder.h"

#include <algorithm>
#include <numeric>

namespace taso::test {

ElementType random_type(Random& random, bool has_integers) {
  using enum ElementType;
  const std::vector<ElementType> floats{float32, float32, float32,  float32, float32,
                                        float16, float16, bfloat16, float64};
  const std::vector<ElementType> integers{int32, int64, int8, uint8, int16, uint16, uint32, uint64, boolean};
  return random.pick(has_integers && random.chance(0.1) ? integers : floats);
}

cost::Strides random_strides(Random& random, const Extents& extents) {
  std::vector<std::size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  if (extents.size() > 2 && random.chance(0.3)) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());  // NHWC
  } else if (random.chance(0.2)) {
    random.shuffle(order);
  }
  cost::Strides strides(extents.size());
  std::int64_t next = random.chance(0.05) ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= extents[order[i]];
    if (random.chance(0.08)) next += random.chance(0.5) ? 8 : random.between(1, 5);
  }
  return strides;
}

cost::Call::Operand random_operand(Random& random, ElementType element, const Extents& extents) {
  return {element, extents, random_strides(random, extents), false};
}

std::int64_t elements_of(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

Extents random_extents(Random& random, std::size_t least_rank, std::int64_t most) {
  static const std::vector<std::int64_t> sizes{1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 64, 96};
  for (;;) {
    Extents extents(least_rank + random.below(5 - least_rank));
    for (std::int64_t& extent : extents) extent = random.pick(sizes);
    if (elements_of(extents) <= most) return extents;
  }
}

Extents random_broadcast(Random& random, Extents extents) {
  if (random.chance(0.4)) return extents;
  for (std::int64_t& extent : extents)
    if (random.chance(0.5)) extent = 1;
  if (!extents.empty() && random.chance(0.3))
    extents.erase(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(random.below(extents.size() + 1)));
  return extents;
}

std::uint32_t CallBuilder::apply(std::uint32_t value, const std::vector<std::uint32_t>& others) {
  const bool is_whole = !is_floating(element_);
  std::vector<std::uint32_t> fitting, positive;
  for (const std::uint32_t other : others) {
    if (values[other].size() > values[value].size() || broadcast(values[value], values[other]) != values[value])
      continue;
    fitting.push_back(other);
    if (made.is_positive[other]) positive.push_back(other);
  }
  if (!fitting.empty() && random_.chance(0.6)) {
    const std::uint32_t other = random_.pick(fitting);
    const bool turned = random_.chance(0.3);
    const std::vector<std::uint32_t> both = turned ? std::vector{other, value} : std::vector{value, other};
    switch (random_.below(positive.empty() ? 5 : 7)) {
      case 0: return step(op::Add{}, both);
      case 1: return step(op::Sub{}, both);
      case 2: return step(op::Mul{}, both);
      case 3: return step(op::Max{}, both);
      case 4: return step(op::Min{}, both);
      case 5: return step(op::Div{}, {value, random_.pick(positive)});
      default: {
        const std::uint32_t exponent = random_.pick(positive);
        if (is_whole) return step(op::Pow{}, {value, exponent});
        return step(op::Pow{}, {step(op::Sigmoid{}, {value}), exponent});
      }
    }
  }
  switch (random_.below(is_whole ? 3 : 14)) {
    case 0: return step(op::Relu{}, {value});
    case 1: return step(op::Clip{-1.5, 2}, {value});
    case 2: return step(op::Neg{}, {value});
    case 9: return step(op::LeakyRelu{0.1}, {value});
    case 10: return step(op::Silu{}, {value});
    case 11: return step(op::Reciprocal{}, {step(op::Sigmoid{}, {value})});
    case 3: return step(op::Tanh{}, {value});
    case 4: return step(op::Gelu{random_.chance(0.5)}, {value});
    case 5: return step(op::HardSwish{}, {value});
    case 6: return step(op::Erf{}, {value});
    case 7: return step(op::Exp{}, {step(op::Clip{.high = 1}, {value})});
    case 8: return step(op::Sqrt{}, {step(op::Sigmoid{}, {value})});
    default: return step(op::Sigmoid{}, {value});
  }
}

cost::Strides random_pitch(Random& random, const Extents& extents, bool is_turned) {
  Extents rows = extents;
  if (is_turned) std::swap(rows[rows.size() - 1], rows[rows.size() - 2]);
  if (random.chance(0.3)) rows.back() += random.pick(std::vector<std::int64_t>{8, 64, 8, 64, 3});
  cost::Strides strides = cost::packed(rows, cost::Layout::channels_first);
  if (is_turned) std::swap(strides[rows.size() - 1], strides[rows.size() - 2]);
  return strides;
}

std::uint32_t CallBuilder::turned(std::uint32_t value) {
  op::Transpose turn;
  for (std::size_t i = 0; i < values.at(value).size(); ++i) turn.permutation.push_back(static_cast<std::int64_t>(i));
  random_.shuffle(turn.permutation);
  return step(turn, {value});
}

}  // namespace taso::test
