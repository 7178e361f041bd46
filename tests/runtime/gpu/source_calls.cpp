#include "tests/runtime/gpu/source_calls.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ops/core/error.h"
#include "tests/runtime/gpu/call_builder.h"

namespace taso::test {

RandomCall random_element_wise(Random& random) {
  const ElementType element = random_type(random, true);
  CallBuilder builder(random, element);
  const bool is_large = random.chance(0.2);  // only then several elements are moved at once
  const Extents extents =
      is_large ? Extents{random.between(1, 3), 96, 16, random.chance(0.8) ? 48 : 49} : random_extents(random, 0, 6000);
  std::vector<std::uint32_t> reads{builder.read(extents)};
  for (std::size_t i = random.below(4); i > 0; --i)
    reads.push_back(builder.read(random_broadcast(random, extents), random.chance(0.4)));
  const bool has_norm = is_floating(element) && extents.size() > 1 && random.chance(0.2);
  std::vector<std::uint32_t> norm;
  for (std::size_t i = 0; has_norm && i < 4; ++i) norm.push_back(builder.read({extents[1]}, i == 3));
  if (has_norm && norm[0] == 1 && random.chance(0.5)) norm[0] = norm[3];
  std::vector<std::uint32_t> made{0};
  for (std::size_t i = 1 + random.below(6); i > 0; --i)
    made.push_back(builder.apply(random.pick(made), random.chance(0.7) ? reads : made));
  if (has_norm)
    made.push_back(builder.step(op::BatchNorm{1e-3}, {random.pick(made), norm[0], norm[1], norm[2], norm[3]}));
  builder.write(made.back());
  if (random.chance(0.2)) builder.write(random.pick(made));
  builder.made.call.kind = cost::Kernel::Kind::element_wise;
  return builder.made;
}

RandomCall random_rows(Random& random) {
  const std::size_t kind = random.below(6);
  const ElementType element = random_type(random, kind >= 3);
  CallBuilder builder(random, element);
  Extents extents = random_extents(random, kind == 2 ? 3 : 1, 20000);
  if (random.chance(0.2)) {  // sizes of transformers and classifiers, and rows too long to be kept
    const std::vector<Extents> usual{{1, 12, 32, 128}, {1, 24, 768}, {1, 512, 7, 7}, {2, 256, 49},
                                     {1, 1000},        {2, 40000},   {40, 256}};
    extents = random.pick(usual);
    if (kind == 2 && extents.size() < 3) extents = {1, 256, 7, 7};
  }
  const std::uint32_t x = builder.read(extents);
  std::vector<std::uint32_t> reads{x};
  for (std::size_t i = random.below(3); i > 0; --i)
    reads.push_back(builder.read(random_broadcast(random, extents), random.chance(0.4)));

  Operator op;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (random.chance(0.4)) axes.push_back(static_cast<std::int64_t>(i));
  if (random.chance(0.3)) axes = {static_cast<std::int64_t>(extents.size() - 1)};
  const auto axis = static_cast<std::int64_t>(random.chance(0.5) ? extents.size() - 1 : random.below(extents.size()));
  std::vector<std::uint32_t> factors;
  const auto trailing = [&] {
    const Extents tail(extents.begin() + axis, extents.end());
    return random.chance(0.7) ? tail : random_broadcast(random, extents);
  };
  switch (kind) {
    case 0: op = op::Softmax{axis}; break;
    case 1:
      op = op::LayerNorm{axis, 1e-3};
      for (std::size_t i = 1 + random.below(2); i > 0; --i) factors.push_back(builder.read(trailing()));
      break;
    case 2: op = op::GlobalAveragePool{}; break;
    case 3: op = op::ReduceSum{axes, random.chance(0.5)}; break;
    case 4: op = op::ReduceMean{axes, random.chance(0.5)}; break;
    default: op = op::ReduceMax{axes, random.chance(0.5)};
  }
  Shapes shapes{shape_of(extents)};
  for (const std::uint32_t factor : factors) shapes.push_back(shape_of(builder.values[factor]));
  const Extents result = extents_of(infer(op, shapes)[0]);
  std::vector<std::uint32_t> later;
  for (std::size_t i = random.below(3); i > 0; --i)
    later.push_back(builder.read(random_broadcast(random, result), random.chance(0.4)));

  std::uint32_t value = x;
  for (std::size_t i = random.below(4); i > 0; --i) value = builder.apply(value, reads);
  std::vector<std::uint32_t> operands{value};
  operands.insert(operands.end(), factors.begin(), factors.end());
  builder.made.call.main = builder.made.call.steps.size();
  value = builder.step(op, operands);
  if (std::holds_alternative<op::Softmax>(op)) builder.made.call.steps.back().zeroes_nan = random.chance(0.3);
  for (std::size_t i = random.below(4); i > 0; --i) value = builder.apply(value, later);
  if (kind >= 2 && (result.size() == extents.size() || elements_of(result) == 1) && random.chance(0.5)) {
    const std::uint32_t row = random.pick(reads);  // a number for each row is spread over the row again
    if (builder.values[row] == extents) {
      value = builder.step(op::Sub{}, random.chance(0.5) ? std::vector{value, row} : std::vector{row, value});
      for (std::size_t i = random.below(3); i > 0; --i) value = builder.apply(value, reads);
    }
  }
  builder.write(value);
  builder.made.call.kind = cost::Kernel::Kind::rows;
  return builder.made;
}

RandomCall random_pooling(Random& random) {
  for (;;) {
    const std::size_t rank = 1 + random.below(3);
    CallBuilder builder(random, random_type(random, true));
    Extents extents{random.between(1, 2), random.pick(std::vector<std::int64_t>{1, 3, 4, 8, 16, 64})};
    std::vector<std::int64_t> kernel, strides, dilations, pads(2 * rank);
    for (std::size_t i = 0; i < rank; ++i) {
      extents.push_back(random.between(1, rank == 3 ? 9 : 20));
      kernel.push_back(random.chance(0.1) ? extents.back() : random.between(1, 5));
      strides.push_back(random.between(1, 3));
      dilations.push_back(random.chance(0.8) ? 1 : random.between(2, 3));
    }
    if (random.chance(0.8))
      for (std::size_t i = 0; i < 2 * rank; ++i) pads[i] = random.between(0, kernel[i % rank] - 1);
    if (random.chance(0.1)) kernel = Extents(extents.begin() + 2, extents.end());
    const bool ceil = random.chance(0.3);
    const Operator op = random.chance(0.5)
                            ? Operator(op::MaxPool{kernel, strides, dilations, pads, ceil})
                            : Operator(op::AveragePool{kernel, strides, dilations, pads, ceil, random.chance(0.5)});
    try {
      builder.write(builder.step(op, {builder.read(extents)}));
    } catch (const ShapeError&) {
      continue;  // a window that does not fit
    }
    builder.made.call.kind = cost::Kernel::Kind::pooling;
    if (elements_of(builder.values.back()) > 0) return builder.made;
  }
}

RandomCall random_local_response(Random& random) {
  CallBuilder builder(random, random_type(random, false));
  Extents extents{random.between(1, 2), random.pick(std::vector<std::int64_t>{1, 3, 4, 7, 16, 65})};
  for (std::size_t i = 1 + random.below(3); i > 0; --i) extents.push_back(random.between(1, 16));
  op::LocalResponseNorm norm;
  norm.size = random.chance(0.2) ? random.between(1, 100) : random.between(1, 7);
  norm.alpha = random.pick(std::vector<double>{1e-4, 0.5, 3});
  norm.beta = random.pick(std::vector<double>{0.75, 0.75, 0.5, 1, 0.3, -0.4});
  norm.bias = random.pick(std::vector<double>{1, 2, 0.25});
  builder.write(builder.step(norm, {builder.read(extents)}));
  builder.made.call.kind = cost::Kernel::Kind::pooling;
  return builder.made;
}

RandomCall random_transposed_convolution(Random& random) {
  for (;;) {
    const std::size_t rank = 1 + random.below(3);
    CallBuilder builder(random, random_type(random, false));
    op::ConvTranspose conv;
    conv.groups = random.chance(0.6) ? 1 : random.between(2, 3);
    conv.pads.resize(2 * rank);
    Extents x{random.between(1, 2), conv.groups * random.pick(std::vector<std::int64_t>{1, 2, 3, 8, 16})};
    Extents w{x[1], random.pick(std::vector<std::int64_t>{1, 2, 3, 4, 8, 12, 16})};
    for (std::size_t i = 0; i < rank; ++i) {
      x.push_back(random.between(1, rank == 3 ? 4 : 9));
      w.push_back(random.between(1, 5));
      conv.strides.push_back(random.between(1, 4));
      conv.dilations.push_back(random.chance(0.7) ? 1 : random.between(2, 4));
      conv.output_padding.push_back(random.chance(0.7) ? 0 : random.between(1, 3));
      for (const std::size_t side : {i, rank + i}) conv.pads[side] = random.chance(0.4) ? 0 : random.between(0, 3);
    }
    std::vector<std::uint32_t> operands{builder.read(x), builder.read(w)};
    if (random.chance(0.5)) operands.push_back(builder.read({w[1] * conv.groups}));
    if (random.chance(0.6)) {  // in the layout of weights
      cost::Call::Operand& weight = builder.made.call.read[1];
      weight.is_weight = true;
      weight.strides =
          cost::packed(weight.extents, random.chance(0.5) ? cost::Layout::channels_first : cost::Layout::channels_last);
    }
    try {
      builder.write(builder.step(conv, operands));
    } catch (const ShapeError&) {
      continue;  // pads that leave nothing
    }
    builder.made.call.kind = cost::Kernel::Kind::pooling;
    const std::int64_t elements = elements_of(builder.values.back());
    if (elements > 0 && elements < 20000) return builder.made;
  }
}

namespace {

void add_piece(cost::Call& call, std::uint32_t read, std::uint32_t written) {
  const cost::Call::Operand &from = call.read[read], &to = call.written[written];
  call.pieces.push_back({read, written, 0, 0, from.extents, to.extents, from.strides, to.strides});
}

/// A number as a random product of factors.
Extents random_factors(Random& random, std::int64_t number) {
  Extents factors;
  while (number > 1) {
    std::int64_t factor = random.between(2, std::min<std::int64_t>(number, 40));
    while (number % factor != 0) ++factor;
    factors.push_back(factor);
    number /= factor;
  }
  random.shuffle(factors);
  return factors;
}

void add_padding(Random& random, cost::Call& call, ElementType element) {
  Operator op;
  Extents extents = random_extents(random, 1, 3000);
  if (extents.size() > 2 && random.chance(0.3)) {
    op::Enlarge enlarge;
    for (std::size_t i = 2; i < extents.size(); ++i) enlarge.kernel.push_back(extents[i] + random.between(0, 3));
    op = enlarge;
  } else {
    op::Pad pad;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      pad.before.push_back(random.chance(0.6) ? 0 : random.between(0, 4));
      pad.after.push_back(random.chance(0.6) ? 0 : random.between(0, 4));
    }
    pad.value = random.chance(0.5) ? 0 : 3;
    op = pad;
  }
  const Shape shape = shape_of(extents);
  call.read.push_back(random_operand(random, element, extents));
  call.written.push_back(random_operand(random, element, extents_of(infer(op, std::span(&shape, 1))[0])));
  call.steps.push_back({op, {0}, 1});
  call.results = {1};
}

}  // namespace

