// Random operators with fitting attributes and operand shapes, for property tests of operators.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "ops/core/random.h"
#include "ops/graph/operator.h"

namespace taso::test {

struct RandomShapes {
  std::vector<std::string> symbols;  ///< names of unknown dimensions; if empty, all are numbers
  std::int64_t largest = 6;
  std::size_t most_axes = 5;
  bool empty = true;  ///< sometimes a dimension is 0
};

/// An operator and the shapes of its operands, which its shape inference accepts.
struct Application {
  Operator op;
  Shapes operands;
  Shapes results;
};

inline Dim random_dim(Random& random, const RandomShapes& shapes) {
  if (!shapes.symbols.empty() && random.chance(0.3)) {
    const Dim symbol = Dim::symbol(random.pick(shapes.symbols));
    switch (random.below(6)) {
      case 0: return symbol * random.between(2, 3) + random.between(0, 2);
      case 1: return floor_div(symbol + random.between(0, 3), random.between(2, 4)) + 1;
      default: return symbol;
    }
  }
  if (shapes.empty && random.chance(0.01)) return 0;
  return random.between(1, shapes.largest);
}

inline Shape random_shape(Random& random, const RandomShapes& shapes) {
  Shape shape(std::min(static_cast<std::size_t>(random.pick<int>({0, 1, 2, 2, 3, 3, 4, 4, 4, 5})), shapes.most_axes));
  for (Dim& dim : shape) dim = random_dim(random, shapes);
  return shape;
}

/// Sets the attributes of an operator and the shapes of all operands, given the first. The proposal mostly fits; shape
/// inference decides. Operators without a row here are assumed to work element by element or along an axis, with
/// broadcasting.
class Proposal {
 public:
  Proposal(Random& random, const RandomShapes& shapes, ElementType element)
      : random_(random), shapes_(shapes), element_(element) {}

  template <class Op>
  Shapes operator()(Op& op, const Shape& first) {
    const auto rank = static_cast<std::int64_t>(first.size());
    op.fields(op, [&](std::string_view, auto& field) { guess(field, rank); });
    Shapes operands;
    if (op.max_inputs > 0) operands.push_back(first);
    while (operands.size() < op.min_inputs) operands.push_back(broadcastable(first));
    return operands;
  }

