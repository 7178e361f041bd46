#include "runtime/gpu/packed_operands.h"

#include <algorithm>

#include "cost/plan/memory_plan.h"
#include "runtime/gpu/kernels/computation.h"
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

/// A variant of `dense`, for the call: both differ in the places of some operands, which are copied into scratch memory
/// or from there.
Lowering with_copies(const cost::Call& call, const cost::Call& dense, Lowering way) {
  std::vector<Launch> before, after;
  std::int64_t end = way.scratch_bytes;
  const auto move = [&](Argument own, const cost::Call::Operand& from, const cost::Call::Operand& to) {
    if (from == to) return;
    const bool is_read = own.place == Argument::Place::read;
    const Argument copied{Argument::Place::scratch, 0, cost::aligned_size(end)};
    end = copied.offset + dense_bytes(to);
    for (Launch& launch : way.launches)
      for_each_argument(launch, [&](Argument& argument) {
        if (argument.place == own.place && argument.index == own.index)
          argument = {copied.place, copied.index, copied.offset + argument.offset};
      });
    if (is_read)
      before.emplace_back(copy(from, own, to, copied));
    else
      after.emplace_back(copy(to, copied, from, own));
  };
  for (std::uint32_t i = 0; i < call.read.size(); ++i) move({Argument::Place::read, i, 0}, call.read[i], dense.read[i]);
  for (std::uint32_t i = 0; i < call.written.size(); ++i)
    move({Argument::Place::written, i, 0}, call.written[i], dense.written[i]);
  way.launches.insert(way.launches.begin(), before.begin(), before.end());
  way.launches.insert(way.launches.end(), after.begin(), after.end());
  way.is_makeshift = true;
  way.scratch_bytes = end;
  return way;
}

/// The value that a factor is before it is multiplied by numbers.
std::uint32_t without_scales(const cost::Call& call, const kernels::Values& values, std::uint32_t value) {
  while (value >= call.read.size()) {
    const cost::Call::Step& step = call.steps[values.steps.at(value)];
    if (!std::holds_alternative<op::Mul>(step.op)) return value;
    const auto is_number = [&](std::size_t i) { return ops::count(values.extents.at(step.operands[i])) == 1; };
    if (is_number(0) == is_number(1)) return value;
    value = step.operands[is_number(0) ? 1 : 0];
  }
  return value;
}

/// Gives a factor of a product, which has this shape, all batches of it: those that it repeats have stride 0. Does
/// nothing if one stride is enough for them.
void repeat_batches(cost::Call::Operand& factor, const Extents& product) {
  if (factor.extents.size() < 2) return;
  cost::Call::Operand repeated = factor;
  const std::size_t more = product.size() - factor.extents.size();
  repeated.extents.insert(repeated.extents.begin(), more, 1);
  repeated.strides.insert(repeated.strides.begin(), more, 0);
  for (std::size_t i = 0; i + 2 < product.size(); ++i) {
    if (repeated.extents[i] == product[i]) continue;
    repeated.extents[i] = product[i];
    repeated.strides[i] = 0;
  }
  if (!cost::has_one_batch_stride(repeated.extents, repeated.strides)) factor = std::move(repeated);
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
  for (const auto& [gathers, scatters] : {std::pair(false, true), std::pair(true, false), std::pair(true, true)}) {
    if ((gathers && !is_part_of_channels(call.read[read])) || (scatters && !is_part_of_channels(call.written[0])))
      continue;
    cost::Call dense = call;
    if (gathers) dense.read[read] = without_gaps(call.read[read]);
    if (scatters) dense.written[0] = without_gaps(call.written[0]);
    for (Lowering& way : ways(dense)) {
      // If the product is already in scratch memory, the next launch writes the result directly into its place.
      if (scatters && way.launches.size() > 1) continue;
      if (gathers) way.name = "gathered " + way.name;
      if (scatters) way.name += " scattered";
      all.push_back(with_copies(call, dense, std::move(way)));
    }
  }
  return all;
}

std::vector<Lowering> through_dense_batches(const cost::Call& call,
                                            const std::function<std::vector<Lowering>(const cost::Call&)>& ways) {
  cost::Call whole = call;
  const kernels::Values values(call);
  std::vector<std::uint32_t> factors;
  for (const cost::Call::Step& step : call.steps)
    if (std::holds_alternative<op::MatMul>(step.op))
      for (const std::uint32_t value : step.operands) {
        const std::uint32_t factor = without_scales(call, values, value);
        if (factor >= call.read.size()) continue;
        factors.push_back(factor);
        repeat_batches(whole.read[factor], values.extents.at(step.first_result));
      }
  cost::Call dense = whole;
  const auto pack = [](cost::Call::Operand& operand) {
    if (operand.extents.size() > 2 && !cost::has_one_batch_stride(operand.extents, operand.strides))
      operand.strides = cost::packed(operand.extents, cost::Layout::channels_first);
  };
  for (const std::uint32_t factor : factors) pack(dense.read[factor]);
  pack(dense.written[0]);
  if (dense == whole) return {};
  std::vector<Lowering> all;
  for (Lowering& way : ways(dense)) {
    way.name = "copied " + way.name;
    all.push_back(with_copies(whole, dense, std::move(way)));
  }
  return all;
}

}  // namespace taso::gpu