RandomCall random_plain_function(Random& random) {
  using enum ElementType;
  static const std::vector<std::string> names{"Equal",
                                              "Less",
                                              "LessOrEqual",
                                              "Greater",
                                              "And",
                                              "Or",
                                              "Xor",
                                              "GreaterOrEqual",
                                              "Not",
                                              "Where",
                                              "Where",
                                              "QuantizeLinear",
                                              "QuantizeLinear",
                                              "QuantizeLinear",
                                              "DequantizeLinear",
                                              "DequantizeLinear"};
  RandomCall made;
  cost::Call& call = made.call;
  const std::string name = random.pick(names);
  const Extents extents = random_extents(random, 1, 4000);
  call.function = cost::Call::Function{};
  call.function->what.name = name;
  const auto read = [&](ElementType element, const Extents& own, bool is_positive = false) {
    call.function->operands.push_back(static_cast<std::uint32_t>(call.read.size()));
    call.read.push_back(random_operand(random, element, own));
    made.is_positive.push_back(is_positive);
  };
  ElementType result = boolean;
  if (name.ends_with("uantizeLinear")) {
    const bool quantises = name == "QuantizeLinear";
    call.function->what.integers = {0};
    const ElementType real = random.pick(std::vector{float32, float32, float16, bfloat16});
    const ElementType whole = random.pick(quantises ? std::vector{int8, uint8, int16, uint16}
                                                    : std::vector{int8, uint8, int16, uint16, int32, uint32});
    Extents scales = random.chance(0.5) ? Extents{} : Extents{1};
    if (random.chance(0.4)) {
      const std::size_t axis = random.below(extents.size());
      call.function->what.integers = {static_cast<std::int64_t>(axis)};
      scales = {extents[axis]};
    }
    read(quantises ? real : whole, extents);
    read(random.chance(0.7) ? float32 : real, scales, true);
    if (random.chance(0.7)) read(whole, scales);
    result = quantises ? whole : real;
  } else {
    const bool is_logic = name == "And" || name == "Or" || name == "Xor";
    const ElementType element = is_logic || name == "Not" ? boolean
                                : random.chance(0.5)
                                    ? random_type(random, false)
                                    : random.pick(std::vector{int64, int32, int8, uint8, uint16, uint64, boolean});
    if (name == "Where") read(boolean, random_broadcast(random, extents));
    read(element, extents);
    if (name != "Not") read(element, random_broadcast(random, extents));
    if (name != "Not" && random.chance(0.1)) call.function->operands.back() -= 1;  // with itself
    if (name == "Where") result = element;
  }
  call.written.push_back(random_operand(random, result, extents));
  return made;
}

