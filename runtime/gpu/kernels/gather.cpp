#include "ops/core/error.h"
#include "runtime/gpu/kernels/code.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

/// Elements are moved as bytes of the same size, because their meaning does not matter.
std::string_view bits_text(ElementType element) {
  switch (size_of(element)) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    default: return "unsigned long long";
  }
}

std::int64_t product(const Extents& extents, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= extents[i];
  return result;
}

}  // namespace

SourceLaunch gather_source(const cost::Call& call) {
  check(call.read.size() == 2 && call.written.size() == 1 && call.gather_axis, "a gather reads data and indices");
  const cost::Call::Operand &data = call.read[0], &indices = call.read[1];
  const auto axis = static_cast<std::size_t>(*call.gather_axis);
  const std::int64_t length = data.extents.at(axis), inner = product(data.extents, axis + 1, data.extents.size());
  const std::int64_t taken = product(indices.extents, 0, indices.extents.size());
  const std::int64_t elements = product(call.written[0].extents, 0, call.written[0].extents.size());
  constexpr std::int64_t block = 128;

  SourceLaunch launch;
  launch.name = "gather";
  launch.block = block;
  launch.grid[0] = static_cast<std::uint32_t>(std::max<std::int64_t>(1, (elements + block - 1) / block));
  launch.arguments = {{Argument::Place::read, 0, 0}, {Argument::Place::read, 1, 0}, {Argument::Place::written, 0, 0}};

  kernels::Code code;
  const std::string_view bits = bits_text(data.element);
  code.open(
      "extern \"C\" __global__ void __launch_bounds__({}) gather(const {}* __restrict__ data, const {}* __restrict__ "
      "indices, {}* __restrict__ result)",
      block, bits, indices.element == ElementType::int32 ? "int" : "long long", bits);
  code.line("const long long i = static_cast<long long>(blockIdx.x) * {} + threadIdx.x;", block);
  code.line("if (i >= {}ll) return;", elements);
  if (length > 0) {
    code.line("const long long place = i % {}ll, part = i / {}ll % {}ll, outer = i / {}ll;", inner, inner, taken,
              inner * taken);
    code.line("long long index = indices[part];");
    code.line("if (index < 0) index += {}ll;", length);
    code.line("index = index < 0 ? 0 : index > {0}ll ? {0}ll : index;", length - 1);
    code.line("result[i] = data[(outer * {}ll + index) * {}ll + place];", length, inner);
  }
  code.close();
  launch.source = code.text();
  return launch;
}

}  // namespace taso::gpu
