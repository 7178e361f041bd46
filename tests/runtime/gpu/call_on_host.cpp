#include "tests/runtime/gpu/call_on_host.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "ops/core/error.h"
#include "runtime/host/host.h"
#include "runtime/host/interpreter.h"

namespace taso::test {

using namespace gpu;

namespace {

/// The offsets of all elements in row-major order.
std::vector<std::int64_t> places_of(const Extents& extents, const cost::Strides& strides) {
  std::vector<std::int64_t> places{0};
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    std::vector<std::int64_t> more;
    more.reserve(places.size() * static_cast<std::size_t>(extents[axis]));
    for (const std::int64_t place : places)
      for (std::int64_t i = 0; i < extents[axis]; ++i) more.push_back(place + i * strides[axis]);
    places = std::move(more);
  }
  return places;
}

void gather_on_host(const cost::Call& call, const std::vector<const std::byte*>& read,
                    const std::vector<std::byte*>& written) {
  const Array data = gathered(call.read[0], read[0]);
  const std::vector<std::int64_t> indices = gathered(call.read[1], read[1]).integers();
  const auto axis = static_cast<std::size_t>(*call.gather_axis);
  const std::int64_t length = data.extents()[axis];
  std::int64_t outer = 1, inner = static_cast<std::int64_t>(size_of(data.type()));
  for (std::size_t i = 0; i < axis; ++i) outer *= data.extents()[i];
  for (std::size_t i = axis + 1; i < data.rank(); ++i) inner *= data.extents()[i];
  std::byte* to = written[0];
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t index : indices) {
      if (index < 0) index += length;
      std::memcpy(to, data.data() + (i * length + index) * inner, static_cast<std::size_t>(inner));
      to += inner;
    }
}

/// Casts a piece that is dense on both sides.
void cast_on_host(const cost::Call& call, const cost::Call::Piece& piece, const std::vector<const std::byte*>& read,
                  const std::vector<std::byte*>& written) {
  const Array from =
      gathered({call.read[piece.read].element, piece.from_extents, piece.from_strides, false}, read[piece.read]);
  const Array to = from.cast(call.written[piece.written].element);
  const auto size = static_cast<std::int64_t>(size_of(to.type()));
  const std::byte* at = to.data();
  for (const std::int64_t place : places_of(piece.to_extents, piece.to_strides)) {
    std::memcpy(written[piece.written] + place * size, at, static_cast<std::size_t>(size));
    at += size;
  }
}

std::int64_t onnx_code(ElementType element) {
  using enum ElementType;
  constexpr ElementType types[] = {undefined, float32, uint8,     int8,      uint16,  int16,
                                   int32,     int64,   undefined, boolean,   float16, float64,
                                   uint32,    uint64,  undefined, undefined, bfloat16};
  return std::find(std::begin(types), std::end(types), element) - std::begin(types);
}

/// Computes a function of elements, or a scatter without a reduction, with the interpreter.
Array computed(const cost::Call& call, const std::vector<const std::byte*>& read) {
  const cost::DeviceFunction& what = call.function->what;
  const bool is_scatter = what.name == "ScatterElements" && what.integers.at(0) == 0;
  check(is_scatter || what.family == cost::DeviceFunction::Family::element, "other functions have tests of their own");
  const std::string name = what.name.substr(0, what.name.find('_'));
  runtime::Attributes attributes;
  if (name.ends_with("quantizeLinear") || name.ends_with("QuantizeLinear")) {
    attributes.set("axis", what.integers.at(0));
    attributes.set("output_dtype", onnx_code(call.written[0].element));
  }
  if (is_scatter) attributes.set("axis", what.integers.at(1));
  std::vector<std::optional<Array>> operands;
  for (const std::uint32_t operand : call.function->operands)
    operands.emplace_back(gathered(call.read[operand], read[operand]));
  const runtime::HostFunction function = runtime::find_host_function("", name);
  check(function != nullptr, "a function is one of the host's");
  return function(runtime::HostCall{name, 21, attributes, operands, 1}).at(0);
}

Array without_nan(const Array& array) {
  std::vector<double> numbers = array.doubles();
  for (double& number : numbers)
    if (std::isnan(number)) number = 0;
  return Array::of<double>(array.extents(), numbers).cast(array.type());
}

void put(const Array& result, const cost::Call::Operand& operand, std::byte* to) {
  check(result.extents() == operand.extents, "a result has the extents that were promised");
  const auto size = static_cast<std::int64_t>(size_of(operand.element));
  const std::byte* from = result.data();
  for (const std::int64_t at : places_of(operand.extents, operand.strides)) {
    std::memcpy(to + at * size, from, static_cast<std::size_t>(size));
    from += size;
  }
}

const std::vector<std::byte>& weights_of(const DeviceSteps& steps, std::uint32_t index) {
  if (index == 0) return steps.weights;
  return dynamic_cast<const HostWeights&>(*steps.shared_weights.at(index - 1)).bytes;
}

}  // namespace

std::int64_t span_bytes(const cost::Call::Operand& operand) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < operand.extents.size(); ++i) {
    if (operand.extents[i] == 0) return 0;
    last += (operand.extents[i] - 1) * operand.strides[i];
  }
  return (last + 1) * static_cast<std::int64_t>(size_of(operand.element));
}