RandomCall random_copy(Random& random) {
  RandomCall made;
  cost::Call& call = made.call;
  call.kind = cost::Kernel::Kind::copy;
  const ElementType element = random_type(random, true);
  switch (random.below(5)) {
    case 0: {  // between two orders of axes, like conversions and transposes; sometimes a cast
      using enum ElementType;
      const bool casts = random.chance(0.5);
      const Extents extents = random.chance(0.3) ? Extents{1, 64, 20, 20} : random_extents(random, 1, 8000);
      const std::vector types{float32, float16, bfloat16, float64, int8, uint8, int16, int32, uint32, int64, boolean};
      const ElementType from = casts ? random.pick(types) : element, to = casts ? random.pick(types) : element;
      call.read.push_back(random_operand(random, from, extents));
      call.written.push_back(random_operand(random, to, extents));
      add_piece(call, 0, 0);
      break;
    }
    case 1: {
      const std::int64_t many = random.pick(std::vector<std::int64_t>{720, 512, 1155, 2400, 4096});
      call.read.push_back(random_operand(random, element, random_factors(random, many)));
      call.written.push_back(random_operand(random, element, random_factors(random, many)));
      add_piece(call, 0, 0);
      break;
    }
    case 2:
    case 3: {  // parts joined, or a whole split
      const bool joins = random.chance(0.5);
      Extents whole = random_extents(random, 1, 2000);
      const std::size_t axis = random.below(whole.size());
      std::vector<Extents> parts;
      whole[axis] = 0;
      for (std::size_t i = 1 + random.below(4); i > 0; --i) {
        parts.push_back(whole);
        parts.back()[axis] = random.chance(0.5) ? 8 * random.between(1, 4) : random.between(1, 9);
      }
      for (const Extents& part : parts) whole[axis] += part[axis];
      (joins ? call.written : call.read).push_back(random_operand(random, element, whole));
      std::int64_t begin = 0;
      for (std::uint32_t i = 0; i < parts.size(); ++i) {
        (joins ? call.read : call.written).push_back(random_operand(random, element, parts[i]));
        add_piece(call, joins ? i : 0, joins ? 0 : i);
        cost::Call::Piece& piece = call.pieces.back();
        piece.from_extents = piece.to_extents = parts[i];
        (joins ? piece.to_offset : piece.from_offset) = begin * (joins ? piece.to_strides : piece.from_strides)[axis];
        begin += parts[i][axis];
      }
      if (random.chance(0.3)) call.pieces.pop_back();  // one that already lies in place
      if (call.pieces.empty()) return random_copy(random);
      break;
    }
    default: add_padding(random, call, element);
  }
  made.is_positive.assign(call.read.size(), false);
  return made;
}

