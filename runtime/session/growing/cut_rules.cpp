// Operators that take parts: of the rows of tokens, or of a table at a place that depends on the length.
#include <limits>

#include <fmt/format.h>

#include "runtime/session/growing/rules.h"

namespace taso::runtime::growing {
namespace {

constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();

/// What is left of a value between cuts.
struct Rest {
  std::string name;
  Shape shape;
  std::optional<Rows> rows;
};

/// From `begin` up to `end` of an axis, with steps of 1.
struct Cut {
  std::size_t axis;
  Affine begin, end;
};

std::string sliced(Step& step, const Rest& rest, const Cut& cut) {
  const auto one = [&](std::int64_t number) { return step.all.integers(std::vector<std::int64_t>{number}, {1}); };
  return step.all.add("Slice",
                      {rest.name, one(cut.begin.offset), one(cut.end.offset), one(static_cast<std::int64_t>(cut.axis))},
                      step.node.output(0));
}

std::string taken(Step& step, const std::string& name, const std::string& indices, std::size_t axis) {
  return step.all.add("Gather", {name, indices}, step.node.output(0), [&](proto::NodeProto& node) {
    auto& attribute = *node.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(proto::AttributeProto::INT);
    attribute.set_i(static_cast<std::int64_t>(axis));
  });
}

/// A part of the rows of tokens.
void cut_rows(Step& step, Rest& rest, const Cut& cut) {
  const std::int64_t more = rest.rows->more;
  if (cut.begin.slope == 0 && cut.end.slope == 1) {
    if (cut.begin.offset != 0) step.refuse("cuts off the first rows of tokens");
    if (cut.end.offset < 0 || cut.end.offset > more) step.refuse("ends at another row than all of them");
    if (cut.end.offset == more) return;
    // The same memory, with rows behind the filled ones that were filled themselves.
    *rest.rows = Rows{rest.rows->axis, cut.end.offset};
    return;
  }
  if (cut.end.offset > more || cut.begin.offset < 0) step.refuse("takes rows that are not there for all lengths");
  if (cut.begin.slope == 0)
    rest.name = sliced(step, rest, cut);
  else
    rest.name = taken(step, rest.name, step.all.places(cut.begin.offset, cut.end.offset - cut.begin.offset), cut.axis);
  rest.rows.reset();
}

/// A part of a table, for each token or for the new ones.
void cut_table(Step& step, Rest& rest, const Cut& cut) {
  const std::int64_t extent = rest.shape[cut.axis].value();
  if (cut.begin.offset < 0) step.refuse("begins at a place that is negative for some lengths");
  if (cut.begin.slope == 0) {
    if (rest.rows) step.refuse("has a result with two axes of tokens");
    const std::int64_t end = cut.begin.offset + step.all.capacity();
    if (end > extent)
      step.refuse(
          fmt::format("takes a part of {} elements: too few for a capacity of {}", extent, step.all.capacity()));
    rest.name = sliced(step, rest, {cut.axis, cut.begin, {0, end}});
    rest.rows = Rows{cut.axis, cut.end.offset - cut.begin.offset};
    return;
  }
  step.all.limit(extent - cut.end.offset);
  rest.name = taken(step, rest.name, step.all.places(cut.begin.offset, cut.end.offset - cut.begin.offset), cut.axis);
}

/// A bound of a slice, counted from the beginning.
Affine bound(const Step& step, const Affine& given, const Dim& extent) {
  const Affine whole = *step.all.affine(extent);
  if (given.slope == 0 && given.offset >= far - 1) return whole;
  if (given.slope == 0 && given.offset < -far) return {0, 0};
  if (given.slope == 0 && given.offset < 0) return {whole.slope, whole.offset + given.offset};
  return given;
}

void cut(Step& step, Rest& rest, std::size_t axis, const Affine& from, const Affine& to) {
  const Dim extent = rest.shape[axis];
  Cut one{axis, bound(step, from, extent), bound(step, to, extent)};
  if (extent.is_static()) {  // bounds beyond it are those of the axis
    if (one.begin.slope == 0) one.begin.offset = std::clamp<std::int64_t>(one.begin.offset, 0, extent.value());
    if (one.end.slope == 0) one.end.offset = std::clamp<std::int64_t>(one.end.offset, 0, extent.value());
  }
  const Affine length{one.end.slope - one.begin.slope, one.end.offset - one.begin.offset};
  if (one.begin.slope < 0 || one.begin.slope > 1 || length.slope < 0 || one.end.slope > 1 || length.offset < 0)
    step.refuse("is not the same for all lengths");
  if (!extent.is_static())
    cut_rows(step, rest, one);
  else if (one.end.slope == 1)
    cut_table(step, rest, one);
  else if (length.offset < extent.value())
    rest.name = sliced(step, rest, one);
  rest.shape[axis] = step.all.dim(length);
}

void slice(Step& step) {
  Rest rest{step.data(0), step.shape(0), step.operand(0).rows};
  const std::vector<Affine> from = step.content(1), to = step.content(2);
  std::vector<std::int64_t> axes, steps(from.size(), 1);
  for (std::size_t i = 0; i < from.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (step.has(3)) axes = step.numbers(3);
  if (step.has(4)) steps = step.numbers(4);
  if (to.size() != from.size() || axes.size() != from.size() || steps.size() != from.size())
    step.refuse("has lists of different lengths");
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (steps[i] != 1) step.refuse("has steps other than 1");
    cut(step, rest, step.axis_of(axes[i], rest.shape.size()), from[i], to[i]);
  }
  if (rest.rows && step.operand(0).rows && rest.rows->axis != step.operand(0).rows->axis)
    step.refuse("has a result with two axes of tokens");
  step.result(rest.shape, rest.name, rest.rows);
}

/// Rows at places that are known, such as the last one.
void gather_rows(Step& step, const Shape& shape) {
  const Rows& rows = *step.operand(0).rows;
  std::vector<Affine> places;
  for (const Affine& given : step.content(1)) {
    const bool is_from_end = given.slope == 0 && given.offset < 0;
    const Affine place = is_from_end ? Affine{1, given.offset + rows.more} : given;
    if (place.slope < 0 || place.slope > 1 || place.offset < 0 || place.offset >= rows.more)
      step.refuse("takes rows that are not there for all lengths");
    places.push_back(place);
  }
  const std::string indices = step.all.integers(places, step.all.extents_of(step.shape(1)));
  step.result(shape, taken(step, step.data(0), indices, rows.axis), std::nullopt);
}

void gather(Step& step) {
  const std::size_t axis = step.axis(0);
  Shape shape = step.shape(0);
  const Shape& indices = step.shape(1);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), indices.begin(), indices.end());
  std::optional<Rows> rows = step.operand(0).rows;
  const std::optional<Rows>& places = step.operand(1).rows;
  if (rows && rows->axis == axis) return gather_rows(step, shape);
  if (rows && places) step.refuse("has a result with two axes of tokens");
  if (rows && rows->axis > axis) rows->axis += indices.size() - 1;
  std::string from = step.data(1);
  if (places) {  // there must be an element, also for rows that are not filled
    rows = Rows{axis + places->axis, places->more};
    from = step.all.with_fill(step.operand(1), 0);
  }
  step.result(shape, taken(step, step.data(0), from, axis), rows);
}

}  // namespace

Rules cut_rules() { return {{"Gather", gather}, {"Slice", slice}}; }

}  // namespace taso::runtime::growing
