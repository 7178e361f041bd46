// Operators that reorder elements by a fixed pattern: blocks, triangles, reversed sequences.
#include <algorithm>

#include "runtime/host/copy.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

/// x viewed as `view`, its dimensions permuted by `order`, and the result viewed as `extents`.
Array permuted(const HostCall& call, const Array& x, const Extents& view, const std::vector<std::size_t>& order,
               const Extents& extents) {
  const auto own = strides_of(view);
  Extents between;
  std::vector<std::int64_t> strides;
  for (const std::size_t axis : order) {
    between.push_back(view[axis]);
    strides.push_back(own[axis]);
  }
  return gather_strided(x, 0, std::move(strides), make_array(call, x.type(), between)).reshaped(extents);
}

std::int64_t block_size(const HostCall& call) {
  require_rank(call, 0, 4);
  const std::int64_t block = call.attributes.integer("blocksize", 0);
  require(call, block > 0 && block < (std::int64_t{1} << 31), "blocksize is out of range");
  return block;
}

bool depth_first(const HostCall& call) {
  const std::string mode = call.attributes.text("mode", "DCR");
  require(call, mode == "DCR" || mode == "CRD", "unknown mode");
  return mode == "DCR";
}

Arrays depth_to_space(const HostCall& call) {
  const Array& x = call.input(0);
  const std::int64_t block = block_size(call);
  const std::int64_t n = x.extents()[0], c = x.extents()[1] / (block * block), h = x.extents()[2], w = x.extents()[3];
  require(call, c * block * block == x.extents()[1], "blocksize does not divide the channels");
  const Extents extents{n, c, times(call, h, block), times(call, w, block)};
  if (depth_first(call)) return {permuted(call, x, {n, block, block, c, h, w}, {0, 3, 4, 1, 5, 2}, extents)};
  return {permuted(call, x, {n, c, block, block, h, w}, {0, 1, 4, 2, 5, 3}, extents)};
}

Arrays space_to_depth(const HostCall& call) {
  const Array& x = call.input(0);
  const std::int64_t block = block_size(call);
  const std::int64_t n = x.extents()[0], c = x.extents()[1], h = x.extents()[2] / block, w = x.extents()[3] / block;
  require(call, h * block == x.extents()[2] && w * block == x.extents()[3], "blocksize does not divide the image");
  const Extents extents{n, times(call, c, block * block), h, w};
  const std::vector<std::size_t> order =
      depth_first(call) ? std::vector<std::size_t>{0, 3, 5, 1, 2, 4} : std::vector<std::size_t>{0, 1, 3, 5, 2, 4};
  return {permuted(call, x, {n, c, h, block, w, block}, order, extents)};
}

Arrays reverse_sequence(const HostCall& call) {
  const Array& x = call.input(0);
  require(call, x.rank() >= 2, "the operand must be of rank 2 or more");
  const std::size_t batch_axis = axis_in(call, call.attributes.integer("batch_axis", 1), x.rank());
  const std::size_t time_axis = axis_in(call, call.attributes.integer("time_axis", 0), x.rank());
  require(call, batch_axis + time_axis == 1, "batch and time must be the first two dimensions");
  const std::vector<std::int64_t> lengths = integers_of(call, 1);
  const std::int64_t batches = x.extents()[batch_axis], times_count = x.extents()[time_axis];
  require(call, sign(lengths.size()) == batches, "there must be one length per batch");
  Array result = make_array(call, x.type(), x.extents());
  if (result.size() == 0) return {result};
  const std::size_t run = x.bytes() / unsign(batches * times_count);
  const auto place = [&](std::int64_t batch, std::int64_t time) {
    return unsign(batch_axis == 0 ? batch * times_count + time : time * batches + batch) * run;
  };
  std::byte* to = result.mutable_data();
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t length = lengths[unsign(batch)];
    require(call, length >= 0 && length <= times_count, "a sequence is longer than the tensor");
    for (std::int64_t time = 0; time < times_count; ++time)
      std::memcpy(to + place(batch, time), x.data() + place(batch, time < length ? length - 1 - time : time), run);
  }
  return {std::move(result)};
}

Arrays trilu(const HostCall& call) {
  const Array& x = call.input(0);
  require(call, x.rank() >= 2, "the operand must be of rank 2 or more");
  const bool upper = call.attributes.integer("upper", 1) != 0;
  const std::int64_t rows = x.extents()[x.rank() - 2], columns = x.extents()[x.rank() - 1];
  const std::int64_t k = std::clamp(call.has(1) ? integer_of(call, 1) : 0, -rows - 1, columns + 1);
  Array result = make_zeros(call, x.type(), x.extents());
  if (result.size() == 0) return {result};
  const std::size_t size = size_of(x.type());
  std::byte* to = result.mutable_data();
  for (std::int64_t line = 0; line < x.size() / columns; ++line) {
    const std::int64_t cut = std::clamp<std::int64_t>(line % rows + k + (upper ? 0 : 1), 0, columns);
    const std::int64_t begin = upper ? cut : 0, end = upper ? columns : cut;
    const std::size_t offset = unsign(line * columns + begin) * size;
    std::memcpy(to + offset, x.data() + offset, unsign(end - begin) * size);
  }
  return {std::move(result)};
}

}  // namespace

Family rearrangement() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
      {"ReverseSequence", reverse_sequence},
      {"Trilu", trilu},
  };
  return functions;
}

}  // namespace taso::runtime