RandomCall random_direct_convolution(Random& random) {
  for (;;) {
    const std::size_t rank = random.chance(0.8) ? 2 : 1 + random.below(3);
    CallBuilder builder(random, random_type(random, false));
    const std::int64_t in_group = random.chance(0.6) ? 1 : random.chance(0.1) ? 32 : random.between(1, 8);
    const std::int64_t groups = random.pick(std::vector<std::int64_t>{1, 2, 3, 4, 8, 16, 32, 53, 106, 120});
    const std::int64_t out_of_group = random.chance(0.6) ? in_group : random.between(1, 4);
    Extents x{random.between(1, 2), groups * in_group}, w{groups * out_of_group, in_group};
    op::Conv conv;
    conv.groups = groups;
    conv.pads.resize(2 * rank);
    for (std::size_t i = 0; i < rank; ++i) {
      x.push_back(random.between(1, rank == 3 ? 7 : 16));
      w.push_back(random.pick(std::vector<std::int64_t>{1, 2, 3, 3, 3, 5, 11}));
      conv.strides.push_back(random.between(1, 3));
      conv.dilations.push_back(random.chance(0.8) ? 1 : 2);
      for (const std::size_t side : {i, rank + i})
        conv.pads[side] = random.chance(0.3) ? 0 : random.between(0, w.back() / 2 + 1);
    }
    const Shape shapes[] = {shape_of(x), shape_of(w)};
    Extents y;
    try {
      y = extents_of(infer(conv, shapes)[0]);
    } catch (const ShapeError&) {
      continue;
    }
    if (elements_of(y) == 0 || elements_of(y) > 20000) continue;
    std::vector<std::uint32_t> operands{builder.read(x), builder.read(w)}, later;
    if (random.chance(0.5)) operands.push_back(builder.read({w[0]}));
    for (std::size_t i = random.below(3); i > 0; --i)
      later.push_back(builder.read(random_broadcast(random, y), random.chance(0.4)));
    if (random.chance(0.6)) {  // in the layout of weights
      cost::Call::Operand& weight = builder.made.call.read[1];
      weight.is_weight = true;
      weight.strides =
          cost::packed(weight.extents, random.chance(0.5) ? cost::Layout::channels_first : cost::Layout::channels_last);
    }
    std::uint32_t value = builder.step(conv, operands);
    for (std::size_t i = random.below(4); i > 0; --i) value = builder.apply(value, later);
    builder.write(value);
    builder.made.call.kind = cost::Kernel::Kind::convolution;
    return builder.made;
  }
}

