// Random graphs whose values nearly all have one shape, so that kernels can fuse and any operand can replace another;
// and a view of such a graph that can be changed.
#pragma once

#include "cost/plan/graph_view.h"
#include "ops/core/random.h"
#include "tests/cost/plain_body.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

/// A value of some extents, with zeros around it.
inline Value widened(Pool& pool, const Value& value, const Shape& shape) {
  std::vector<std::int64_t> after;
  for (std::size_t i = 0; i < shape.size(); ++i)
    after.push_back(shape[i].known().value() - value.shape()[i].known().value());
  return pool.apply(op::Pad{std::vector<std::int64_t>(shape.size(), 0), after}, {value});
}

/// A value that is corrected along one axis or several, one after the other: slices of it in their own places, and
/// parts of others between them. Now and then something is not as it must be for the value to be computed in place.
template <class Some>
Value corrected(Pool& pool, Random& random, Value value, const Value& column, const Some& some,
                std::vector<Value>& values) {
  const Shape shape = value.shape();
  for (std::size_t rounds = 1 + random.below(3); rounds > 0; --rounds) {
    const auto axis = static_cast<std::int64_t>(random.chance(0.1) ? 0 : 1 + random.below(3));
    const std::int64_t length = shape[static_cast<std::size_t>(axis)].known().value();
    if (random.chance(0.1)) values.push_back(value);
    std::vector<std::int64_t> ends;
    for (std::int64_t end = 0; end < length; ends.push_back(end))
      end += 1 + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(length - end)));
    std::vector<Value> parts(ends.size());
    const auto slice = [&](const Value& of, std::size_t i) {
      const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
      const std::int64_t moved = random.chance(0.05) ? length - ends[i] - begin : 0;  // to another place
      return pool.apply(op::Slice{axis, begin + moved, ends[i] + moved}, {of});
    };
    const std::size_t first_kept = random.below(2);
    for (std::size_t i = 1 - first_kept; i < parts.size(); i += 2) {
      Value& part = parts[i];
      part = slice(some(), i);
      switch (random.below(5)) {
        case 0: part = pool.apply(op::Relu{}, {part}); break;
        case 1: part = pool.apply(op::MaxPool{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, {part}); break;
        case 2: part = pool.apply(op::Sigmoid{}, {part}); break;
        case 3:
          if (axis != 1) part = pool.apply(op::Add{}, {part, column});
          break;
        default: break;
      }
      if (random.chance(0.1)) values.push_back(widened(pool, part, shape));
    }
    if (random.chance(0.5)) value = pool.apply(op::Relu{}, {value});  // after the corrections
    for (std::size_t i = first_kept; i < parts.size(); i += 2) {
      parts[i] = slice(value, i);
      if (random.chance(0.05)) values.push_back(widened(pool, parts[i], shape));
    }
    while (parts.size() > 1) {
      const std::size_t at = random.below(parts.size() - 1);
      parts[at] = pool.apply(op::Concat{axis}, {parts[at], parts[at + 1]});
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    value = parts.front();
  }
  return value;
}

/// A value of these extents whose heads, along axis 1, are those of a part of x, each several times in a row. Now and
/// then they are repeated along another axis, or by way of a shape without batches, or something else reads the copies.
template <class Some>
Value with_repeated_heads(Pool& pool, Random& random, const Value& x, const Some& some, std::vector<Value>& values) {
  const Extents whole = *static_extents(x.shape());
  const std::int64_t heads = random.chance(0.3) ? 1 : 2, each = 4 / heads;
  const std::size_t axis = random.chance(0.1) ? 2 : 1;
  Extents apart = whole;
  apart[axis] = heads;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  Extents many = apart;
  many[axis + 1] = each;
  const Value part =
      pool.apply(op::Slice{static_cast<std::int64_t>(axis), 0, heads}, {random.chance(0.3) ? some() : x});
  const Value target = pool.constant(
      "target" + std::to_string(heads) + std::to_string(axis), {ElementType::int64, shape_of({5})},
      std::make_shared<HeldWeight>(Array::of<std::int64_t>({5}, std::vector<std::int64_t>(many.begin(), many.end()))));
  Value result = apply_plain(pool, plain("Expand"), {ElementType::float32, shape_of(many)},
                             {pool.apply(op::Reshape{shape_of(apart)}, {part}), target});
  if (random.chance(0.3))
    result = pool.apply(op::Reshape{shape_of({whole[0] * whole[1], whole[2], whole[3]})}, {result});
  result = pool.apply(op::Reshape{x.shape()}, {result});
  if (random.chance(0.1)) values.push_back(result);
  return result;
}