Array gathered(const cost::Call::Operand& operand, const std::byte* data) {
  Array array(operand.element, operand.extents);
  const auto size = static_cast<std::int64_t>(size_of(operand.element));
  std::byte* to = array.mutable_data();
  for (const std::int64_t at : places_of(operand.extents, operand.strides)) {
    std::memcpy(to, data + at * size, static_cast<std::size_t>(size));
    to += size;
  }
  return array;
}

void run_on_host(const cost::Call& call, const std::vector<const std::byte*>& read,
                 const std::vector<std::byte*>& written, bool in_its_type) {
  for (const cost::Call::Piece& piece : call.pieces) {
    if (call.read[piece.read].element != call.written[piece.written].element) {
      cast_on_host(call, piece, read, written);
      continue;
    }
    const auto size = static_cast<std::int64_t>(size_of(call.read[piece.read].element));
    const auto from = places_of(piece.from_extents, piece.from_strides);
    const auto to = places_of(piece.to_extents, piece.to_strides);
    check(from.size() == to.size(), "a piece has as many elements on both sides");
    for (std::size_t i = 0; i < from.size(); ++i)
      std::memcpy(written[piece.written] + (piece.to_offset + to[i]) * size,
                  read[piece.read] + (piece.from_offset + from[i]) * size, static_cast<std::size_t>(size));
  }
  if (call.gather_axis) return gather_on_host(call, read, written);
  if (call.function) return put(computed(call, read).cast(call.written[0].element), call.written[0], written[0]);
  if (call.steps.empty()) return;
  std::vector<Array> values;
  for (std::size_t i = 0; i < call.read.size(); ++i) {
    Array array = gathered(call.read[i], read[i]);
    values.push_back(in_its_type || !is_floating(array.type()) ? array : array.cast(ElementType::float64));
  }
  for (const cost::Call::Step& step : call.steps) {
    check(step.first_result == values.size(), "values are numbered in their order");
    std::vector<Array> operands;
    for (const std::uint32_t operand : step.operands) operands.push_back(values.at(operand));
    for (Array& result : runtime::evaluate(step.op, operands)) values.push_back(std::move(result));
    if (step.zeroes_nan) values.back() = without_nan(values.back());
  }
  for (std::size_t i = 0; i < call.written.size(); ++i)
    put(values.at(call.results[i]).cast(call.written[i].element), call.written[i], written[i]);
}

std::vector<std::vector<std::byte>> run_on_host(const DeviceSteps& steps,
                                                const std::vector<std::vector<std::byte>>& inputs,
                                                const std::vector<std::uint32_t>& order, bool in_place) {
  check(order.empty() || order.size() == steps.steps.size(), "an order of all steps");
  std::vector<std::vector<std::byte>> outputs;
  for (const std::int64_t bytes : steps.output_bytes) outputs.emplace_back(static_cast<std::size_t>(bytes));
  std::map<std::uint32_t, std::uint32_t> output_of;  // by input
  for (const DeviceSteps::InPlace& pair : steps.in_place) {
    if (!in_place) break;
    output_of[pair.input] = pair.output;
    outputs.at(pair.output) = inputs.at(pair.input);
  }
  std::vector<std::byte> arena(static_cast<std::size_t>(steps.arena_bytes), std::byte{0xA5});
  const auto range = [&](const gpu::Binding& binding, std::int64_t bytes) -> std::byte* {
    const std::vector<std::byte>* memory = &arena;
    if (binding.place == gpu::Binding::Place::weights) memory = &weights_of(steps, binding.index);
    if (binding.place == gpu::Binding::Place::input) {
      const auto output = output_of.find(binding.index);
      memory = output == output_of.end() ? &inputs.at(binding.index) : &outputs.at(output->second);
    }
    if (binding.place == gpu::Binding::Place::output) memory = &outputs.at(binding.index);
    check(binding.offset >= 0 && binding.offset + bytes <= static_cast<std::int64_t>(memory->size()),
          "a step stays within its memory");
    return const_cast<std::byte*>(memory->data()) + binding.offset;
  };
  for (std::size_t at = 0; at < steps.steps.size(); ++at) {
    const DeviceSteps::Step& step = steps.steps[order.empty() ? at : order[at]];
    check(step.read.size() == step.call.read.size() && step.written.size() == step.call.written.size(),
          "every operand is bound");
    std::vector<const std::byte*> read;
    std::vector<std::byte*> written;
    for (std::size_t i = 0; i < step.read.size(); ++i)
      read.push_back(range(step.read[i], span_bytes(step.call.read[i])));
    for (std::size_t i = 0; i < step.written.size(); ++i) {
      check(step.written[i].place == gpu::Binding::Place::arena || step.written[i].place == gpu::Binding::Place::output,
            "nothing writes into inputs or weights");
      written.push_back(range(step.written[i], span_bytes(step.call.written[i])));
    }
    if (!step.host) {
      run_on_host(step.call, read, written, true);
      continue;
    }
    std::vector<std::span<const std::byte>> from;
    std::vector<std::span<std::byte>> to;
    for (std::size_t i = 0; i < read.size(); ++i)
      from.emplace_back(read[i], static_cast<std::size_t>(span_bytes(step.call.read[i])));
    for (std::size_t i = 0; i < written.size(); ++i)
      to.emplace_back(written[i], static_cast<std::size_t>(span_bytes(step.call.written[i])));
    step.host(from, to);
  }
  return outputs;
}

}  // namespace taso::test