namespace {

/// NHWC, sometimes a part of more channels.
cost::Strides image_strides(Random& random, const Extents& extents) {
  cost::Strides strides = cost::packed(extents, cost::Layout::channels_last);
  if (!random.chance(0.25)) return strides;
  const std::int64_t more = random.pick(std::vector<std::int64_t>{8, 16, 3});
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (i != 1) strides[i] = strides[i] / extents[1] * (extents[1] + more);
  return strides;
}

void add_epilogue(Random& random, CallBuilder& builder, std::uint32_t value, const std::vector<std::uint32_t>& later) {
  for (std::size_t i = random.below(4); i > 0; --i) value = builder.apply(value, later);
  builder.write(value);
}

ElementType tensor_type(Random& random) {
  using enum ElementType;
  return random.pick(std::vector<ElementType>{float32, float32, float16, bfloat16});
}

/// A convolution of images in NHWC with an epilogue. Nothing if its result would be empty or it would take long.
std::optional<RandomCall> random_image_convolution(Random& random, const op::Conv& conv, const Extents& x,
                                                   const Extents& w) {
  const Shape shapes[] = {shape_of(x), shape_of(w)};
  Extents y;
  try {
    y = extents_of(infer(conv, shapes)[0]);
  } catch (const ShapeError&) {
    return {};
  }
  if (elements_of(y) == 0 || elements_of(y) * elements_of(w) / w[0] > 2000000) return {};
  CallBuilder builder(random, tensor_type(random));
  std::vector<std::uint32_t> operands{builder.read(x), builder.read(w)}, later;
  if (random.chance(0.6)) operands.push_back(builder.read({w[0]}));
  for (std::size_t i = random.below(3); i > 0; --i)
    later.push_back(builder.read(random_broadcast(random, y), random.chance(0.4)));
  cost::Call& call = builder.made.call;
  call.read[0].strides = image_strides(random, x);
  call.read[1].strides = cost::packed(w, cost::Layout::channels_last);
  call.read[1].is_weight = random.chance(0.8);
  for (const std::uint32_t operand : later)
    if (call.read[operand].extents == y) call.read[operand].strides = image_strides(random, y);
  add_epilogue(random, builder, builder.step(conv, operands), later);
  if (random.chance(0.8)) call.written[0].strides = image_strides(random, y);
  call.kind = cost::Kernel::Kind::convolution;
  return builder.made;
}

/// Adds a spatial axis to the extents of an input and of filters.
void add_axis(Random& random, op::Conv& conv, Extents& x, Extents& w, std::int64_t extent, std::int64_t taps,
              std::int64_t stride) {
  x.push_back(extent);
  w.push_back(taps);
  conv.strides.push_back(stride);
  conv.dilations.push_back(random.chance(0.8) ? 1 : 2);
  const auto pad = [&] { return random.chance(0.4) ? 0 : random.between(0, taps / 2 + 1); };
  conv.pads.insert(conv.pads.begin() + static_cast<std::ptrdiff_t>(conv.pads.size() / 2), pad());
  conv.pads.push_back(pad());
}

RandomCall random_tensor_convolution(Random& random, bool is_of_pixels = false) {
  for (;;) {
    const std::size_t rank = random.chance(0.8) ? 2 : 1 + random.below(3);
    const std::int64_t channels = random.pick(std::vector<std::int64_t>{3, 8, 16, 24, 32, 40, 64, 96});
    const std::int64_t kernels = random.pick(std::vector<std::int64_t>{1, 7, 16, 20, 32, 48, 64, 66, 130});
    op::Conv conv;
    conv.groups = is_of_pixels || random.chance(0.8) ? 1 : random.between(2, 3);
    Extents x{random.between(1, 2), conv.groups * channels}, w{conv.groups * kernels, channels};
    for (std::size_t i = 0; i < rank; ++i) {
      if (is_of_pixels) {
        x.push_back(1);
        w.push_back(1);
        conv.strides.push_back(1);
        conv.dilations.push_back(1);
        conv.pads.insert(conv.pads.end(), 2, 0);
        continue;
      }
      add_axis(random, conv, x, w, random.between(1, rank == 3 ? 5 : 11),
               random.pick(std::vector<std::int64_t>{1, 1, 2, 3, 3}), random.between(1, 2));
    }
    if (std::optional<RandomCall> made = random_image_convolution(random, conv, x, w)) return *std::move(made);
  }
}

using Sizes = std::vector<std::int64_t>;

/// A matmul of one of these sizes, with batches of up to so many in each of up to two dimensions.
RandomCall random_sized_matmul(Random& random, const Sizes& all_rows, const Sizes& all_columns, const Sizes& depths,
                               std::int64_t most_batches) {
  for (;;) {
    CallBuilder builder(random, tensor_type(random));
    const std::int64_t rows = random.pick(all_rows), columns = random.pick(all_columns), depth = random.pick(depths);
    Extents batch(random.below(3));
    for (std::int64_t& extent : batch) extent = random.between(1, most_batches);
    Extents a = batch, b = random.chance(0.5) ? Extents{} : random_broadcast(random, batch), y = batch;
    a.insert(a.end(), {rows, depth});
    b.insert(b.end(), {depth, columns});
    y.insert(y.end(), {rows, columns});
    if (elements_of(y) * depth > 2000000) continue;
    std::vector<std::uint32_t> operands{builder.read(a), builder.read(b)}, later;
    for (std::size_t i = random.below(3); i > 0; --i)
      later.push_back(builder.read(random_broadcast(random, y), random.chance(0.4)));
    cost::Call& call = builder.made.call;
    // A row is sometimes a part of a longer one; the right factor is sometimes transposed.
    call.read[0].strides = random_pitch(random, a, false);
    call.read[1].strides = random_pitch(random, b, random.chance(0.4));
    call.read[1].is_weight = random.chance(0.6);
    std::uint32_t value = builder.step(op::MatMul{}, operands);
    for (std::size_t i = random.below(4); i > 0; --i) value = builder.apply(value, later);
    builder.write(y.size() > 2 && random.chance(0.3) ? builder.turned(value) : value);
    call.kind = cost::Kernel::Kind::matmul;
    return builder.made;
  }
}

RandomCall with_precision(Random& random, RandomCall made) {
  if (made.call.read[0].element == ElementType::float32 && random.chance(0.6))
    made.call.precision = cost::Precision::tf32;
  return made;
}

}  // namespace

