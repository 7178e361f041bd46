#include "verifier/agreement/field_agreement.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/core/error.h"
#include "ops/core/field.h"

namespace taso::verifier {
namespace {

/// The block grown from a position as far as all of its positions are equal, one axis after the other.
Block grown(const FieldAgreement& agreement, const BlockCounter& different, const Extents& position,
            const std::vector<std::size_t>& axes) {
  Block block{position, position};
  for (std::int64_t& high : block.high) ++high;
  const auto extends = [&](std::size_t axis, bool up) {
    Block more = block;
    if (up ? more.high[axis] == agreement.extents[axis] : more.low[axis] == 0) return false;
    if (up) {
      ++more.high[axis];
    } else {
      --more.low[axis];
    }
    if (different.count(more) > 0) return false;
    block = more;
    return true;
  };
  for (const std::size_t axis : axes) {
    while (extends(axis, true)) {
    }
    while (extends(axis, false)) {
    }
  }
  return block;
}

}  // namespace

FieldAgreement agreement_in_field(const rules::ConcreteInstance& concrete, std::size_t inputs, Random& random) {
  FieldAgreement agreement;
  for (std::size_t i = 0; i < inputs; ++i) {
    std::vector<Tensor<Field>> contents;
    for (const Extents& extents : concrete.inputs) {
      std::vector<Field> data(static_cast<std::size_t>(count(extents)));
      for (Field& value : data) value = Field::from_bits(random.next() >> 3);
      contents.emplace_back(extents, std::move(data));
    }
    const auto sides = rules::evaluate_sides<Field>(concrete, contents);
    const Tensor<Field>&source = sides.source[0], &target = sides.target[0];
    check(source.extents == target.extents, "both sides have the same shape");
    agreement.extents = source.extents;
    agreement.equal.resize(source.data.size(), true);
    for (std::size_t place = 0; place < source.data.size(); ++place)
      if (source.data[place] != target.data[place]) agreement.equal[place] = false;
  }
  return agreement;
}

double error_bound(std::size_t degree, std::size_t inputs) {
  // 61 random bits are two of the 2^61 - 1 numbers at most twice as often as the others.
  return std::pow(static_cast<double>(degree) * 0x1p-60, static_cast<double>(inputs));
}

std::vector<Block> maximal_blocks(const FieldAgreement& agreement, std::size_t most) {
  std::vector<bool> different = agreement.equal;
  different.flip();
  const BlockCounter counter(agreement.extents, different);
  std::vector<std::size_t> forwards(agreement.extents.size());
  for (std::size_t axis = 0; axis < forwards.size(); ++axis) forwards[axis] = axis;
  const std::vector<std::size_t> backwards(forwards.rbegin(), forwards.rend());
  std::vector<Block> blocks;
  std::size_t place = 0;
  for_each_index(agreement.extents, [&](const Extents& position) {
    if (!agreement.equal[place++] || blocks.size() >= most) return;
    if (std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) { return block.contains(position); })) return;
    Block one = grown(agreement, counter, position, forwards), other = grown(agreement, counter, position, backwards);
    const bool same = one == other;
    if (one.count() < other.count()) std::swap(one, other);
    blocks.push_back(std::move(one));
    if (!same) blocks.push_back(std::move(other));
  });
  return blocks;
}

BlockCounter::BlockCounter(const Extents& extents, const std::vector<bool>& marked) {
  Extents bordered = extents;
  for (std::int64_t& extent : bordered) ++extent;
  strides_ = strides_of(bordered);
  sums_.assign(static_cast<std::size_t>(ops::count(bordered)), 0);
  std::size_t place = 0;
  for_each_index(extents, [&](const Extents& index) {
    std::int64_t inside = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) inside += (index[axis] + 1) * strides_[axis];
    sums_[static_cast<std::size_t>(inside)] = marked[place++] ? 1 : 0;
  });
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    for_each_index(bordered, [&](const Extents& index) {
      if (index[axis] == 0) return;
      const std::int64_t here = flat_index(index, strides_);
      sums_[static_cast<std::size_t>(here)] += sums_[static_cast<std::size_t>(here - strides_[axis])];
    });
}

std::int64_t BlockCounter::count(const Block& block) const {
  std::int64_t total = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << block.low.size()); ++corner) {
    std::int64_t place = 0, sign = 1;
    for (std::size_t axis = 0; axis < block.low.size(); ++axis) {
      const bool low = (corner >> axis & 1) != 0;
      place += (low ? block.low : block.high)[axis] * strides_[axis];
      if (low) sign = -sign;
    }
    total += sign * sums_[static_cast<std::size_t>(place)];
  }
  return total;
}

}  // namespace taso::verifier