  Shapes operator()(op::ScalarMul&, const Shape& first) { return {first, Shape(random_.below(first.size() + 1), 1)}; }
  Shapes operator()(op::Clip& op, const Shape& first) {
    op.low = random_.chance(0.3) ? -std::numeric_limits<double>::infinity() : random_.pick<double>({-1, -0.0, 0.25});
    op.high = random_.chance(0.3) ? std::numeric_limits<double>::infinity() : random_.pick<double>({1, 6, 0.5});
    return {first};
  }
  Shapes operator()(op::MatMul&, const Shape& first) {
    if (first.size() < 2) return {first, first};
    Shape second = broadcastable(Shape(first.begin(), first.end() - 2));
    second.push_back(first.back());
    second.push_back(random_dim(random_, shapes_));
    return {first, second};
  }
  Shapes operator()(op::Conv& op, const Shape& first) {
    if (first.size() < 3) return {first, first};
    const std::size_t axes = first.size() - 2;
    op.groups = random_.chance(0.4) ? random_.between(1, first[1].known().value_or(1) + 1) : 1;
    const auto channels = exact_div(first[1], op.groups > 0 ? op.groups : 1).value_or(first[1]);
    const auto windows = small_numbers(axes, 1, 3);
    slide(op, windows);
    Shape kernel{random_.between(1, 3) * op.groups, channels};
    kernel.insert(kernel.end(), windows.begin(), windows.end());
    if (random_.chance(0.5)) return {first, kernel, {kernel[0]}};
    return {first, kernel};
  }
  Shapes operator()(op::ConvTranspose& op, const Shape& first) {
    if (first.size() < 3) return {first, first};
    const std::size_t axes = first.size() - 2;
    op.groups = random_.chance(0.4) ? random_.between(1, first[1].known().value_or(1) + 1) : 1;
    const auto windows = small_numbers(axes, 1, 3);
    slide(op, windows);
    op.output_padding = small_numbers(axes, 0, 1);
    Shape kernel{first[1], random_.between(1, 3)};
    kernel.insert(kernel.end(), windows.begin(), windows.end());
    if (random_.chance(0.5)) return {first, kernel, {kernel[1] * op.groups}};
    return {first, kernel};
  }
  Shapes operator()(op::Transpose& op, const Shape& first) {
    op.permutation.clear();
    for (std::size_t i = 0; i < first.size(); ++i) op.permutation.push_back(static_cast<std::int64_t>(i));
    random_.shuffle(op.permutation);
    return {first};
  }
  Shapes operator()(op::AveragePool& op, const Shape& first) {
    op.count_padding = random_.chance(0.5);
    return pool(op, first);
  }
  Shapes operator()(op::MaxPool& op, const Shape& first) { return pool(op, first); }
  Shapes operator()(op::Concat& op, const Shape& first) {
    if (first.empty()) return {first, first};
    op.axis = axis(first);
    Shape second = first;
    second[static_cast<std::size_t>(op.axis)] = random_dim(random_, shapes_);
    return {first, second};
  }
  Shapes operator()(op::Split& op, const Shape& first) {
    if (first.empty()) return {first};
    op.axis = axis(first);
    op.at = part_of(first[static_cast<std::size_t>(op.axis)]);
    return {first};
  }
  Shapes operator()(op::Slice& op, const Shape& first) {
    if (first.empty()) return {first};
    op.axis = axis(first);
    const Dim& length = first[static_cast<std::size_t>(op.axis)];
    op.begin = part_of(length);
    op.end = op.begin + part_of(length - op.begin);
    return {first};
  }
  Shapes operator()(op::Pad& op, const Shape& first) {
    op.before = small_numbers(first.size(), 0, 2);
    op.after = small_numbers(first.size(), 0, 2);
    op.value = random_.pick<double>({0, 0, 1, -0.5});
    return {first};
  }
  Shapes operator()(op::Reshape& op, const Shape& first) {
    op.shape = first;
    for (int step = 0; step < 3; ++step) {
      const std::size_t i = random_.below(op.shape.size() + 1);
      const auto here = op.shape.begin() + static_cast<std::ptrdiff_t>(i);
      if (i + 1 < op.shape.size() && random_.chance(0.5)) {
        *here = *here * *(here + 1);
        op.shape.erase(here + 1);
      } else if (i < op.shape.size() && op.shape[i].is_static() && op.shape[i].value() % 2 == 0) {
        *here = op.shape[i].value() / 2;
        op.shape.insert(here, 2);
      } else {
        op.shape.insert(here, 1);
      }
    }
    return {first};
  }
  Shapes operator()(op::Enlarge& op, const Shape& first) {
    op.kernel.clear();
    for (std::size_t i = 2; i < first.size(); ++i)
      op.kernel.push_back(first[i].known().value_or(1) + random_.between(0, 2));
    return {first};
  }
  Shapes operator()(op::BatchNorm& op, const Shape& first) {
    if (first.size() < 2) return {first, first, first, first, first};
    op.epsilon = random_.pick<double>({1e-5, 1e-3, 0.5});
    const Shape channels{first[1]};
    return {first, channels, channels, channels, channels};
  }
  Shapes operator()(op::LayerNorm& op, const Shape& first) {
    if (first.empty()) return {first, first};
    op.axis = axis(first);
    op.epsilon = random_.pick<double>({1e-5, 1e-12, 0.1});
    const Shape normalised(first.begin() + op.axis, first.end());
    if (random_.chance(0.5)) return {first, normalised, normalised};
    return {first, normalised};
  }
  Shapes operator()(op::LocalResponseNorm& op, const Shape& first) {
    op.size = random_.between(1, 7);
    op.alpha = random_.pick<double>({1e-4, 0.5, 2});
    op.beta = random_.pick<double>({0.75, 0.5, 1});
    op.bias = random_.pick<double>({1, 2, 0.5});
    return {first};
  }
  Shapes operator()(op::ReduceSum& op, const Shape& first) { return reduce(op, first); }
  Shapes operator()(op::ReduceMean& op, const Shape& first) { return reduce(op, first); }
  Shapes operator()(op::ReduceMax& op, const Shape& first) { return reduce(op, first); }
  Shapes operator()(op::IdentityMatrix& op, const Shape&) {
    op.type = element_;
    op.size = random_.between(1, shapes_.largest);
    return {};
  }
  Shapes operator()(op::IdentityKernel& op, const Shape&) {
    diagonal(op);
    op.kernel = small_numbers(static_cast<std::size_t>(random_.between(1, 3)), 0, 1);
    for (std::int64_t& size : op.kernel) size = 2 * size + 1;
    return {};
  }
  Shapes operator()(op::PoolingKernel& op, const Shape&) {
    diagonal(op);
    op.kernel = small_numbers(static_cast<std::size_t>(random_.between(1, 3)), 1, 3);
    return {};
  }
  Shapes operator()(op::Ones& op, const Shape& first) {
    op.type = element_;
    op.shape = {};
    set_shape(op.shape, first);
    return {};
  }

