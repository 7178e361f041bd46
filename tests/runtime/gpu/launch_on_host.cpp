#include "tests/runtime/gpu/launch_on_host.h"

#include <cstring>

#include "ops/core/error.h"
#include "runtime/host/interpreter.h"
#include "tests/runtime/gpu/call_on_host.h"

namespace taso::test {

using namespace gpu;

namespace {

struct Memory {
  const std::vector<std::byte*>&read, &written;
  std::byte* scratch;
};

Array value_of(const LaunchTensor& tensor, const Memory& memory) {
  const std::byte* const data = place_of(tensor.memory, memory.read, memory.written, memory.scratch);
  return gathered({tensor.element, tensor.extents, tensor.strides, false}, data).cast(ElementType::float64);
}

Array apply(const Operator& op, std::vector<Array> operands) { return runtime::evaluate(op, operands).at(0); }

Array after(const Pointwise& step, Array value, const Memory& memory) {
  using Mode = Pointwise::Mode;
  const auto both = [&](const Operator& op) {
    Array other = value_of(*step.operand, memory);
    return step.is_operand_first ? apply(op, {other, value}) : apply(op, {value, other});
  };
  switch (step.mode) {
    case Mode::add: return both(op::Add{});
    case Mode::sub: return both(op::Sub{});
    case Mode::mul: return both(op::Mul{});
    case Mode::div: return both(op::Div{});
    case Mode::max: return both(op::Max{});
    case Mode::min: return both(op::Min{});
    case Mode::relu: return apply(op::Relu{}, {value});
    case Mode::clip: return apply(op::Clip{step.low, step.high}, {value});
    case Mode::leaky_relu: return apply(op::LeakyRelu{step.low}, {value});
    case Mode::sigmoid: return apply(op::Sigmoid{}, {value});
    case Mode::tanh: return apply(op::Tanh{}, {value});
    case Mode::gelu: return apply(op::Gelu{false}, {value});
    case Mode::gelu_tanh: return apply(op::Gelu{true}, {value});
    case Mode::exp: return apply(op::Exp{}, {value});
    case Mode::erf: return apply(op::Erf{}, {value});
    case Mode::sqrt: return apply(op::Sqrt{}, {value});
    case Mode::scale: return apply(op::Mul{}, {value, Array::of<double>({}, {step.low})});
  }
  check(false, "every step is one of these");
  return value;
}

void finish(Array value, const std::vector<Pointwise>& epilogue, const LaunchTensor& y, const Memory& memory) {
  for (const Pointwise& step : epilogue) value = after(step, std::move(value), memory);
  check(value.extents() == y.extents, "a product has the extents that it was told");
  const Array stored = value.cast(y.element);
  const auto size = static_cast<std::int64_t>(size_of(y.element));
  std::byte* const to = place_of(y.memory, memory.read, memory.written, memory.scratch);
  for (std::int64_t i = 0; i < count(y.extents); ++i) {
    std::int64_t rest = i, at = 0;
    for (std::size_t axis = y.extents.size(); axis-- > 0; rest /= y.extents[axis])
      at += rest % y.extents[axis] * y.strides[axis];
    std::memcpy(to + at * size, stored.data() + i * size, static_cast<std::size_t>(size));
  }
}

}  // namespace

std::byte* place_of(const Argument& argument, const std::vector<std::byte*>& read,
                    const std::vector<std::byte*>& written, std::byte* scratch) {
  switch (argument.place) {
    case Argument::Place::read: return read.at(argument.index) + argument.offset;
    case Argument::Place::written: return written.at(argument.index) + argument.offset;
    default: return scratch + argument.offset;
  }
}

void run_on_host(const ConvolutionLaunch& launch, const std::vector<std::byte*>& read,
                 const std::vector<std::byte*>& written, std::byte* scratch) {
  const Memory memory{read, written, scratch};
  std::vector<std::int64_t> pads = launch.pads_before;
  pads.insert(pads.end(), launch.pads_after.begin(), launch.pads_after.end());
  const op::Conv conv{launch.strides, launch.dilations, pads, launch.groups};
  finish(apply(conv, {value_of(launch.x, memory), value_of(launch.w, memory)}), launch.epilogue, launch.y, memory);
}

void run_on_host(const MatmulLaunch& launch, const std::vector<std::byte*>& read,
                 const std::vector<std::byte*>& written, std::byte* scratch) {
  const Memory memory{read, written, scratch};
  finish(apply(op::MatMul{}, {value_of(launch.a, memory), value_of(launch.b, memory)}), launch.epilogue, launch.y,
         memory);
}

}  // namespace taso::test
