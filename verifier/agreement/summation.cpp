#include "verifier/agreement/summation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "verifier/agreement/expansion.h"

namespace taso::verifier {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The terms of an output relative to where they begin, and where that is: for each input the least index on each axis.
struct Reads {
  Numbers terms, begin;
};

Extents index_at(std::int64_t place, const std::vector<std::int64_t>& strides) {
  Extents index;
  for (const std::int64_t stride : strides) {
    index.push_back(place / stride);
    place %= stride;
  }
  return index;
}

/// Appends what one side reads; false if a product has an input twice, or if it is no sum of products.
class Reader {
 public:
  explicit Reader(const rules::ConcreteInstance& concrete) {
    for (const Extents& extents : concrete.inputs) {
      offsets_.push_back(width_);
      width_ += extents.size();
      strides_.push_back(strides_of(extents));
    }
  }

  bool read(const Expansion& output, Reads& reads, std::size_t& degree) const {
    if (!output.is_polynomial()) return false;
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    Numbers begin(width_, none);
    for (const Expansion::Term& term : output.terms()) {
      degree = std::max(degree, term.elements.size());
      for (std::size_t i = 0; i < term.elements.size(); ++i) {
        const std::size_t input = Expansion::input_of(term.elements[i]);
        if (i > 0 && input == Expansion::input_of(term.elements[i - 1])) return false;
        const Extents index = index_at(Expansion::place_of(term.elements[i]), strides_[input]);
        for (std::size_t axis = 0; axis < index.size(); ++axis)
          begin[offsets_[input] + axis] = std::min(begin[offsets_[input] + axis], index[axis]);
      }
    }
    // Moving an input's elements by one distance keeps the order of terms.
    for (const Expansion::Term& term : output.terms()) {
      reads.terms.push_back(static_cast<std::int64_t>(term.coefficient.bits()));
      for (const Expansion::Element element : term.elements) {
        const std::size_t input = Expansion::input_of(element);
        reads.terms.push_back(static_cast<std::int64_t>(input));
        const Extents index = index_at(Expansion::place_of(element), strides_[input]);
        for (std::size_t axis = 0; axis < index.size(); ++axis)
          reads.terms.push_back(index[axis] - begin[offsets_[input] + axis]);
      }
      reads.terms.push_back(-1);  // the end of the term
    }
    reads.terms.push_back(-2);  // the end of the side
    for (const std::int64_t least : begin) reads.begin.push_back(least == none ? 0 : least);
    return true;
  }

