#include <numeric>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/code.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/kernels/space.h"

namespace taso::gpu {
namespace {

constexpr std::int64_t most_for_unsigned = std::int64_t{1} << 31;

/// Elements are moved as bytes, because their meaning does not matter.
std::string_view bits_text(std::int64_t bytes) {
  switch (bytes) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    case 8: return "unsigned long long";
    default: return "uint4";
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
  const std::int64_t length = data.extents.at(axis), taken = ops::count(indices.extents);
  const auto size = static_cast<std::int64_t>(size_of(data.element));
  const std::int64_t inner_bytes = product(data.extents, axis + 1, data.extents.size()) * size;
  // As many bytes at once as neighbours and alignment allow.
  const std::int64_t word =
      std::gcd(std::gcd(inner_bytes, kernels::alignment_of(call.written[0])), kernels::alignment_of(data));
  const std::int64_t inner = inner_bytes / word, words = ops::count(call.written[0].extents) * size / word;
  const std::string_view number = words < most_for_unsigned ? "unsigned" : "long long";
  constexpr std::int64_t block = 128;

  SourceLaunch launch;
  launch.name = "gather";
  launch.block = block;
  launch.grid[0] = static_cast<std::uint32_t>(std::max<std::int64_t>(1, (words + block - 1) / block));
  launch.arguments = {{Argument::Place::read, 0, 0}, {Argument::Place::read, 1, 0}, {Argument::Place::written, 0, 0}};

  kernels::Code code;
  const std::string_view bits = bits_text(word);
  code.open(
      "extern \"C\" __global__ void __launch_bounds__({}) gather(const {}* __restrict__ data, const {}* __restrict__ "
      "indices, {}* __restrict__ result)",
      block, bits, indices.element == ElementType::int32 ? "int" : "long long", bits);
  code.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", number, block);
  code.line("if (i >= {}) return;", words);
  if (length > 0 && words > 0) {
    code.line("const {} place = i % {}, part = i / {} % {}, outer = i / {};", number, inner, inner, taken,
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
