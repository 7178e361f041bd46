#include "generator/partial/rearrangement.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace taso::generator {

namespace {

using Part = Rearrangement::Part;
using Piece = Rearrangement::Piece;

/// A part with the changed spatial axis that it belongs to.
struct Place {
  std::size_t axis = 0;  // of the tensor
  Piece piece = Piece::whole;
  std::size_t spatial = 0;  // index in Lift::changed; of factors and of parts of changed axes
  bool operator==(const Place&) const = default;
};

/// The parts of a lifted tensor: what is cut, and how it is joined.
class Parts {
 public:
  Parts(const Expression& x, const Rearrangement& how, const Lift& lift, const std::vector<Size>& factors)
      : x_(x), how_(how), lift_(lift), factors_(factors) {}

  /// The parts of each axis of the operand, in their order.
  std::vector<std::vector<Place>> before() const {
    std::vector<std::vector<Place>> axes;
    for (std::size_t axis = 0; axis < x_.rank(); ++axis) {
      const std::optional<std::size_t> spatial = spatial_of(axis);
      if (axis >= 2 && is_spatial() && !spatial) {
        axes.push_back({{axis, Piece::whole, 0}});
      } else if (how_.cut != std::min<std::size_t>(axis, 2)) {
        axes.push_back({{axis, Piece::whole, spatial.value_or(0)}});
      } else {
        std::vector<Place> parts = spread(axis, Piece::factor);
        const Place rest{axis, Piece::rest, spatial.value_or(0)};
        parts.insert(how_.is_factor_inner ? parts.begin() : parts.end(), rest);
        axes.push_back(std::move(parts));
      }
    }
    return axes;
  }

  /// The parts of each axis of the result; nothing if it cannot be lifted.
  std::optional<std::vector<std::vector<Place>>> after() const {
    std::vector<std::vector<Place>> axes;
    const std::size_t before_space = is_spatial() ? 2 : how_.groups.size();
    for (std::size_t group = 0; group < before_space; ++group) {
      std::vector<Place> parts;
      for (const Part& part : how_.groups[group])
        for (const Place& place : all_of(part)) parts.push_back(place);
      axes.push_back(std::move(parts));
    }
    if (!is_spatial()) return axes;
    std::size_t axis = 2;  // of the operand
    for (std::size_t i = 0; i < lift_.axes; ++i) {
      const std::optional<std::size_t> spatial = index_of(i);
      if (!spatial) {
        axes.push_back({{axis++, Piece::whole, 0}});
        continue;
      }
      const std::size_t own = is_gone() ? axis : axis++;
      if (how_.groups.size() == 2) continue;
      std::vector<Place> parts;
      for (const Part& part : how_.groups[2]) {
        if (part.axis < 2 && part.piece != Piece::factor && lift_.changed.size() > 1) return std::nullopt;
        parts.push_back({part.axis < 2 ? part.axis : own, part.piece, *spatial});
      }
      // Only a factor of batch or channels belongs to one of the changed axes.
      for (Place& place : parts)
        if (place.axis < 2 && place.piece != Piece::factor) place.spatial = 0;
      axes.push_back(std::move(parts));
    }
    return axes;
  }

  Size size_of(const Place& place) const {
    const Size& whole = x_.shape[place.axis];
    switch (place.piece) {
      case Piece::whole: return whole;
      case Piece::factor: return factors_[place.spatial];
      case Piece::rest: break;
    }
    if (place.axis >= 2 && is_spatial()) return whole / factors_[place.spatial];
    Size rest = whole;
    for (const Size& factor : factors_) rest = rest / factor;
    return rest;
  }

