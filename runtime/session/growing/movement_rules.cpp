// Operators that view, repeat and join: rows move as wholes.
#include <fmt/format.h>

#include "runtime/session/growing/rules.h"

namespace taso::runtime::growing {
namespace {

Shape dims_of(const Step& step, int operand) {
  Shape dims;
  for (const Affine& number : step.content(operand)) dims.push_back(step.all.dim(number));
  return dims;
}

/// The shape of the first result, which must be known.
Shape told_shape(const Step& step) {
  if (!step.facts[0].type.shape) step.refuse("has a result of unknown shape");
  return *step.facts[0].type.shape;
}

std::string target(const Step& step, const Shape& shape) {
  return step.all.integers(step.all.extents_of(shape), {std::ssize(shape)});
}

/// The rows of an operand, which have moved to another axis of the result.
std::optional<Rows> moved(const Step& step, std::size_t to) {
  std::optional<Rows> rows = step.operand(0).rows;
  if (rows) rows->axis = to;
  return rows;
}

void transpose(Step& step) {
  if (!step.operand(0).rows) step.refuse("moves numbers that the length determines");
  const std::size_t rank = step.shape(0).size(), from = step.operand(0).rows->axis;
  const std::vector<std::int64_t> order = step.attributes.integers("perm");
  std::size_t to = rank - 1 - from;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] == static_cast<std::int64_t>(from)) to = i;
  told_shape(step);
  step.add_copy();
  step.results(moved(step, to));
}

std::int64_t count_before(const Extents& extents, std::size_t axis) {
  return count(Extents(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(axis)));
}

/// Also Flatten, Squeeze and Unsqueeze.
void reshape(Step& step) {
  const Shape shape = told_shape(step);
  const std::optional<Rows> from = step.operand(0).rows, to = step.rows_in(shape);
  if (from.has_value() != to.has_value() || (from && from->more != to->more))
    step.refuse("makes something else of the rows of tokens");
  if (from && count_before(step.all.extents_of(step.shape(0)), from->axis) !=
                  count_before(step.all.extents_of(shape), to->axis))
    step.refuse("cuts rows of tokens");
  const std::string name = step.all.add("Reshape", {step.data(0), target(step, shape)}, step.node.output(0));
  step.result(shape, name, to ? moved(step, to->axis) : std::nullopt);
}

void expand(Step& step) {
  const Shape shape = joined(step, step.shape(0), dims_of(step, 1));
  std::optional<Rows> rows = step.rows_in(shape);
  if (rows) rows->beyond = Beyond::number;
  if (rows && step.operand(0).rows) rows = moved(step, rows->axis);
  const std::string name = step.all.add("Expand", {step.data(0), target(step, shape)}, step.node.output(0));
  step.result(shape, name, rows);
}

void constant_of_shape(Step& step) {
  const Shape shape = dims_of(step, 0);
  const std::optional<Rows> rows = step.rows_in(shape);
  proto::NodeProto node = step.node;
  node.set_input(0, target(step, shape));
  step.all.append(node);
  step.result(shape, node.output(0), rows);
}

/// Numbers in a row: as many as there are tokens, or from a place on that depends on the length.
void range(Step& step) {
  const Affine start = step.content(0).at(0), end = step.content(1).at(0), by = step.content(2).at(0);
  const ElementType element = step.operand(0).fact.type.element;
  if (by != Affine{0, 1} || element != ElementType::int64) step.refuse("does not count by ones");
  const Affine count{end.slope - start.slope, end.offset - start.offset};
  if (count.offset < 0) step.refuse("counts to a number that may be smaller than the first");
  if (count.slope == 0) {
    std::vector<Affine> numbers;
    for (std::int64_t i = 0; i < count.offset; ++i) numbers.push_back({start.slope, start.offset + i});
    return step.result({step.all.dim(count)}, step.all.integers(numbers, {std::ssize(numbers)}), std::nullopt);
  }
  if (start.slope != 0) step.refuse("counts rows of tokens from a place that depends on the length");
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < step.all.capacity(); ++i) numbers.push_back(start.offset + i);
  const Shape shape{step.all.dim(count)};
  step.result(shape, step.all.integers(numbers, {std::ssize(numbers)}), step.rows_in(shape));
}

/// Rows of several tensors side by side.
void join_beside(Step& step, Rows rows) {
  for (int i = 0; i < step.node.input_size(); ++i) {
    const std::optional<Rows>& one = step.operand(i).rows;
    if (!one || one->axis != rows.axis || one->more != rows.more) step.refuse("joins rows of tokens with others");
    if (i == 0) rows = *one;
    rows.beyond = std::min(rows.beyond, one->beyond);
    if (one->cache != rows.cache) rows.cache.clear();
  }
  step.add_copy();
  step.results(rows);
}

/// New rows behind those of a past.
void join_behind(Step& step, const Shape& shape, std::size_t axis) {
  const Tracked& past = step.operand(0);
  if (!past.rows) step.refuse("has rows of tokens behind others");
  if (step.node.input_size() == 1) return step.result(shape, step.data(0), past.rows);
  std::vector<std::string> updates;
  Extents extents = step.all.extents_of(shape);
  extents[axis] = 0;
  for (int i = 1; i < step.node.input_size(); ++i) {
    if (step.operand(i).rows) step.refuse("joins the rows of two pasts");
    updates.push_back(step.data(i));
    extents[axis] += step.shape(i)[axis].value();
  }
  std::string all_updates = updates.at(0);
  if (updates.size() > 1) {
    all_updates = step.all.add("Concat", updates, step.node.output(0) + "_new",
                               [&](proto::NodeProto& node) { *node.mutable_attribute() = step.node.attribute(); });
  }
  Rows rows = *past.rows;
  const std::string name = step.all.written_behind(past, all_updates, extents);
  rows.more += extents[axis];
  step.result(shape, name, rows);
}

void concat(Step& step) {
  const Shape shape = told_shape(step);
  const std::optional<Rows> rows = step.rows_in(shape);
  if (rows && rows->axis == step.axis(0)) return join_behind(step, shape, rows->axis);
  if (rows) return join_beside(step, *rows);
  step.add_copy();  // of numbers
  step.results(std::nullopt);
}

void split(Step& step) {
  const std::optional<Rows> rows = step.operand(0).rows;
  if (rows && rows->axis == step.axis(0)) step.refuse("cuts rows of tokens");
  told_shape(step);
  step.add_copy();
  step.results(rows);
}

void tile(Step& step) {
  const std::optional<Rows> rows = step.operand(0).rows;
  if (rows && step.numbers(1).at(rows->axis) != 1) step.refuse("repeats rows of tokens");
  const Shape shape = told_shape(step);
  if (!rows && step.rows_in(shape)) step.refuse("repeats something for each token");
  step.add_copy();
  step.results(rows);
}

/// What is kept depends on the place alone.
void trilu(Step& step) {
  step.facts[0].type.shape = step.shape(0);
  std::optional<Rows> rows = step.rows_in(step.shape(0));
  if (rows) rows->beyond = std::min(beyond_of(step.operand(0)), Beyond::number);
  step.add_copy();
  step.results(rows);
}

}  // namespace

Rules movement_rules() {
  return {{"Concat", concat}, {"ConstantOfShape", constant_of_shape},
          {"Expand", expand}, {"Flatten", reshape},
          {"Range", range},   {"Reshape", reshape},
          {"Split", split},   {"Squeeze", reshape},
          {"Tile", tile},     {"Transpose", transpose},
          {"Trilu", trilu},   {"Unsqueeze", reshape}};
}

}  // namespace taso::runtime::growing
