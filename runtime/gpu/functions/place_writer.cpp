#include "runtime/gpu/functions/place_writer.h"

#include "runtime/gpu/functions/formula_text.h"

namespace taso::gpu::kernels {
namespace {

constexpr std::int64_t place_block = 128;

/// Whether an offset into any operand fits into 32 bits.
bool is_narrow(const cost::Call& call) {
  for (const auto* list : {&call.read, &call.written})
    for (const cost::Call::Operand& operand : *list)
      if (ops::count(operand.extents) >= (std::int64_t{1} << 31) - place_block) return false;
  return true;
}

}  // namespace

PlaceWriter::PlaceWriter(const cost::Call& call, std::string_view name, std::int64_t elements, std::uint32_t written)
    : call_(call) {
  launch_.name = name;
  launch_.block = place_block;
  launch_.grid[0] = grid_of((elements + place_block - 1) / place_block);
  Parameters parameters;
  for (const std::uint32_t operand : call.function->operands)
    if (operand != cost::Call::Function::omitted) parameters.add(call, false, operand);
  for (std::uint32_t i = 0; i < written; ++i) parameters.add(call, true, i);
  open_kernel(code_, launch_, parameters);
  write_waiting(code_);
  code_.line("const whole i = static_cast<whole>(blockIdx.x) * {} + static_cast<whole>(threadIdx.x);", place_block);
  code_.line("if (i >= {}) return;", elements);
}

void PlaceWriter::indices(const std::string& number, std::string_view prefix, const Extents& extents) {
  std::int64_t below = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const std::string divided = below == 1 ? number : fmt::format("{} / {}", number, below);
    if (axis == 0)
      code_.line("const whole {}0 = {};", prefix, divided);
    else
      code_.line("const whole {}{} = {} % {};", prefix, axis, divided, extents[axis]);
    below *= extents[axis];
  }
}

void PlaceWriter::index(std::string_view name, const std::string& element, std::int64_t extent) {
  code_.line("long long {0}_given = {1};", name, element);
  code_.line("if ({0}_given < 0) {0}_given += {1};", name, extent);
  code_.line("const whole {0} = static_cast<whole>({0}_given < 0 ? 0 : {0}_given > {1} ? {1} : {0}_given);", name,
             extent - 1);
}

std::string PlaceWriter::place(const std::vector<std::string>& indices, const Extents& extents) {
  std::string text;
  for (std::size_t axis = 0; axis < indices.size(); ++axis)
    text = text.empty() ? indices[axis] : fmt::format("({}) * {} + {}", text, extents[axis], indices[axis]);
  return text.empty() ? "0" : text;
}

SourceLaunch PlaceWriter::finish(std::string_view definitions) {
  code_.close();
  launch_.source = prelude(arithmetic_of(call_)) +
                   fmt::format("typedef {} whole;\n", is_narrow(call_) ? "int" : "long long") +
                   definitions_for(code_.text(), arithmetic_of(call_)) + std::string(definitions) + code_.text();
  return std::move(launch_);
}

std::vector<std::string> numbered(std::string_view prefix, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", prefix, i));
  return names;
}

}  // namespace taso::gpu::kernels
