#include <algorithm>

#include "runtime/gpu/functions/formula_text.h"
#include "runtime/gpu/functions/source.h"

namespace taso::gpu {

using namespace kernels;

SourceLaunch scan_source(const cost::Call& call) {
  const std::vector<std::int64_t>& integers = call.function->what.integers;
  const std::int64_t outer = integers[0], length = integers[1], inner = integers[2];
  const bool is_exclusive = integers[3] != 0, is_reverse = integers[4] != 0, multiplies = integers[5] != 0;
  const Arithmetic arithmetic = arithmetic_of(call);
  std::int64_t block = 32;
  while (block < 256 && block * 4 < length) block *= 2;
  const std::int64_t each = (length + block - 1) / block;
  const std::string_view combine = multiplies ? "multiplied" : "added";
  const std::string start = number(multiplies ? 1 : 0, arithmetic);

  SourceLaunch launch;
  launch.name = "scan";
  launch.block = static_cast<std::uint32_t>(block);
  launch.grid[0] = grid_of(outer * inner);
  Parameters parameters;
  parameters.add(call, false, call.function->operands[0]);
  parameters.add(call, true, 0);
  Code code;
  open_kernel(code, launch, parameters);
  code.line("__shared__ real totals[{}];", block);
  write_waiting(code);
  code.line("const long long line = blockIdx.x;");
  code.line("const long long begin = line / {0}ll * {1}ll + line % {0}ll;", inner, length * inner);
  code.line("const long long first = threadIdx.x * {}ll;", each);
  const auto open_loop = [&] {
    code.open("for (long long k = first; k < first + {0}ll && k < {1}ll; ++k)", each, length);
    code.line("const long long at = begin + ({}) * {}ll;",
              is_reverse ? fmt::format("{}ll - k", length - 1) : std::string("k"), inner);
    code.line("const real x = get({}[at]);", pointer(false, call.function->operands[0]));
  };
  code.line("real own = {};", start);
  open_loop();
  code.line("own = {}(own, x);", combine);
  code.close();
  // Each thread starts with the total of those before it.
  code.line("totals[threadIdx.x] = own;");
  code.line("__syncthreads();");
  code.open("for (unsigned reach = 1u; reach < {}u; reach *= 2u)", block);
  code.line("const real before = threadIdx.x >= reach ? totals[threadIdx.x - reach] : {};", start);
  code.line("__syncthreads();");
  code.line("totals[threadIdx.x] = {}(before, totals[threadIdx.x]);", combine);
  code.line("__syncthreads();");
  code.close();
  code.line("real total = threadIdx.x > 0u ? totals[threadIdx.x - 1u] : {};", start);
  open_loop();
  code.line("const real next = {}(total, x);", combine);
  code.line("w0[at] = put<{}>({});", type_text(call.written[0].element), is_exclusive ? "total" : "next");
  code.line("total = next;");
  code.close();
  code.close();
  launch.source = prelude(arithmetic) + definitions_for(code.text(), arithmetic) + code.text();
  return launch;
}

SourceLaunch top_source(const cost::Call& call) {
  const std::vector<std::int64_t>& integers = call.function->what.integers;
  const std::int64_t outer = integers[0], length = integers[1], inner = integers[2], wanted = integers[3];
  const bool is_largest = integers[4] != 0;
  constexpr std::int64_t block = 128;
  SourceLaunch launch;
  launch.name = "top";
  launch.block = block;
  launch.grid[0] = grid_of((outer * length * inner + block - 1) / block);
  const std::uint32_t operand = call.function->operands[0];
  Parameters parameters;
  parameters.add(call, false, operand);
  for (std::uint32_t i = 0; i < call.written.size(); ++i) parameters.add(call, true, i);
  const std::string from = pointer(false, operand);
  Code code;
  open_kernel(code, launch, parameters);
  write_waiting(code);
  code.line("const long long i = static_cast<long long>(blockIdx.x) * {} + threadIdx.x;", block);
  code.line("if (i >= {}ll) return;", outer * length * inner);
  // Neighbouring threads have neighbouring elements of the result's order within a line.
  code.line("const int own = static_cast<int>(i % {}ll);", length);
  code.line("const long long line = i / {0}ll, begin = line / {1}ll * {2}ll + line % {1}ll;", length, inner,
            length * inner);
  code.line("const auto kept = {}[begin + own * {}ll];", from, inner);
  code.line("const real x = get(kept);");
  code.line("int before = 0;");
  code.add("#pragma unroll 8");
  code.open("for (int k = 0; k < {}; ++k)", length);
  code.line("const real y = get({}[begin + k * {}ll]);", from, inner);
  // NaN is the largest number; equal ones keep their order.
  code.line("const bool is_before = (x != x) != (y != y) ? (y != y) == {} : x != x || x == y ? k < own : y {} x;",
            is_largest, is_largest ? '>' : '<');
  code.line("before += is_before;");
  code.close();
  code.line("if (before >= {}) return;", wanted);
  code.line("const long long to = (line / {0}ll * {1}ll + before) * {0}ll + line % {0}ll;", inner, wanted);
  for (std::uint32_t i = 0; i < call.written.size(); ++i)
    code.line("{}[to] = {};", pointer(true, i), call.function->results[i] == 0 ? "kept" : "own");
  code.close();
  launch.source = prelude(arithmetic_of(call)) + code.text();
  return launch;
}

}  // namespace taso::gpu