 private:
  void guess(bool& field, std::int64_t) { field = random_.chance(0.5); }
  void guess(std::int64_t& field, std::int64_t rank) { field = rank > 0 ? random_.between(0, rank - 1) : 0; }
  // ONNX holds attributes as float32.
  void guess(double& field, std::int64_t) { field = random_.pick<float>({0.1F, 0.01F, 1.0F / 3, 2, 1e-20F}); }
  void guess(Dim& field, std::int64_t) { field = random_dim(random_, shapes_); }
  void guess(ElementType& field, std::int64_t) { field = element_; }
  template <class T>
  void guess(std::vector<T>& field, std::int64_t rank) {
    field.assign(static_cast<std::size_t>(rank), T(1));
  }

  static void set_shape(Shape& field, const Shape& shape) { field = shape; }
  static void set_shape(Extents& field, const Shape& shape) {
    for (const Dim& dim : shape) field.push_back(dim.known().value_or(2));
  }

  std::int64_t axis(const Shape& shape) { return static_cast<std::int64_t>(random_.below(shape.size())); }
  Dim part_of(const Dim& length) {
    if (const auto known = length.known()) return *known > 0 ? random_.between(0, *known) : 0;
    return random_.chance(0.5) ? floor_div(length, 2) : Dim(random_.between(0, 1));
  }
  std::vector<std::int64_t> small_numbers(std::size_t count, std::int64_t low, std::int64_t high) {
    std::vector<std::int64_t> numbers(count);
    for (std::int64_t& number : numbers) number = random_.between(low, high);
    return numbers;
  }
  /// A shape that broadcasts with the given one.
  Shape broadcastable(const Shape& with) {
    Shape shape = with;
    for (Dim& dim : shape) {
      if (dim == Dim(1) && random_.chance(0.3)) dim = random_dim(random_, shapes_);
      if (random_.chance(0.2)) dim = 1;
    }
    if (random_.chance(0.3)) shape.erase(shape.begin(), shape.begin() + axis(Shape(shape.size() + 1)));
    if (shape.size() < shapes_.most_axes && random_.chance(0.1))
      shape.insert(shape.begin(), random_dim(random_, shapes_));
    return shape;
  }
  void slide(auto& op, const std::vector<std::int64_t>& windows) {
    const std::size_t axes = windows.size();
    op.strides = small_numbers(axes, 1, 2);
    op.dilations = random_.chance(0.5) ? std::vector<std::int64_t>(axes, 1) : small_numbers(axes, 1, 2);
    op.pads = random_.chance(0.4) ? std::vector<std::int64_t>(2 * axes, 0) : small_numbers(2 * axes, 0, 2);
  }
  Shapes pool(auto& op, const Shape& first) {
    op.kernel = small_numbers(first.size() < 2 ? 0 : first.size() - 2, 1, 3);
    slide(op, op.kernel);
    op.ceil = random_.chance(0.3);
    for (std::size_t i = 0; i < op.pads.size(); ++i)
      op.pads[i] = std::min(op.pads[i], op.kernel[i % op.kernel.size()] - 1);
    return {first};
  }
  Shapes reduce(auto& op, const Shape& first) {
    op.keep = random_.chance(0.5);
    op.axes.clear();
    for (std::size_t i = 0; i < first.size(); ++i)
      if (random_.chance(0.4)) op.axes.push_back(static_cast<std::int64_t>(i));
    return {first};
  }
  void diagonal(auto& op) {
    op.type = element_;
    op.groups = random_.between(1, 3);
    op.channels = op.groups * random_.between(1, 2);
  }

  Random& random_;
  const RandomShapes& shapes_;
  ElementType element_;
};

/// An application of this kind of operator whose first operand has the shape `first`, or a random one. Nothing if no
/// fit was found in a few attempts, which never happens if `first` is not given.
inline std::optional<Application> random_application(Random& random, const Operator& kind, const RandomShapes& shapes,
                                                     ElementType element = ElementType::float32,
                                                     const std::optional<Shape>& first = std::nullopt) {
  for (int attempt = 0; attempt < (first ? 4 : 1000); ++attempt) {
    Application application{kind, {}, {}};
    const Shape shape = first ? *first : random_shape(random, shapes);
    Proposal propose(random, shapes, element);
    try {
      application.operands = std::visit([&](auto& op) { return propose(op, shape); }, application.op);
      application.results = infer(application.op, application.operands);
      return application;
    } catch (const ShapeError&) {
      continue;
    }
  }
  check(first.has_value(), "every operator can be applied to something");
  return std::nullopt;
}

}  // namespace taso::test
