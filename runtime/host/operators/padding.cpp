// Pad and CenterCropPad: extend or crop a tensor at its borders.
#include <algorithm>
#include <numeric>

#include "runtime/host/copy.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

/// The elements added at both ends of each dimension; negative numbers remove.
struct Margins {
  std::vector<std::int64_t> begin, end;
};

Margins read_margins(const HostCall& call, std::size_t rank) {
  const std::vector<std::int64_t> pads = integers_of(call, "pads", 1);
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = integers_of(call, 3);
  const auto places = axes_in(call, axes, rank);
  require(call, pads.size() == 2 * places.size(), "there must be two pads per dimension");
  Margins margins{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  for (std::size_t i = 0; i < places.size(); ++i) {
    margins.begin[places[i]] = pads[i];
    margins.end[places[i]] = pads[i + places.size()];
  }
  return margins;
}

/// The fill value, with the type of operand 0.
Array padding_value(const HostCall& call) {
  const ElementType type = call.input(0).type();
  if (call.has(2)) {
    require(call, call.input(2).size() == 1, "the constant must be one value");
    return call.input(2).cast(type);
  }
  return Array::scalar<double>(call.attributes.number("value", 0)).cast(type);
}

/// Copies the part inside both tensors, with element 0 of x at `begin`; the rest is `value`.
Array place_inside(const Array& x, const std::vector<std::int64_t>& begin, const Array& value, Array result) {
  const std::size_t size = size_of(x.type());
  fill(result.mutable_data(), value.data(), unsign(result.size()), size);
  const auto from = strides_of(x.extents()), to = strides_of(result.extents());
  Extents shared;
  std::int64_t from_offset = 0, to_offset = 0;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t first = std::max<std::int64_t>(begin[i], 0);
    const std::int64_t last = std::min(result.extents()[i], x.extents()[i] + begin[i]);
    if (last <= first) return result;
    shared.push_back(last - first);
    to_offset += first * to[i];
    from_offset += (first - begin[i]) * from[i];
  }
  const auto step = sign(size);
  copy_strided(result.mutable_data() + to_offset * step, to, x.data() + from_offset * step, from, shared, size);
  return result;
}

/// The element to use at place `at`, which may lie outside [0, extent); extent > 0.
std::int64_t place_by_mode(const std::string& mode, std::int64_t at, std::int64_t extent) {
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, extent - 1);
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  if (mode == "wrap") return modulo(at, extent);
  if (extent == 1) return 0;
  const std::int64_t place = modulo(at, 2 * (extent - 1));  // reflect: forwards and backwards
  return place < extent ? place : 2 * (extent - 1) - place;
}

Arrays pad(const HostCall& call) {
  const Array& x = call.input(0);
  const std::string mode = call.attributes.text("mode", "constant");
  require(call, mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap", "unknown mode");
  const Margins margins = read_margins(call, x.rank());
  Extents extents;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    extents.push_back(plus(call, plus(call, x.extents()[i], margins.begin[i]), margins.end[i]));
    require(call, margins.begin[i] > -most_elements && margins.begin[i] < most_elements, "a pad is too large");
  }
  Array result = make_array(call, x.type(), extents);
  if (result.size() == 0) return {result};
  if (mode == "constant") return {place_inside(x, margins.begin, padding_value(call), std::move(result))};

  require(call, x.size() > 0, "an empty tensor has no element to repeat");
  const auto strides = strides_of(x.extents());
  std::vector<std::vector<std::int64_t>> tables(x.rank());
  for (std::size_t i = 0; i < x.rank(); ++i)
    for (std::int64_t at = 0; at < extents[i]; ++at)
      tables[i].push_back(place_by_mode(mode, at - margins.begin[i], x.extents()[i]) * strides[i]);
  copy_mapped(result.mutable_data(), x.data(), tables, size_of(x.type()));
  return {std::move(result)};
}

Arrays center_crop_pad(const HostCall& call) {
  const Array& x = call.input(0);
  const std::vector<std::int64_t> wanted = integers_of(call, 1);
  std::vector<std::int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  const auto places = axes_in(call, call.attributes.integers("axes", axes), x.rank());
  require(call, places.size() == wanted.size(), "there must be one size per axis");
  Extents extents = x.extents();
  std::vector<std::int64_t> begin(x.rank(), 0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    require(call, wanted[i] >= 0 && wanted[i] <= most_elements, "a size is out of range");
    const std::int64_t extent = x.extents()[places[i]];
    extents[places[i]] = wanted[i];
    // Both round down: cropping favours the left side, padding the right.
    begin[places[i]] = wanted[i] > extent ? (wanted[i] - extent) / 2 : -((extent - wanted[i]) / 2);
  }
  Array result = make_array(call, x.type(), extents);
  if (result.size() == 0) return {result};
  return {place_inside(x, begin, Array::scalar<double>(0).cast(x.type()), std::move(result))};
}

}  // namespace

Family padding() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {{"Pad", pad},
                                                                            {"CenterCropPad", center_crop_pad}};
  return functions;
}

}  // namespace taso::runtime