 private:
  bool is_spatial() const { return lift_.axes > 0; }
  /// Whether the operand has lost its changed axes.
  bool is_gone() const { return x_.rank() < 2 + lift_.axes; }
  /// The place of a spatial axis among those that change.
  std::optional<std::size_t> index_of(std::size_t spatial) const {
    const auto found = std::find(lift_.changed.begin(), lift_.changed.end(), spatial);
    if (found == lift_.changed.end()) return std::nullopt;
    return static_cast<std::size_t>(found - lift_.changed.begin());
  }
  /// The same for an axis of the operand.
  std::optional<std::size_t> spatial_of(std::size_t axis) const {
    return axis < 2 || !is_spatial() || is_gone() ? std::nullopt : index_of(axis - 2);
  }
  /// A part of batch or channels that there is for each changed axis.
  std::vector<Place> spread(std::size_t axis, Piece piece) const {
    if (const auto spatial = spatial_of(axis)) return {{axis, piece, *spatial}};
    std::vector<Place> places;
    for (std::size_t i = 0; i < factors_.size(); ++i) places.push_back({axis, piece, i});
    return places;
  }
  /// What a part is outside the changed axes: of space, it is that of all changed axes.
  std::vector<Place> all_of(const Part& part) const {
    if (part.axis < 2 || !is_spatial())
      return part.piece == Piece::factor ? spread(part.axis, part.piece)
                                         : std::vector<Place>{{part.axis, part.piece, 0}};
    std::vector<Place> places;
    for (std::size_t i = 0; i < lift_.changed.size(); ++i) places.push_back({2 + lift_.changed[i], part.piece, i});
    return places;
  }

  const Expression& x_;
  const Rearrangement& how_;
  const Lift& lift_;
  const std::vector<Size>& factors_;
};

}  // namespace

bool Rearrangement::changes_nothing() const {
  if (cut) return false;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] != std::vector<Part>{{i, Piece::whole}}) return false;
  return true;
}

std::size_t Rearrangement::moved() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    count += static_cast<std::size_t>(
        std::count_if(groups[i].begin(), groups[i].end(), [&](const Part& part) { return part.axis != i; }));
  return count;
}

std::optional<Expression> rearranged(const Writer& writer, const Expression& x, const Rearrangement& how,
                                     const Lift& lift, const std::vector<Size>& factors) {
  const Parts parts(x, how, lift, factors);
  const auto after = parts.after();
  if (!after) return std::nullopt;
  std::vector<Place> order;
  std::vector<Size> cut, joined;
  for (const auto& axis : parts.before())
    for (const Place& place : axis) {
      order.push_back(place);
      cut.push_back(parts.size_of(place));
    }
  std::vector<std::size_t> permutation;
  for (const auto& axis : *after) {
    Size size = 1;
    for (const Place& place : axis) {
      const auto found = std::find(order.begin(), order.end(), place);
      if (found == order.end()) return std::nullopt;
      permutation.push_back(static_cast<std::size_t>(found - order.begin()));
      size = size * parts.size_of(place);
    }
    joined.push_back(size);
  }
  if (permutation.size() != order.size() || !has_shape(cut) || !has_shape(joined)) return std::nullopt;
  return writer.reshaped(writer.transposed(writer.reshaped(x, cut), permutation), joined);
}

std::vector<Rearrangement> all_rearrangements(std::size_t from, std::size_t to) {
  std::vector<Rearrangement> all;
  const auto add = [&](const Rearrangement& base, const std::vector<Part>& parts) {
    if (parts.size() < to) return;
    std::vector<std::size_t> order(parts.size());
    // The bounds between groups are chosen among the gaps between parts.
    for (std::size_t bounds = 0; bounds < std::size_t{1} << (parts.size() - 1); ++bounds) {
      if (static_cast<std::size_t>(std::popcount(bounds)) != to - 1) continue;
      std::iota(order.begin(), order.end(), 0);
      do {
        Rearrangement one = base;
        one.groups.emplace_back();
        for (std::size_t i = 0; i < order.size(); ++i) {
          if (i > 0 && (bounds >> (i - 1) & 1) != 0) one.groups.emplace_back();
          one.groups.back().push_back(parts[order[i]]);
        }
        if (from != to || one.moved() <= 1) all.push_back(std::move(one));
      } while (std::next_permutation(order.begin(), order.end()));
    }
  };
  std::vector<Part> whole;
  for (std::size_t axis = 0; axis < from; ++axis) whole.push_back({axis, Piece::whole});
  add({}, whole);
  for (std::size_t axis = 0; axis < from; ++axis)
    for (const bool inner : {false, true}) {
      std::vector<Part> parts = whole;
      parts[axis].piece = inner ? Piece::rest : Piece::factor;
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(axis) + 1, {axis, inner ? Piece::factor : Piece::rest});
      add({axis, inner, {}}, parts);
    }
  return all;
}

}  // namespace taso::generator
