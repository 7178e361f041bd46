#include "runtime/gpu/patches.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "cost/plan/memory_plan.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/packed_operands.h"

namespace taso::gpu {
namespace {

/// Axes of a tensor as one: their extent and stride, if there is such a stride.
struct Merged {
  std::int64_t extent = 1, stride = 1;
};
std::optional<Merged> merged(const Extents& extents, const cost::Strides& strides, std::size_t first) {
  Merged all;
  for (std::size_t axis = extents.size(); axis-- > first;) {
    if (extents[axis] == 1) continue;
    if (all.extent == 1) all.stride = strides[axis];
    if (strides[axis] != all.stride * all.extent) return {};
    all.extent *= extents[axis];
  }
  return all;
}

class Patches {
 public:
  explicit Patches(const cost::Call& call)
      : call_(call),
        conv_(std::get<op::Conv>(call.steps[call.main].op)),
        operands_(call.steps[call.main].operands),
        x_(call.read[operands_[0]]),
        w_(call.read[operands_[1]]),
        y_(call.written[0]) {}

  bool can_be_done() {
    if (call_.steps.size() != 1 || conv_.groups != 1) return false;
    const auto is_not = [](std::int64_t number) { return [number](std::int64_t other) { return other != number; }; };
    if (std::any_of(conv_.pads.begin(), conv_.pads.end(), is_not(0))) return false;
    if (std::any_of(conv_.dilations.begin(), conv_.dilations.end(), is_not(1))) return false;
    bool is_pixel = true;
    for (std::size_t a = 0; a < conv_.strides.size(); ++a) {
      if (conv_.strides[a] < w_.extents[2 + a]) return false;
      is_pixel = is_pixel && w_.extents[2 + a] == 1;
    }
    pixels_ = merged(y_.extents, y_.strides, 2);
    // A result with one channel may lie within another image, where its lines are aligned, but not its planes. The
    // product writes planes as rows, and may rely on their alignment.
    return !is_pixel && pixels_ && y_.extents[1] > 1 && order_axes();
  }

  /// The product of the windows, which are its first operand, with the filters.
  cost::Call product() const {
    const Extents result{y_.extents[0], pixels_->extent, y_.extents[1]};
    cost::Call product;
    product.kind = cost::Kernel::Kind::matmul;
    product.precision = call_.precision;
    product.read.push_back(patches());
    product.read.push_back({w_.element, {depth_, w_.extents[0]}, {1, w_.strides[0]}, w_.is_weight});
    if (operands_.size() > 2) product.read.push_back(call_.read[operands_[2]]);
    const auto first = static_cast<std::uint32_t>(product.read.size());
    product.steps.push_back({op::MatMul{}, {0, 1}, first});
    if (operands_.size() > 2) product.steps.push_back({op::Add{}, {first, 2}, first + 1});
    product.written.push_back({y_.element, result, {y_.strides[0], pixels_->stride, y_.strides[1]}});
    product.results = {product.steps.back().first_result};
    return product;
  }

  /// A variant of the product as one of the call.
  Lowering with_copy(Lowering way) const {
    const Argument copied{Argument::Place::scratch, 0, cost::aligned_size(way.scratch_bytes)};
    for (Launch& launch : way.launches)
      for_each_argument(launch, [&](Argument& argument) {
        if (argument.place != Argument::Place::read) return;
        if (argument.index == 0)
          argument = {copied.place, copied.index, copied.offset + argument.offset};
        else
          argument.index = operands_[argument.index];
      });
    way.launches.insert(way.launches.begin(), copy(copied));
    way.scratch_bytes = copied.offset + ops::count(patches().extents) * static_cast<std::int64_t>(size_of(x_.element));
    way.name = "patches " + way.name;
    return way;
  }

 private:
  /// Sorts the axes of a filter as they lie in memory. It must have no gaps.
  bool order_axes() {
    axes_.resize(w_.extents.size() - 1);
    std::iota(axes_.begin(), axes_.end(), std::size_t{1});
    std::stable_sort(axes_.begin(), axes_.end(),
                     [&](std::size_t a, std::size_t b) { return w_.strides[a] > w_.strides[b]; });
    depth_ = 1;
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      if (w_.extents[*axis] != 1 && w_.strides[*axis] != depth_) return false;
      depth_ *= w_.extents[*axis];
    }
    return true;
  }

  cost::Call::Operand patches() const {
    const Extents extents{y_.extents[0], pixels_->extent, depth_};
    return {x_.element, extents, cost::packed(extents, cost::Layout::channels_first)};
  }

  SourceLaunch copy(Argument to) const {
    cost::Call copy;
    copy.kind = cost::Kernel::Kind::copy;
    copy.read = {x_};
    copy.written = {patches()};
    Extents extents{y_.extents[0]};
    cost::Strides strides{x_.strides[0]};
    for (std::size_t a = 0; a < conv_.strides.size(); ++a) {
      extents.push_back(y_.extents[2 + a]);
      strides.push_back(x_.strides[2 + a] * conv_.strides[a]);
    }
    for (const std::size_t axis : axes_) {
      extents.push_back(w_.extents[axis]);
      strides.push_back(x_.strides[axis]);
    }
    copy.pieces.push_back({0, 0, 0, 0, extents, copy.written[0].extents, strides, copy.written[0].strides});
    SourceLaunch launch = copy_source(copy);
    for (Argument& argument : launch.arguments) {
      const bool is_read = argument.place == Argument::Place::read;
      argument = is_read ? Argument{Argument::Place::read, operands_[0], argument.offset}
                         : Argument{to.place, to.index, to.offset + argument.offset};
    }
    return launch;
  }

  const cost::Call& call_;
  const op::Conv& conv_;
  const std::vector<std::uint32_t>& operands_;
  const cost::Call::Operand &x_, &w_, &y_;
  std::optional<Merged> pixels_;   ///< of the result
  std::vector<std::size_t> axes_;  ///< of a filter, outermost first
  std::int64_t depth_ = 1;
};

}  // namespace

std::vector<Lowering> through_patches(const cost::Call& call,
                                      const std::function<std::vector<Lowering>(const cost::Call&)>& ways) {
  Patches patches(call);
  if (!patches.can_be_done()) return {};
  std::vector<Lowering> all;
  for (Lowering& way : ways(patches.product())) all.push_back(patches.with_copy(std::move(way)));
  return all;
}

}  // namespace taso::gpu
