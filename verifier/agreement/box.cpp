#include "verifier/agreement/box.h"

#include <algorithm>

#include <fmt/format.h>

namespace taso::verifier {
namespace {

/// The parts of `piece` outside `box`, one axis after the other.
void subtract(const Box& piece, const Box& box, const Shape& shape, const AtMost& at_most, std::vector<Box>& rest) {
  std::vector<Box> parts;
  Box middle = piece;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Interval given = piece.axes[axis];
    const auto [low, high] = box.axes[axis];
    // A piece that begins at 0 or ends at the tensor's end needs no comparison: only positions of the tensor count.
    const bool begins_before = given.low == Dim(0) || at_most(given.low, low);
    const bool ends_after = given.high == shape[axis] || at_most(high, given.high);
    const bool is_apart = at_most(given.high, low) || at_most(high, given.low);
    if (is_apart || (!begins_before && !at_most(low, given.low)) || (!ends_after && !at_most(given.high, high))) {
      rest.push_back(piece);
      return;
    }
    if (begins_before && low != given.low && !at_most(low, 0)) {
      Box before = middle;
      before.axes[axis].high = low;
      parts.push_back(std::move(before));
    }
    if (ends_after && high != given.high && !at_most(shape[axis], high)) {
      Box after = middle;
      after.axes[axis].low = high;
      parts.push_back(std::move(after));
    }
    middle.axes[axis] = {begins_before ? low : given.low, ends_after ? high : given.high};
  }
  rest.insert(rest.end(), parts.begin(), parts.end());
}

}  // namespace

Box whole(const Shape& shape) {
  Box box;
  for (const Dim& dim : shape) box.axes.push_back({0, dim});
  return box;
}

std::int64_t Block::count() const {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < low.size(); ++axis) count *= high[axis] - low[axis];
  return count;
}

bool Block::contains(const Extents& position) const {
  for (std::size_t axis = 0; axis < low.size(); ++axis)
    if (position[axis] < low[axis] || position[axis] >= high[axis]) return false;
  return true;
}

Block at(const Box& box, const Extents& extents, const Binding& binding) {
  Block block;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    block.low.push_back(std::clamp<std::int64_t>(box.axes[axis].low.evaluate(binding), 0, extents[axis]));
    block.high.push_back(
        std::clamp<std::int64_t>(box.axes[axis].high.evaluate(binding), block.low.back(), extents[axis]));
  }
  return block;
}

std::vector<Box> complement(const Shape& shape, const std::vector<Box>& boxes, const AtMost& at_most) {
  std::vector<Box> pieces{whole(shape)};
  for (const Box& box : boxes) {
    std::vector<Box> rest;
    for (const Box& piece : pieces) subtract(piece, box, shape, at_most, rest);
    pieces = std::move(rest);
  }
  return pieces;
}

std::string text_of(Dim dim, const NameOf& name_of) {
  if (dim.is_static()) return std::to_string(dim.value());
  std::string text;
  for (const DimTerm& term : terms_of(dim)) {
    const std::int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    std::string product = size != 1 || term.factors.empty() ? std::to_string(size) : "";
    for (const DimFactor& factor : term.factors) {
      if (!product.empty()) product += " * ";
      if (!factor.name.empty()) {
        product += name_of(factor.name);
        continue;
      }
      const auto part = [&](Dim inner) {
        const bool plain = inner.is_static() || (terms_of(inner).size() == 1 && terms_of(inner)[0].coefficient == 1 &&
                                                 terms_of(inner)[0].factors.size() == 1);
        return plain ? text_of(inner, name_of) : fmt::format("({})", text_of(inner, name_of));
      };
      const std::string quotient = fmt::format("{} / {}", part(factor.numerator), part(factor.denominator));
      product += term.factors.size() == 1 && term.coefficient == 1 ? quotient : fmt::format("({})", quotient);
    }
    if (text.empty())
      text = term.coefficient < 0 ? "-" + product : product;
    else
      text += (term.coefficient < 0 ? " - " : " + ") + product;
  }
  return text;
}

std::string text_of(const Box& box, const Shape& shape, const NameOf& name_of) {
  std::string text;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto& [low, high] = box.axes[axis];
    if (low == Dim(0) && high == shape[axis]) continue;
    if (!text.empty()) text += " and ";
    const std::string index = fmt::format("i{}", axis);
    if (high == low + 1) {
      text += fmt::format("{} = {}", index, text_of(low, name_of));
      continue;
    }
    if (low != Dim(0)) text += text_of(low, name_of) + " <= ";
    text += index;
    if (high != shape[axis]) text += " < " + text_of(high, name_of);
  }
  return text.empty() ? "everywhere" : text;
}

}  // namespace taso::verifier
