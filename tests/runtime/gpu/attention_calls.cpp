#include "tests/runtime/gpu/call_builder.h"

namespace taso::test {
namespace {

/// Strides of a factor: rows are often parts of longer ones, as those of queries, keys and values of one product, and
/// heads often lie between rows.
cost::Strides random_factor(Random& random, Extents extents, bool is_turned) {
  const std::size_t last = extents.size() - 1;
  const bool are_between = extents.size() > 2 && random.chance(0.5);
  if (is_turned) std::swap(extents[last], extents[last - 1]);
  if (are_between) std::swap(extents[last - 1], extents[last - 2]);
  cost::Strides strides = random_pitch(random, extents, false);
  if (are_between) std::swap(strides[last - 1], strides[last - 2]);
  if (is_turned) std::swap(strides[last], strides[last - 1]);
  return strides;
}

}  // namespace

RandomCall random_attention(Random& random) {
  static const std::vector<ElementType> types{ElementType::float32, ElementType::float16, ElementType::bfloat16};
  static const std::vector<std::int64_t> sizes{1, 3, 8, 17, 33, 64, 100}, widths{8, 16, 24, 32, 40, 64, 72};
  CallBuilder builder(random, random.pick(types));
  const std::int64_t rows = random.pick(sizes), keys = random.chance(0.25) ? 300 : random.pick(sizes);
  const std::int64_t depth = random.pick(widths), columns = random.pick(widths);
  Extents batch(random.below(4));
  for (std::int64_t& extent : batch) extent = random.between(1, 3);
  const auto with = [](Extents extents, std::int64_t down, std::int64_t across) {
    extents.insert(extents.end(), {down, across});
    return extents;
  };
  const auto factor = [&](std::int64_t down, std::int64_t across) {
    return with(random.chance(0.8) ? batch : random_broadcast(random, batch), down, across);
  };
  const Extents q = with(batch, rows, depth), k = factor(depth, keys), v = factor(keys, columns);
  const Extents scores = with(batch, rows, keys), y = with(batch, rows, columns);
  const std::uint32_t query = builder.read(q), key = builder.read(k), value = builder.read(v);
  std::vector<std::uint32_t> masks;
  for (std::size_t i = random.below(3); i > 0; --i)
    masks.push_back(builder.read(random_broadcast(random, scores), random.chance(0.4)));
  std::optional<std::uint32_t> scale, mask;
  if (random.chance(0.3)) scale = builder.read(random.chance(0.5) ? Extents{} : Extents{1}, true);
  if (random.chance(0.4)) builder.made.masks.push_back(*(mask = builder.read(random_broadcast(random, scores))));
  cost::Call& call = builder.made.call;
  call.read[query].strides = random_factor(random, q, random.chance(0.05));
  call.read[key].strides = random_factor(random, k, random.chance(0.95));
  call.read[value].strides = random_factor(random, v, random.chance(0.05));
  const auto scaled = [&](std::uint32_t rows_of) {
    if (!scale || random.chance(0.3)) return rows_of;
    return builder.step(op::Mul{}, random.chance(0.5) ? std::vector{rows_of, *scale} : std::vector{*scale, rows_of});
  };
  const std::uint32_t left = scaled(query), right = scaled(key);
  std::uint32_t score = builder.step(op::MatMul{}, {left, right});
  for (std::size_t i = random.below(4); i > 0; --i) score = builder.apply(score, masks);
  if (mask) score = builder.step(op::Add{}, {score, *mask});
  const std::uint32_t shares = builder.step(op::Softmax{static_cast<std::int64_t>(scores.size()) - 1}, {score});
  call.steps.back().zeroes_nan = random.chance(mask ? 0.6 : 0.2);
  call.main = call.steps.size();
  const std::uint32_t result = builder.step(op::MatMul{}, {shares, value});
  builder.write(y.size() > 2 && random.chance(0.5) ? builder.turned(result) : result);
  call.kind = cost::Kernel::Kind::attention;
  if (call.read[query].element == ElementType::float32 && random.chance(0.5)) call.precision = cost::Precision::tf32;
  return builder.made;
}

}  // namespace taso::test
