#include <algorithm>

#include "ops/core/error.h"
#include "runtime/gpu/functions/formula_text.h"
#include "runtime/gpu/kernels/computation.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// Returns the text of the element of an access.
using Element = std::function<std::string(std::size_t)>;

/// A kernel that visits a space element by element. `compute` writes the computation from the elements that were read,
/// and returns what to store, already converted, for each access in `stores`.
SourceLaunch by_element(const cost::Call& call, const Extents& space, const std::vector<Access>& accesses,
                        const std::vector<std::size_t>& stores, std::int64_t multiprocessors,
                        const std::function<std::vector<std::string>(Code&, const Element&)>& compute) {
  std::vector<Axis> axes = axes_of(space, accesses);
  std::size_t key = stores[0];
  for (const std::size_t store : stores)
    if (std::count(accesses[store].strides.begin(), accesses[store].strides.end(), 0) <
        std::count(accesses[key].strides.begin(), accesses[key].strides.end(), 0))
      key = store;
  axes = simplified(std::move(axes), key);
  const std::int64_t places = count(axes);
  std::int64_t width = vector_width(axes, accesses);
  // If there are too few threads for the whole chip, use more threads with less work each.
  while (width > 1 && places / width < multiprocessors * 64) width /= 2;
  const std::int64_t threads = places / width;
  const std::int64_t block = threads >= multiprocessors * 1024 ? 256 : threads >= multiprocessors * 64 ? 128 : 64;
  const bool is_wide = needs_wide_index(axes, accesses.size());

  SourceLaunch launch;
  launch.name = "element_wise";
  launch.block = static_cast<std::uint32_t>(block);
  launch.grid[0] = grid_of((threads + block - 1) / block);
  Parameters parameters;
  for (const Access& access : accesses) parameters.add(call, access.is_written, access.operand);

  Code code;
  open_kernel(code, launch, parameters);
  write_waiting(code);
  code.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", index_type(is_wide),
            index(block, is_wide));
  if (threads % block != 0 || threads == 0) code.line("if (i >= {}) return;", index(threads, is_wide));
  const std::vector<std::string> indices = write_indices(code, "i", "i", axes, width, is_wide);
  const auto moves = [&](std::size_t access) { return width > 1 && axes.back().strides[access] != 0; };
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const std::string begin = pointer(accesses[i].is_written, accesses[i].operand);
    const std::string offset = offset_text(axes, i, indices, width, is_wide);
    if (accesses[i].is_written)
      code.line("Pack<{}, {}> a{};", type_text(accesses[i].element), width, i);
    else if (moves(i))
      code.line("const auto a{} = load<{}>({} + ({}));", i, width, begin, offset);
    else
      code.line("const auto a{} = {}[{}];", i, begin, offset);
  }
  if (width > 1) code.unrolled("k", width);
  const std::vector<std::string> results = compute(code, [&](std::size_t access) {
    return moves(access) ? fmt::format("a{}.v[k]", access) : fmt::format("a{}", access);
  });
  for (std::size_t i = 0; i < stores.size(); ++i)
    code.line("a{}.v[{}] = {};", stores[i], width > 1 ? "k" : "0", results[i]);
  if (width > 1) code.close();
  for (const std::size_t store : stores) {
    const std::string offset = offset_text(axes, store, indices, width, is_wide);
    if (moves(store))
      code.line("store({} + ({}), a{});", pointer(true, accesses[store].operand), offset, store);
    else
      code.line("{}[{}] = a{}.v[0];", pointer(true, accesses[store].operand), offset, store);
  }
  code.close();
  launch.source = prelude(arithmetic_of(call));
  if (call.function) launch.source += definitions_for(code.text(), arithmetic_of(call));
  launch.source += code.text();
  return launch;
}

SourceLaunch function_source(const cost::Call& call, std::int64_t multiprocessors) {
  check(call.steps.empty() && call.written.size() == 1, "a function stands alone");
  const Extents& space = call.written[0].extents;
  const Values values(call);
  Computation computation(call, values, space);
  std::vector<std::size_t> operands;
  for (std::size_t i = 0; i < call.function->operands.size(); ++i) {
    const std::uint32_t operand = call.function->operands[i];
    operands.push_back(
        computation.access(false, operand, operand_axes(call.function->what, i, values.extents.at(operand), space)));
  }
  const std::size_t store = computation.access(true, 0, aligned(space, space));
  return by_element(call, space, computation.accesses(), {store}, multiprocessors, [&](Code&, const Element& element) {
    std::vector<std::string> texts;
    for (const std::size_t operand : operands) texts.push_back(element(operand));
    return std::vector{expression(call.function->what, texts, call.written[0].element, arithmetic_of(call))};
  });
}

}  // namespace

SourceLaunch element_wise_source(const cost::Call& call, std::int64_t multiprocessors) {
  if (call.function) return function_source(call, multiprocessors);
  const Values values(call);
  check(call.results.size() == call.written.size() && !call.written.empty(), "each operand that is written is a value");
  Extents space;
  for (const std::uint32_t result : call.results) space = broadcast(space, values.extents.at(result));

  Computation computation(call, values, space);
  std::vector<std::size_t> results, stores;
  for (std::uint32_t i = 0; i < call.results.size(); ++i) {
    // A result smaller than the space is written several times, with the same numbers.
    const AxisMap axes = aligned(values.extents.at(call.results[i]), space);
    results.push_back(computation.make(call.results[i], axes));
    stores.push_back(computation.access(true, i, axes));
  }
  return by_element(
      call, space, computation.accesses(), stores, multiprocessors, [&](Code& code, const Element& element) {
        computation.write(code, arithmetic_of(call), element);
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < results.size(); ++i)
          texts.push_back(fmt::format("put<{}>({})", type_text(call.written[i].element), computation.text(results[i])));
        return texts;
      });
}

}  // namespace taso::gpu