/// [batch, 4, 4, 4]
inline Graph random_plan_graph(Random& random, std::int64_t batch, std::size_t steps) {
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const Type type{ElementType::float32, shape_of({batch, 4, 4, 4})};
  const auto constant = [&](const char* name, const Extents& extents) {
    Random data(std::hash<std::string_view>{}(name) % 1000);
    return pool.constant(name, {ElementType::float32, shape_of(extents)},
                         std::make_shared<HeldWeight>(random_array(data, ElementType::float32, extents)));
  };
  const Value full = constant("full", {4, 4, 3, 3}), deep = constant("deep", {4, 1, 3, 3}), vec = constant("vec", {4}),
              image = constant("image", {1, 4, 1, 1}), column = constant("column", {4, 1, 1}),
              matrix = constant("matrix", {4, 4});
  // So small that rounding to the next step does not affect comparisons.
  const Value step = pool.constant("step", {ElementType::float32, Shape{}},
                                   std::make_shared<HeldWeight>(Array::scalar(0x1p-9F))),
              steps_of_slices = pool.constant(
                  "steps", {ElementType::float32, shape_of({4})},
                  std::make_shared<HeldWeight>(Array::of<float>({4}, {0x1p-9F, 0x1p-8F, 0x1.5p-9F, 0x1p-9F}))),
              nothing = pool.constant("nothing", {ElementType::float32, Shape{}},
                                      std::make_shared<HeldWeight>(Array::scalar(0.0F))),
              zero = pool.constant("zero", {ElementType::int16, Shape{}},
                                   std::make_shared<HeldWeight>(Array::scalar(std::int16_t{5}))),
              zeros = pool.constant("zeros", {ElementType::int16, shape_of({4})},
                                    std::make_shared<HeldWeight>(Array::of<std::int16_t>({4}, {0, 3, -700, 9})));
  std::vector<std::int8_t> few;
  for (std::size_t i = 0; i < 4 * 4 * 3 * 3; ++i) few.push_back(static_cast<std::int8_t>(i * 37 % 255 - 127));
  const Value made = apply_plain(  // a filter that is computed in advance
      pool, plain("DequantizeLinear", 0), full.type(),
      {pool.constant("few", {ElementType::int8, full.shape()},
                     std::make_shared<HeldWeight>(Array::of<std::int8_t>({4, 4, 3, 3}, few))),
       steps_of_slices});
  std::vector<Value> values;
  for (const char* name : {"x", "y"}) values.push_back(pool.input(name, type));
  graph.inputs = values;
  const auto some = [&] {
    return values[random.chance(0.6) && values.size() > 4 ? values.size() - 1 - random.below(4)
                                                          : random.below(values.size())];
  };
  const std::vector<std::int64_t> one{1, 1}, pads{1, 1, 1, 1}, three{3, 3};
  for (std::size_t i = 0; i < steps; ++i) {
    const Value x = some();
    Value result;
    switch (random.below(28)) {
      case 0: result = pool.apply(op::Conv{one, one, pads, 1}, {x, random.chance(0.3) ? made : full}); break;
      case 1: result = pool.apply(op::Conv{one, one, pads, 4}, {x, deep, vec}); break;
      case 2: result = pool.apply(op::MatMul{}, {x, some()}); break;
      case 3: result = pool.apply(op::MatMul{}, {x, matrix}); break;
      case 4: result = pool.apply(op::Relu{}, {x}); break;
      case 5: result = pool.apply(op::Sigmoid{}, {x}); break;
      case 6: result = pool.apply(op::Add{}, {x, some()}); break;
      case 7: {
        const Value other = random.chance(0.5) ? (random.chance(0.5) ? image : column) : some();
        result = random.chance(0.5) ? pool.apply(op::Add{}, {x, other}) : pool.apply(op::Add{}, {other, x});
        break;
      }
      case 8: result = pool.apply(op::Mul{}, {x, random.chance(0.5) ? image : some()}); break;
      case 9: result = pool.apply(op::BatchNorm{}, {x, vec, vec, vec, vec}); break;
      case 10: result = pool.apply(op::Softmax{3}, {x}); break;
      case 11: result = pool.apply(op::LayerNorm{3}, {x, vec}); break;
      case 12: {
        std::vector<std::int64_t> permutation{1, 2, 3};
        random.shuffle(permutation);
        permutation.insert(permutation.begin(), 0);
        result = pool.apply(op::Transpose{permutation}, {x});
        break;
      }
      case 13: result = pool.apply(op::MaxPool{three, one, one, pads}, {x}); break;
      case 14: {  // joined, read, split again
        const auto axis = static_cast<std::int64_t>(random.below(4));
        Value joined = pool.apply(op::Concat{axis}, {x, some()});
        const std::int64_t length = axis == 0 ? batch : 4;
        if (random.chance(0.5)) {
          joined = pool.apply(op::Concat{axis}, {joined, some()});
          const ops::Node& first = pool.add(op::Split{axis, length}, std::vector{joined});
          values.push_back(first.output(0));
          joined = first.output(1);
        }
        if (random.chance(0.3)) joined = pool.apply(op::Relu{}, {joined});
        const ops::Node& cut = pool.add(op::Split{axis, length}, std::vector{joined});
        values.push_back(cut.output(0));
        result = cut.output(1);
        break;
      }
      case 15: {
        const auto axis = static_cast<std::int64_t>(1 + random.below(3));
        std::vector<std::int64_t> before(4, 0);
        before[static_cast<std::size_t>(axis)] = 1;
        const Value padded = pool.apply(op::Pad{before, {0, 0, 0, 0}}, {x});
        const std::int64_t begin = static_cast<std::int64_t>(random.below(2));
        result = pool.apply(op::Slice{axis, begin, begin + 4}, {padded});
        break;
      }
      case 16: {
        const Value flat =
            pool.apply(op::Reshape{shape_of(random.chance(0.5) ? Extents{batch * 64} : Extents{batch, 4, 2, 8})}, {x});
        result = pool.apply(op::Reshape{*type.shape}, {random.chance(0.5) ? pool.apply(op::Relu{}, {flat}) : flat});
        break;
      }
      case 17: {  // joined repeatedly, each result used, and split, not always at multiples of four channels
        Value joined = x;
        std::int64_t channels = 4;
        for (std::size_t j = 1 + random.below(3); j > 0; --j, channels += 4) {
          joined = pool.apply(op::Concat{1}, {joined, some()});
          const std::int64_t begin = static_cast<std::int64_t>(random.below(5));
          values.push_back(pool.apply(op::Slice{1, begin, begin + 4}, {joined}));
        }
        const std::int64_t at = 1 + static_cast<std::int64_t>(random.below(4));
        const ops::Node& cut = pool.add(op::Split{1, at}, std::vector{joined});
        const Value again = pool.apply(op::Concat{1}, {cut.output(1), pool.apply(op::Relu{}, {cut.output(0)})});
        const ops::Node& half = pool.add(op::Split{1, 4}, std::vector{again});
        values.push_back(pool.apply(op::MaxPool{three, one, one, pads}, {half.output(0)}));
        result = pool.apply(op::Slice{1, channels - 8, channels - 4}, {half.output(1)});
        break;
      }
      case 18:
      case 19: {  // a product with several uses
        Value product = random.chance(0.5) ? pool.apply(op::Conv{one, one, pads, 1}, {x, full})
                                           : pool.apply(op::MatMul{}, {x, matrix});
        if (random.chance(0.5)) product = pool.apply(op::Add{}, {product, random.chance(0.7) ? image : some()});
        const Value gate =
            pool.apply(op::Sigmoid{}, {random.chance(0.5) ? pool.apply(op::Mul{}, {product, image}) : product});
        result = pool.apply(op::Mul{}, {product, gate});
        if (random.chance(0.3)) values.push_back(product);
        if (random.chance(0.3)) result = pool.apply(op::Add{}, {result, random.chance(0.5) ? product : some()});
        break;
      }
      case 20: {  // quantised and dequantised
        const bool by_slices = random.chance(0.5);
        const auto axis = static_cast<std::int64_t>(1 + random.below(3)) - (random.chance(0.5) ? 4 : 0);
        const auto operands = [&](const Value& value) {
          return std::vector{value, by_slices ? steps_of_slices : step, by_slices ? zeros : zero};
        };
        const Value quantised =
            apply_plain(pool, plain("QuantizeLinear", axis), {ElementType::int16, type.shape}, operands(x));
        result = apply_plain(pool, plain("DequantizeLinear", axis), type, operands(quantised));
        break;
      }
      case 21: {  // the smaller of the two
        const Value other = random.chance(0.5) ? (random.chance(0.5) ? image : column) : some();
        const Value is_less = apply_plain(pool, plain(random.chance(0.5) ? "Less" : "LessOrEqual"),
                                          {ElementType::boolean, type.shape}, {x, other});
        result = apply_plain(pool, plain("Where"), type, {is_less, x, other});
        break;
      }
      case 22:
      case 23: {
        Value fast = x;
        switch (random.below(6)) {
          case 0: fast = pool.apply(op::Conv{one, one, pads, 1}, {x, full}); break;
          case 1: fast = pool.apply(op::Relu{}, {x}); break;
          case 2: fast = pool.apply(op::MatMul{}, {x, matrix}); break;
          case 3:
          case 4: {  // by way of other shapes
            fast = pool.apply(op::Transpose{{2, 1, 0, 3}},
                              {pool.apply(op::Reshape{shape_of({4, 2, 2 * batch, 4})}, {fast})});
            fast = pool.apply(op::Reshape{*type.shape}, {fast});
            break;
          }
          default: {  // joined, and one part has another use
            const auto axis = static_cast<std::int64_t>(1 + random.below(2));
            const ops::Node& cut =
                pool.add(op::Split{axis, 1 + static_cast<std::int64_t>(random.below(3))}, std::vector{x});
            const Value first = pool.apply(op::Relu{}, {cut.output(0)});
            fast = pool.apply(op::Concat{axis}, {first, pool.apply(op::Tanh{}, {cut.output(1)})});
            if (random.chance(0.3)) values.push_back(widened(pool, first, x.shape()));
            if (random.chance(0.4))
              fast = pool.apply(op::Reshape{*type.shape}, {pool.apply(op::Reshape{shape_of({batch, 8, 8})}, {fast})});
          }
        }
        result = corrected(pool, random, fast, column, some, values);
        if (random.chance(0.2)) result = pool.apply(op::Concat{1}, {result, some()});
        if (result.shape()[1].known() != 4) result = pool.apply(op::Slice{1, 0, 4}, {result});
        break;
      }
      case 24: {
        const std::vector<std::int64_t> two{2, 2}, none{0, 0}, uneven{2, 2, 3, 3};
        const bool apart = random.chance(0.5), deeply = random.chance(0.5);
        const op::ConvTranspose conv{apart ? two : one, one, apart ? uneven : pads, none, deeply ? 4 : 1};
        result = random.chance(0.5) ? pool.apply(conv, {x, deeply ? deep : full})
                                    : pool.apply(conv, {x, deeply ? deep : full, vec});
        break;
      }
      case 25: {  // attention, or nearly
        const auto turned = [&](const Value& value, const std::vector<std::int64_t>& permutation) {
          return random.chance(0.4) ? pool.apply(op::Transpose{permutation}, {value}) : value;
        };
        const bool is_grouped = random.chance(0.4);
        const auto repeated = [&](const Value& value) {
          return is_grouped && random.chance(0.9) ? with_repeated_heads(pool, random, value, some, values) : value;
        };
        Value keys =
            is_grouped ? pool.apply(op::Transpose{{0, 1, 3, 2}}, {repeated(some())}) : turned(some(), {0, 2, 3, 1});
        if (random.chance(0.2)) keys = pool.apply(op::Mul{}, {keys, step});
        Value scores = pool.apply(op::MatMul{}, {turned(x, {0, 2, 1, 3}), keys});
        for (std::size_t j = random.below(3); j > 0; --j)
          scores =
              random.chance(0.5) ? pool.apply(op::Mul{}, {scores, image}) : pool.apply(op::Add{}, {some(), scores});
        if (random.chance(0.1)) values.push_back(scores);
        Value shares = pool.apply(op::Softmax{random.chance(0.1) ? 2 : 3}, {scores});
        if (random.chance(0.1)) values.push_back(shares);
        if (random.chance(0.1)) shares = pool.apply(op::Relu{}, {shares});
        if (random.chance(0.3)) {
          const Value is_nan = apply_plain(pool, plain("IsNaN"), {ElementType::boolean, shares.shape()}, {shares});
          shares = apply_plain(pool, plain("Where"), shares.type(),
                               {is_nan, random.chance(0.9) ? nothing : step, random.chance(0.9) ? shares : x});
          if (random.chance(0.1)) values.push_back(shares);
        }
        result = random.chance(0.1) ? pool.apply(op::MatMul{}, {some(), shares})
                                    : pool.apply(op::MatMul{}, {shares, turned(repeated(some()), {0, 2, 1, 3})});
        if (random.chance(0.2)) result = pool.apply(op::Relu{}, {result});
        if (random.chance(0.3)) result = pool.apply(op::Transpose{{0, 2, 1, 3}}, {result});
        break;
      }
      default: {
        // What a row is reduced to, mostly spread over the same row again.
        std::vector<std::int64_t> axes{3};
        if (random.chance(0.3))
          axes = random.chance(0.5) ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{2, 3};
        const bool is_kept = axes.front() > 1 || random.chance(0.8);
        Value number =
            pool.apply(op::ReduceMean{axes, is_kept}, {random.chance(0.5) ? pool.apply(op::Tanh{}, {x}) : x});
        if (!is_kept) number = pool.apply(op::Reshape{shape_of({batch, 1, 4, 4})}, {number});
        for (std::size_t j = random.below(3); j > 0; --j) number = pool.apply(op::Sigmoid{}, {number});
        if (random.chance(0.1)) values.push_back(pool.apply(op::Mul{}, {some(), number}));
        const Value spread = random.chance(0.2) ? some() : x;
        result = random.chance(0.5) ? pool.apply(op::Mul{}, {spread, number}) : pool.apply(op::Sub{}, {number, spread});
        if (random.chance(0.3)) result = pool.apply(op::Mul{}, {result, random.chance(0.5) ? image : some()});
      }
    }
    values.push_back(result);
  }
  graph.outputs = {values.back(), some(), some()};
  return graph;
}