RandomCall random_depthwise_convolution(Random& random) {
  for (;;) {
    op::Conv conv;
    conv.groups = random.pick(std::vector<std::int64_t>{3, 8, 20, 32, 33, 64, 72});
    Extents x{random.between(1, 2), conv.groups}, w{conv.groups, 1};
    for (int i = 0; i < 2; ++i)
      add_axis(random, conv, x, w, random.between(1, 20), random.pick(std::vector<std::int64_t>{1, 2, 3, 3, 5, 7}),
               random.between(1, 3));
    if (std::optional<RandomCall> made = random_image_convolution(random, conv, x, w)) return *std::move(made);
  }
}

RandomCall random_tensor_product(Random& random) {
  const Sizes sizes{1, 3, 8, 16, 17, 40, 64, 72, 128}, depths{8, 16, 32, 64, 72, 200};
  return with_precision(random, random.chance(0.5) ? random_tensor_convolution(random)
                                                   : random_sized_matmul(random, sizes, sizes, depths, 3));
}

RandomCall random_row_product(Random& random) {
  const Sizes rows{1, 1, 1, 2, 3, 4, 8}, columns{1, 4, 8, 16, 40, 72, 128, 264, 1000},
      depths{1, 5, 8, 64, 72, 200, 904};
  return with_precision(random, random.chance(0.3) ? random_tensor_convolution(random, true)
                                                   : random_sized_matmul(random, rows, columns, depths, 2));
}

}  // namespace taso::test
