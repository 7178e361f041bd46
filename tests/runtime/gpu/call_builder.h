// Builds random calls, step by step.
#pragma once

#include <vector>

#include "ops/core/error.h"
#include "tests/runtime/gpu/source_calls.h"

namespace taso::test {

ElementType random_type(Random& random, bool has_integers);
/// Strides with the axes in a random order, sometimes with gaps.
cost::Strides random_strides(Random& random, const Extents& extents);
cost::Call::Operand random_operand(Random& random, ElementType element, const Extents& extents);
std::int64_t elements_of(const Extents& extents);
Extents random_extents(Random& random, std::size_t least_rank, std::int64_t most);
/// Extents that broadcast to the given ones.
Extents random_broadcast(Random& random, Extents extents);

/// Strides of matrices whose rows are sometimes parts of longer ones, with columns side by side if `is_turned`.
cost::Strides random_pitch(Random& random, const Extents& extents, bool is_turned);

/// Builds the steps of a call.
class CallBuilder {
 public:
  CallBuilder(Random& random, ElementType element) : random_(random), element_(element) {}

  /// All operands must be read before the first step.
  std::uint32_t read(const Extents& extents, bool is_positive = false) {
    check(made.call.steps.empty(), "reads come before steps");
    made.call.read.push_back(random_operand(random_, element_, extents));
    made.is_positive.push_back(is_positive);
    values.push_back(extents);
    return static_cast<std::uint32_t>(values.size() - 1);
  }
  std::uint32_t step(Operator op, std::vector<std::uint32_t> operands) {
    Shapes shapes;
    for (const std::uint32_t operand : operands) shapes.push_back(shape_of(values.at(operand)));
    const auto first = static_cast<std::uint32_t>(values.size());
    for (const Shape& shape : infer(op, shapes)) values.push_back(extents_of(shape));
    made.call.steps.push_back({std::move(op), std::move(operands), first});
    return first;
  }
  void write(std::uint32_t value) {
    made.call.written.push_back(random_operand(random_, element_, values.at(value)));
    made.call.results.push_back(value);
  }

  /// The value with its axes in a random order.
  std::uint32_t turned(std::uint32_t value);
  /// Applies one element-wise operator to a value, with an operand that broadcasts to it, if there is one.
  std::uint32_t apply(std::uint32_t value, const std::vector<std::uint32_t>& others);

  RandomCall made;
  std::vector<Extents> values;

 private:
  Random& random_;
  ElementType element_;
};

}  // namespace taso::test
