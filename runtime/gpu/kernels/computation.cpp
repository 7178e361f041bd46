#include "runtime/gpu/kernels/computation.h"

#include <algorithm>
#include <cmath>

#include "ops/core/error.h"

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

struct Writer {
  const std::vector<std::string>& in;
  Arithmetic arithmetic;

  std::string constant(double value) const { return number(value, arithmetic); }
  /// A call of a C library function for this type.
  std::string call(std::string_view function, std::string_view operands) const {
    check(!is_integral(arithmetic), "integers have no such function");
    return fmt::format("{}{}({})", function, arithmetic == Arithmetic::single ? "f" : "", operands);
  }
  std::string infix(char sign, std::string_view function) const {
    return is_integral(arithmetic) ? fmt::format("{}({}, {})", function, in[0], in[1])
                                   : fmt::format("{} {} {}", in[0], sign, in[1]);
  }

  std::string operator()(const op::Add&) const { return infix('+', "plus"); }
  std::string operator()(const op::Sub&) const { return infix('-', "minus"); }
  std::string operator()(const op::Mul&) const { return infix('*', "times"); }
  std::string operator()(const op::ScalarMul&) const { return infix('*', "times"); }
  std::string operator()(const op::Div&) const { return infix('/', "divide"); }
  std::string operator()(const op::Max&) const { return fmt::format("maximum({}, {})", in[0], in[1]); }
  std::string operator()(const op::Min&) const { return fmt::format("minimum({}, {})", in[0], in[1]); }
  std::string operator()(const op::Pow&) const {
    const std::string both = in[0] + ", " + in[1];
    return is_integral(arithmetic) ? fmt::format("power({})", both) : call("pow", both);
  }
  std::string operator()(const op::Sqrt&) const { return call("sqrt", in[0]); }
  std::string operator()(const op::Exp&) const { return call("exp", in[0]); }
  std::string operator()(const op::Erf&) const { return call("erf", in[0]); }
  std::string operator()(const op::Tanh&) const { return call("tanh", in[0]); }
  std::string operator()(const op::Relu&) const { return fmt::format("maximum({}, {})", in[0], constant(0)); }
  std::string operator()(const op::LeakyRelu& op) const {
    return fmt::format("maximum({0}, {1}) + {2} * minimum({0}, {1})", in[0], constant(0), constant(op.alpha));
  }
  std::string operator()(const op::Sigmoid&) const {
    return fmt::format("{0} / ({0} + {1})", constant(1), call("exp", "-" + in[0]));
  }
  std::string operator()(const op::Clip& op) const {
    std::string text = in[0];
    if (std::isfinite(op.low)) text = fmt::format("maximum({}, {})", text, constant(op.low));
    if (std::isfinite(op.high)) text = fmt::format("minimum({}, {})", text, constant(op.high));
    return text;
  }
  std::string operator()(const op::Gelu& op) const {
    const std::string inner = op.tanh
                                  ? call("tanh", fmt::format("{0} * ({1} + {2} * {1} * {1} * {1})",
                                                             constant(0.7978845608028654), in[0], constant(0.044715)))
                                  : call("erf", fmt::format("{} * {}", in[0], constant(std::sqrt(0.5))));
    return fmt::format("{} * {} * ({} + {})", constant(0.5), in[0], constant(1), inner);
  }
  std::string operator()(const op::HardSwish&) const {
    check(!is_integral(arithmetic), "integers have no such function");
    return fmt::format("{0} * minimum(maximum({0} * {1} + {2}, {3}), {4})", in[0], constant(1.0 / 6), constant(0.5),
                       constant(0), constant(1));
  }
  std::string operator()(const op::BatchNorm& op) const {
    check(!is_integral(arithmetic), "integers have no such function");
    // A square root and a division would take longer than everything else.
    return fmt::format("{} * ({} - {}) * {} + {}", in[1], in[0], in[3],
                       call("rsqrt", fmt::format("{} + {}", in[4], constant(op.epsilon))), in[2]);
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