/// A copy of a view in which operands and outputs can be exchanged.
class ChangingGraph : public cost::GraphView {
 public:
  explicit ChangingGraph(const cost::WholeGraph& view)
      : cost::GraphView(view.layout()), view_(view), operands_(view.nodes()), users_(view.values()) {
    for (std::uint32_t i = 0; i < view.nodes(); ++i)
      for (std::size_t j = 0; j < view.operands(cost::PlanNode{i}); ++j)
        operands_[i].push_back(view.operand(cost::PlanNode{i}, j));
    for (std::uint32_t i = 0; i < view.values(); ++i) outputs_.push_back(view.is_output(cost::PlanValue{i}));
    find_users();
  }
  void set_operand(cost::PlanNode node, std::size_t index, cost::PlanValue value) {
    operands_[cost::place(node)][index] = value;
    find_users();
  }
  void set_output(cost::PlanValue value, bool output) { outputs_[cost::place(value)] = output; }

  const Operator* op(cost::PlanNode node) const override { return view_.op(node); }
  const Opaque* opaque(cost::PlanNode node) const override { return view_.opaque(node); }
  bool is_free(cost::PlanNode node) const override { return view_.is_free(node); }
  std::size_t operands(cost::PlanNode node) const override { return view_.operands(node); }
  cost::PlanValue operand(cost::PlanNode node, std::size_t index) const override {
    return operands_[cost::place(node)][index];
  }
  std::size_t results(cost::PlanNode node) const override { return view_.results(node); }
  cost::PlanValue result(cost::PlanNode node, std::size_t index) const override { return view_.result(node, index); }
  cost::PlanNode producer(cost::PlanValue value) const override { return view_.producer(value); }
  std::size_t users(cost::PlanValue value) const override { return users_[cost::place(value)].size(); }
  cost::PlanNode user(cost::PlanValue value, std::size_t index) const override {
    return users_[cost::place(value)][index];
  }
  bool is_output(cost::PlanValue value) const override { return outputs_[cost::place(value)]; }
  bool is_weight(cost::PlanValue value) const override { return view_.is_weight(value); }
  std::optional<double> number(cost::PlanValue value) const override { return view_.number(value); }
  ElementType element(cost::PlanValue value) const override { return view_.element(value); }
  const Extents* extents(cost::PlanValue value) const override { return view_.extents(value); }

 private:
  void find_users() {
    for (auto& users : users_) users.clear();
    for (std::uint32_t i = 0; i < operands_.size(); ++i)
      for (const cost::PlanValue value : operands_[i]) {
        auto& users = users_[cost::place(value)];
        if (users.empty() || users.back() != cost::PlanNode{i}) users.push_back(cost::PlanNode{i});
      }
  }
  const cost::WholeGraph& view_;
  std::vector<std::vector<cost::PlanValue>> operands_;
  std::vector<std::vector<cost::PlanNode>> users_;
  std::vector<bool> outputs_;
};

}  // namespace taso::test
