#include "runtime/gpu/kernels/computation.h"

#include <algorithm>
#include <optional>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/expression.h"

namespace taso::gpu::kernels {
namespace {

/// The axes of an operand of an element-wise step, given the `axes` of its result.
AxisMap operand_axes(const Operator& op, std::size_t operand, const Extents& extents, const AxisMap& axes) {
  if (std::holds_alternative<op::BatchNorm>(op) && operand > 0) return {extents[0] == 1 ? -1 : axes[1]};
  check(extents.size() <= axes.size(), "broadcasting never lowers the rank");
  AxisMap own(axes.end() - static_cast<std::ptrdiff_t>(extents.size()), axes.end());
  for (std::size_t i = 0; i < own.size(); ++i)
    if (extents[i] == 1) own[i] = -1;
  return own;
}

/// Whether an operator says what it does to one element, or to one of each operand.
template <class Op>
concept SaysElements = requires(const Op& op, const Expression& x) {
  op.template apply<Expression>(x);
}
|| requires(const Op& op, const Expression& x) { op.template apply<Expression>(x, x); };

struct Writer {
  const std::vector<std::string>& in;
  Arithmetic arithmetic;

  template <SaysElements Op>
  std::string operator()(const Op& op) const {
    const Expression::Type type(arithmetic);
    if constexpr (Op::max_inputs == 1)
      return op.template apply<Expression>(Expression(in[0])).text();
    else
      return op.template apply<Expression>(Expression(in[0]), Expression(in[1])).text();
  }
  std::string operator()(const op::BatchNorm& op) const {
    check(!is_integral(arithmetic), "integers have no such function");
    // A square root and a division would take longer than everything else.
    return fmt::format("{} * ({} - {}) * rsqrt{}({} + {}) + {}", in[1], in[0], in[3],
                       arithmetic == Arithmetic::twice ? "" : "f", in[4], number(op.epsilon, arithmetic), in[2]);
  }
  template <class Other>
  std::string operator()(const Other&) const {
    check(false, "only element-wise operators are done element by element");
    return {};
  }
};

}  // namespace

Values::Values(const cost::Call& call) {
  for (const cost::Call::Operand& operand : call.read) {
    extents.push_back(operand.extents);
    elements.push_back(operand.element);
    steps.push_back(static_cast<std::uint32_t>(call.steps.size()));
  }
  for (std::size_t i = 0; i < call.steps.size(); ++i) {
    const cost::Call::Step& step = call.steps[i];
    check(step.first_result == extents.size(), "results are numbered in the order of the steps");
    Shapes shapes;
    for (const std::uint32_t operand : step.operands) shapes.push_back(shape_of(extents.at(operand)));
    const ElementType element = elements.at(step.operands.at(0));
    for (const Shape& shape : infer(step.op, shapes)) {
      extents.push_back(extents_of(shape));
      elements.push_back(element);
      steps.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

AxisMap aligned(const Extents& value, const Extents& space) {
  check(value.size() <= space.size(), "broadcasting never lowers the rank");
  AxisMap axes;
  const std::size_t first = space.size() - value.size();
  for (std::size_t i = 0; i < value.size(); ++i) {
    check(value[i] == space[first + i] || value[i] == 1, "a value broadcasts to the space");
    axes.push_back(value[i] == 1 ? -1 : static_cast<int>(first + i));
  }
  return axes;
}

void Computation::give(std::uint32_t value, const AxisMap& axes, std::function<std::string()> expression) {
  Made made;
  made.value = value;
  made.given = std::move(expression);
  known_[{value, axes}] = made_.size();
  made_.push_back(std::move(made));
}

std::size_t Computation::access(bool is_written, std::uint32_t operand, const AxisMap& axes) {
  const cost::Call::Operand& own = (is_written ? call_.written : call_.read).at(operand);
  check(axes.size() == own.strides.size() && axes.size() == own.extents.size(),
        "an operand has a stride for each axis");
  Access access{is_written, operand, own.element, cost::Strides(space_.size(), 0), alignment_of(own)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    check(own.strides[i] >= 0, "strides are not negative");
    if (axes[i] >= 0) access.strides[static_cast<std::size_t>(axes[i])] += own.strides[i];
  }
  const auto found = std::find(accesses_.begin(), accesses_.end(), access);
  if (found != accesses_.end()) return static_cast<std::size_t>(found - accesses_.begin());
  accesses_.push_back(std::move(access));
  return accesses_.size() - 1;
}

std::size_t Computation::make(std::uint32_t value, const AxisMap& axes) {
  if (const auto found = known_.find({value, axes}); found != known_.end()) return found->second;
  Made made;
  made.value = value;
  if (value < call_.read.size()) {
    made.access = access(false, value, axes);
  } else {
    made.step = &call_.steps.at(values_.steps.at(value));
    for (std::size_t i = 0; i < made.step->operands.size(); ++i) {
      const std::uint32_t operand = made.step->operands[i];
      made.operands.push_back(make(operand, operand_axes(made.step->op, i, values_.extents.at(operand), axes)));
    }
  }
  known_[{value, axes}] = made_.size();
  made_.push_back(std::move(made));
  return made_.size() - 1;
}

Computation::Stored Computation::store_result() {
  const AxisMap axes = aligned(space_, space_);
  std::uint32_t result = call_.results.at(0);
  AxisMap stored = axes;
  if (const auto* turned = std::get_if<op::Transpose>(&call_.steps.back().op)) {
    result = call_.steps.back().operands[0];
    for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = axes[static_cast<std::size_t>(turned->permutation[i])];
  }
  const std::size_t made = make(result, axes);
  return {made, access(true, 0, stored)};
}

std::vector<Computation::Stored> Computation::finish_convolution(const std::string& sum) {
  const cost::Call::Step& main = call_.steps.at(call_.main);
  const AxisMap axes = aligned(space_, space_);
  std::optional<std::size_t> bias;
  if (main.operands.size() > 2) bias = make(main.operands[2], {axes[1]});
  give(main.first_result, axes, [this, bias, sum] { return bias ? sum + " + " + text(*bias) : sum; });
  check(call_.results.size() == call_.written.size() && !call_.written.empty(),
        "each operand that is written is a value");
  std::vector<Stored> stored;
  for (std::uint32_t i = 0; i < call_.results.size(); ++i) {
    check(values_.extents.at(call_.results[i]) == space_, "results have the shape of the convolution's");
    const std::size_t result = make(call_.results[i], axes);
    stored.push_back({result, access(true, i, axes)});
  }
  return stored;
}

void Computation::write(Code& code, Arithmetic arithmetic, const std::function<std::string(std::size_t)>& element) {
  for (std::size_t i = 0; i < made_.size(); ++i) {
    Made& made = made_[i];
    if (!made.text.empty()) continue;
    std::string text;
    if (made.given) {
      text = made.given();
    } else if (made.step == nullptr) {
      text = fmt::format("get({})", element(made.access));
    } else {
      std::vector<std::string> operands;
      for (const std::size_t operand : made.operands) operands.push_back(made_[operand].text);
      text = expression(made.step->op, operands, arithmetic);
      // Integers are truncated to their type after each step; small floating-point types are not rounded.
      if (is_integral(arithmetic))
        text = fmt::format("get(put<{}>({}))", type_text(values_.elements[made.value]), text);
    }
    made.text = fmt::format("v{}", i);
    code.line("const real {} = {};", made.text, text);
  }
}

void Computation::restart() {
  for (Made& made : made_) made.text.clear();
}

std::string expression(const Operator& op, const std::vector<std::string>& operands, Arithmetic arithmetic) {
  return std::visit(Writer{operands, arithmetic}, op);
}

}  // namespace taso::gpu::kernels
