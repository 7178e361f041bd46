#include "runtime/gpu/packed_operands.h"

#include <algorithm>

#include "cost/plan/memory_plan.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

std::int64_t dense_bytes(const cost::Call::Operand& operand) {
  return ops::count(operand.extents) * static_cast<std::int64_t>(size_of(operand.element));
}

SourceLaunch copy(const cost::Call::Operand& from, Argument source, const cost::Call::Operand& to, Argument target) {
  cost::Call call;
  call.kind = cost::Kernel::Kind::copy;
  call.read = {from};
  call.read[0].is_weight = false;
  call.written = {to};
  call.pieces.push_back({0, 0, 0, 0, from.extents, to.extents, from.strides, to.strides});
  SourceLaunch launch = copy_source(call);
  for (Argument& argument : launch.arguments) {
    const Argument& place = argument.place == Argument::Place::read ? source : target;
    argument = {place.place, place.index, place.offset + argument.offset};
  }
  return launch;
}

}  // namespace

void for_each_argument(Launch& launch, const std::function<void(Argument&)>& visit) {
  if (auto* source = std::get_if<SourceLaunch>(&launch)) {
    for (Argument& argument : source->arguments) visit(argument);
    return;
  }
  const auto of_epilogue = [&](std::vector<Pointwise>& steps) {
    for (Pointwise& step : steps)
      if (step.operand) visit(step.operand->memory);
  };
  if (auto* product = std::get_if<ConvolutionLaunch>(&launch)) {
    for (LaunchTensor* tensor : {&product->x, &product->w, &product->y}) visit(tensor->memory);
    of_epilogue(product->epilogue);
  } else if (auto* matmul = std::get_if<MatmulLaunch>(&launch)) {
    for (LaunchTensor* tensor : {&matmul->a, &matmul->b, &matmul->y}) visit(tensor->memory);
    of_epilogue(matmul->epilogue);
  }
}

bool is_part_of_channels(const cost::Call::Operand& operand) {
  if (operand.extents.size() < 3 || ops::count(operand.extents) == 0 || operand.strides[1] != 1) return false;
  return !cost::is_packed(operand.extents, operand.strides, cost::Layout::channels_last) &&
         !cost::is_packed(operand.extents, operand.strides, cost::Layout::channels_first);
}

cost::Call::Operand without_gaps(cost::Call::Operand operand) {
  if (is_part_of_channels(operand)) operand.strides = cost::packed(operand.extents, cost::Layout::channels_last);
  return operand;
}

std::vector<Lowering> through_copies(const cost::Call& call, std::uint32_t read,
                                     const std::function<std::vector<Lowering>(const cost::Call&)>& ways) {
  std::vector<Lowering> all;
  for (const auto& way_to_copy : {std::pair(false, true), std::pair(true, false), std::pair(true, true)}) {
    const bool gathers = way_to_copy.first, scatters = way_to_copy.second;  // named for the lambdas
    if ((gathers && !is_part_of_channels(call.read[read])) || (scatters && !is_part_of_channels(call.written[0])))
      continue;
    cost::Call dense = call;
    if (gathers) dense.read[read] = without_gaps(call.read[read]);
    if (scatters) dense.written[0] = without_gaps(call.written[0]);
    for (Lowering& way : ways(dense)) {
      // If the product is already in scratch memory, the next launch writes the result directly into its place.
      if (scatters && way.launches.size() > 1) continue;
      const Argument x{Argument::Place::scratch, 0, cost::aligned_size(way.scratch_bytes)};
      const Argument y{Argument::Place::scratch, 0,
                       x.offset + (gathers ? cost::aligned_size(dense_bytes(call.read[read])) : 0)};
      for (Launch& launch : way.launches)
        for_each_argument(launch, [&](Argument& argument) {
          const std::int64_t offset = argument.offset;
          if (gathers && argument.place == Argument::Place::read && argument.index == read)
            argument = x;
          else if (scatters && argument.place == Argument::Place::written)
            argument = y;
          else
            return;
          argument.offset += offset;
        });
      if (gathers) {
        way.name = "gathered " + way.name;
        way.launches.insert(way.launches.begin(),
                            copy(call.read[read], {Argument::Place::read, read, 0}, dense.read[read], x));
      }
      if (scatters) {
        way.name += " scattered";
        way.launches.emplace_back(copy(dense.written[0], y, call.written[0], {Argument::Place::written, 0, 0}));
      }
      way.is_makeshift = true;
      way.scratch_bytes = y.offset + (scatters ? cost::aligned_size(dense_bytes(call.written[0])) : 0);
      all.push_back(std::move(way));
    }
  }
  return all;
}

}  // namespace taso::gpu
