// Random graphs over all operators, the same for a seed on every machine.
#pragma once

#include "ops/graph/graph.h"
#include "tests/ops/random_operator.h"

namespace taso::test {

/// Constant data held in memory.
class HeldWeight : public Weight {
 public:
  explicit HeldWeight(Array array) : array_(std::move(array)) {}
  Array load() const override { return array_; }

 private:
  Array array_;
};

struct RandomGraphOptions {
  std::size_t nodes = 8;
  ElementType element = ElementType::float32;
  RandomShapes shapes;
  std::int64_t most_elements = 10'000;  ///< of any value with known dimensions
  double opaque = 0;                    ///< the share of opaque nodes
  double constants = 0.3;               ///< the share of constants among new operands
  std::vector<std::string> names;       ///< of the first inputs and constants; then x0, x1, …
};

/// Moderate numbers: floating ones between -2 and 2, integers between -4 and 4 or 0 and 8.
inline Array random_array(Random& random, ElementType type, const Extents& extents) {
  Array array(type, extents);
  with_element_type(type, [&](auto tag) {
    using T = decltype(tag);
    for (T& value : array.mutable_values<T>()) {
      if constexpr (std::is_same_v<T, bool>)
        value = random.chance(0.5);
      else if constexpr (std::is_unsigned_v<T>)
        value = static_cast<T>(random.between(0, 8));
      else if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(random.between(-4, 4));
      else if constexpr (std::is_same_v<T, double>)
        value = random.unit() * 4 - 2;
      else
        value = T(static_cast<float>(random.unit() * 4 - 2));
    }
  });
  return array;
}

class RandomGraph {
 public:
  RandomGraph(std::uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {
    graph_.pool = std::make_shared<Pool>();
  }

  Graph make() {
    fresh(random_shape(random_, options_.shapes), false);
    const auto operators = all_operators();
    for (std::size_t i = 0; i < options_.nodes;)
      i += random_.chance(options_.opaque) ? add_opaque() : add_operator(random_.pick(operators)) ? 1 : 0;
    if (random_.chance(0.2)) fresh(random_shape(random_, options_.shapes), false);  // an unused input
    for (const Value& value : made_)
      if (!used_.contains(value.node) || random_.chance(0.1)) graph_.outputs.push_back(value);
    if (graph_.outputs.empty()) graph_.outputs.push_back(graph_.inputs[0]);
    return std::move(graph_);
  }

 private:
  std::string new_name() {
    const std::size_t index = names_++;
    return index < options_.names.size() ? options_.names[index] : "x" + std::to_string(index);
  }

  Value fresh(const Shape& shape, bool may_be_constant) {
    const Type type{options_.element, shape};
    const auto extents = static_extents(shape);
    if (may_be_constant && extents && random_.chance(options_.constants)) {
      auto weight = std::make_shared<HeldWeight>(random_array(random_, type.element, *extents));
      const Value value = graph_.pool->constant(new_name(), type, std::move(weight));
      usable_.push_back(value);
      return value;
    }
    graph_.inputs.push_back(graph_.pool->input(new_name(), type));
    usable_.push_back(graph_.inputs.back());
    return graph_.inputs.back();
  }

  Value operand(const Shape& shape) {
    std::vector<Value> fitting;
    for (const Value& value : usable_)
      if (value.shape() == shape) fitting.push_back(value);
    return fitting.empty() || random_.chance(0.3) ? fresh(shape, true) : random_.pick(fitting);
  }

  bool too_large(const Shapes& shapes) const {
    for (const Shape& shape : shapes) {
      if (shape.size() > 8) return true;
      for (const Dim& dim : shape)
        if (dim.text().size() > 200) return true;  // sums of sums of sums
      if (const auto extents = static_extents(shape); extents && count(*extents) > options_.most_elements) return true;
    }
    return false;
  }

  bool add_operator(const Operator& kind) {
    std::optional<Value> first;
    if (random_.chance(0.8)) first = random_.pick(usable_);
    const auto shape = first ? std::optional(first->shape()) : std::nullopt;
    const auto found = random_application(random_, kind, options_.shapes, options_.element, shape);
    if (!found || too_large(found->results) || too_large(found->operands)) return false;
    std::vector<Value> operands;
    for (const Shape& wanted : found->operands)
      operands.push_back(operands.empty() && first ? *first : operand(wanted));
    keep(graph_.pool->add(found->op, operands), operands);
    return true;
  }

  std::size_t add_opaque() {
    static const std::vector<std::string> kinds{"NonZero", "com.example::Strange \"one\"", ""};
    static const std::vector<ElementType> elements{ElementType::int64, ElementType::undefined, ElementType::boolean};
    Opaque opaque;
    opaque.kind = random_.pick(kinds);
    std::vector<Value> operands;
    for (std::size_t i = random_.below(4); i > 0; --i) {
      operands.push_back(random_.chance(0.7) ? random_.pick(usable_) : Value{});
      if (!made_.empty() && random_.chance(0.3)) operands.push_back(random_.pick(made_));
    }
    for (std::size_t i = 1 + random_.below(3); i > 0; --i) {
      const bool known = random_.chance(0.5);
      opaque.outputs.push_back({known ? options_.element : random_.pick(elements), std::nullopt});
      if (random_.chance(0.7)) opaque.outputs.back().shape = random_shape(random_, options_.shapes);
    }
    keep(graph_.pool->add_opaque(std::move(opaque), operands), operands);
    return 1;
  }

  void keep(const ops::Node& node, const std::vector<Value>& operands) {
    for (const Value& value : operands) used_.insert(value.node);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Value value = node.output(i);
      if (std::find(made_.begin(), made_.end(), value) != made_.end()) continue;
      made_.push_back(value);
      if (value.type().element == options_.element && value.type().shape) usable_.push_back(value);
    }
  }

  Random random_;
  const RandomGraphOptions& options_;
  Graph graph_;
  std::size_t names_ = 0;
  std::vector<Value> usable_, made_;  // operands for operators; results of nodes
  std::unordered_set<const ops::Node*> used_;
};

inline Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {}) {
  return RandomGraph(seed, options).make();
}

}  // namespace taso::test