 private:
  std::size_t width_ = 0;
  std::vector<std::size_t> offsets_;  // of each input in `begin`
  std::vector<std::vector<std::int64_t>> strides_;
};

/// Neighbours of one kind are in one group.
std::vector<SummationGroup> connected_groups(const Extents& extents, const std::vector<std::size_t>& kinds) {
  const auto strides = strides_of(extents);
  std::vector<SummationGroup> groups;
  std::vector<bool> seen(kinds.size(), false);
  for (std::size_t first = 0; first < kinds.size(); ++first) {
    if (seen[first]) continue;
    const Extents start = index_at(static_cast<std::int64_t>(first), strides);
    SummationGroup group{{first}, {start, start}};
    seen[first] = true;
    for (std::size_t next = 0; next < group.positions.size(); ++next) {
      const auto place = static_cast<std::int64_t>(group.positions[next]);
      const Extents position = index_at(place, strides);
      for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        group.hull.low[axis] = std::min(group.hull.low[axis], position[axis]);
        group.hull.high[axis] = std::max(group.hull.high[axis], position[axis] + 1);
        for (const std::int64_t step : {-1, 1}) {
          if (position[axis] + step < 0 || position[axis] + step == extents[axis]) continue;
          const auto other = static_cast<std::size_t>(place + step * strides[axis]);
          if (seen[other] || kinds[other] != kinds[first]) continue;
          seen[other] = true;
          group.positions.push_back(other);
        }
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

/// The first position of a block, and the next along each axis.
std::vector<std::size_t> few_of(const Block& block, const Extents& extents) {
  const auto strides = strides_of(extents);
  const std::int64_t first = flat_index(block.low, strides);
  std::vector<std::size_t> few{static_cast<std::size_t>(first)};
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (block.high[axis] - block.low[axis] > 1) few.push_back(static_cast<std::size_t>(first + strides[axis]));
  return few;
}

bool moves_linearly(const SummationGroup& group, const std::vector<Numbers>& begins, const Extents& extents) {
  const auto strides = strides_of(extents);
  const Numbers& first = begins[static_cast<std::size_t>(flat_index(group.hull.low, strides))];
  std::vector<Numbers> steps;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    Numbers step(first.size(), 0);
    if (group.hull.high[axis] - group.hull.low[axis] > 1) {
      Extents next = group.hull.low;
      ++next[axis];
      const Numbers& moved = begins[static_cast<std::size_t>(flat_index(next, strides))];
      for (std::size_t i = 0; i < first.size(); ++i) step[i] = moved[i] - first[i];
    }
    steps.push_back(std::move(step));
  }
  return std::all_of(group.positions.begin(), group.positions.end(), [&](std::size_t place) {
    const Extents position = index_at(static_cast<std::int64_t>(place), strides);
    Numbers expected = first;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] += (position[axis] - group.hull.low[axis]) * steps[axis][i];
    return expected == begins[place];
  });
}

}  // namespace

Summation summation_of(const rules::ConcreteInstance& concrete) {
  std::vector<Tensor<Expansion>> inputs;
  for (std::size_t input = 0; input < concrete.inputs.size(); ++input) {
    std::vector<Expansion> data;
    for (std::int64_t place = 0; place < count(concrete.inputs[input]); ++place)
      data.push_back(Expansion::of_element(Expansion::element(input, static_cast<std::uint64_t>(place))));
    inputs.emplace_back(concrete.inputs[input], std::move(data));
  }
  const auto sides = rules::evaluate_sides<Expansion>(concrete, inputs);
  const Extents& extents = sides.source[0].extents;
  Summation summation;
  const Reader reader(concrete);
  std::map<Numbers, std::size_t> known;
  std::vector<std::size_t> kinds;  // of the terms at each position
  std::vector<Numbers> begins;
  for (std::size_t place = 0; place < sides.source[0].data.size(); ++place) {
    Reads reads;
    if (!reader.read(sides.source[0].data[place], reads, summation.degree) ||
        !reader.read(sides.target[0].data[place], reads, summation.degree)) {
      summation.is_multilinear = false;
      return summation;
    }
    kinds.push_back(known.emplace(std::move(reads.terms), known.size()).first->second);
    begins.push_back(std::move(reads.begin));
  }
  summation.groups = connected_groups(extents, kinds);
  for (SummationGroup& group : summation.groups) {
    group.is_block = group.hull.count() == static_cast<std::int64_t>(group.positions.size());
    group.is_linear = group.is_block && moves_linearly(group, begins, extents);
  }
  return summation;
}

FewPositions decide_by_few(const FieldAgreement& agreement, const Summation& summation) {
  FewPositions result;
  if (!summation.is_multilinear) return {agreement.equal, agreement.equal.size(), 0};
  result.equal.resize(agreement.equal.size(), false);
  for (const SummationGroup& group : summation.groups) {
    if (group.fits()) {
      const std::vector<std::size_t> few = few_of(group.hull, agreement.extents);
      if (std::all_of(few.begin(), few.end(), [&](std::size_t place) { return agreement.equal[place]; })) {
        for (const std::size_t place : group.positions) result.equal[place] = true;
        result.examined += few.size();
        ++result.decided;
        continue;
      }
    }
    for (const std::size_t place : group.positions) result.equal[place] = agreement.equal[place];
    result.examined += group.positions.size();
  }
  return result;
}

}  // namespace taso::verifier
