// Operators that combine elements along an axis. Along other axes than that of the tokens, filled rows stay what they
// are; along that axis, the other rows are given a value that changes nothing.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "runtime/session/growing/rules.h"

namespace taso::runtime::growing {
namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

/// The node with another first operand.
void add_with(const Step& step, const std::string& operand) {
  proto::NodeProto node = step.copy();
  node.set_input(0, operand);
  step.all.append(node);
}

void softmax(Step& step) {
  if (!step.operand(0).rows) step.refuse("has a result of unknown shape");
  const Rows rows = *step.operand(0).rows;
  const std::size_t last = step.shape(0).size() - 1, axis = step.axis(step.opset < 13 ? 1 : -1);
  if (step.opset < 13 && axis != last) step.refuse("normalises several axes at once");
  step.facts[0].type.shape = step.shape(0);
  Rows shares{rows.axis, rows.more};
  if (axis != rows.axis) {
    step.add_copy();
    return step.results(shares);
  }
  if (rows.more == 0) step.refuse("normalises no rows at all if the past has none");
  shares.beyond = Beyond::zero;
  add_with(step, step.all.hidden_beyond(step.operand(0)));
  step.results(shares);
}

std::vector<std::size_t> reduced_axes(const Step& step) {
  std::vector<std::int64_t> given = step.attributes.integers("axes");
  if (step.has(1)) given = step.numbers(1);
  std::vector<std::size_t> axes;
  for (const std::int64_t one : given) axes.push_back(step.axis_of(one, step.shape(0).size()));
  if (axes.empty() && step.attributes.integer("noop_with_empty_axes", 0) == 0)
    for (std::size_t i = 0; i < step.shape(0).size(); ++i) axes.push_back(i);
  return axes;
}

/// `fill` is nothing if the rows that are not filled cannot be left out.
void reduce(Step& step, std::optional<double> fill) {
  const std::optional<Rows> rows = step.operand(0).rows;
  if (!step.facts[0].type.shape) step.refuse("has a result of unknown shape");
  if (!rows) {
    step.add_copy();
    return step.results(step.rows_in(*step.facts[0].type.shape));
  }
  const std::vector<std::size_t> axes = reduced_axes(step);
  if (std::find(axes.begin(), axes.end(), rows->axis) == axes.end()) {
    const bool keeps = step.attributes.integer("keepdims", 1) != 0;
    const auto before = std::count_if(axes.begin(), axes.end(), [&](std::size_t axis) { return axis < rows->axis; });
    step.add_copy();
    return step.results(Rows{rows->axis - (keeps ? 0 : static_cast<std::size_t>(before)), rows->more});
  }
  const ElementType element = step.operand(0).fact.type.element;
  if (!fill || (!is_floating(element) && *fill != 0)) step.refuse("combines all rows of tokens");
  add_with(step, step.all.with_fill(step.operand(0), *fill));
  step.results(std::nullopt);
}

void reduce_sum(Step& step) { reduce(step, 0); }
void reduce_max(Step& step) { reduce(step, none); }
void reduce_min(Step& step) { reduce(step, -none); }
void reduce_other(Step& step) { reduce(step, std::nullopt); }

/// Sums of a row and those before it do not depend on rows behind.
void cumulate(Step& step) {
  const std::optional<Rows> rows = step.operand(0).rows;
  const std::size_t axis = step.axis_of(step.numbers(1).at(0), step.shape(0).size());
  if (rows && rows->axis == axis && step.attributes.integer("reverse", 0) != 0)
    step.refuse("sums up rows of tokens from the end");
  step.facts[0].type.shape = step.shape(0);
  step.add_copy();
  step.results(rows ? std::optional(Rows{rows->axis, rows->more}) : std::nullopt);
}

/// Of the last axes.
void normalize(Step& step) {
  const std::optional<Rows> rows = step.operand(0).rows;
  if (!rows || rows->axis >= step.axis(-1)) step.refuse("normalises rows of tokens together");
  for (int i = 1; i < step.node.input_size(); ++i)
    if (step.has(i) && step.operand(i).rows) step.refuse("has weights for each token");
  if (step.facts.size() > 1) step.refuse("has more than one result");
  step.facts[0].type.shape = step.shape(0);
  step.add_copy();
  step.results(Rows{rows->axis, rows->more});
}

/// Products over the rows of tokens: those that are not filled count for nothing.
void contract(Step& step) {
  proto::NodeProto node = step.copy();
  node.set_input(0, step.all.zero_beyond(step.node.input(0)));
  node.set_input(1, step.all.finite(step.node.input(1)));
  step.all.append(node);
  step.results(std::nullopt);
}

void matmul(Step& step) {
  const Shape &left = step.shape(0), &right = step.shape(1);
  if (left.size() < 2 || right.size() < 2) step.refuse("multiplies a vector");
  const std::optional<Rows>&of_left = step.operand(0).rows, &of_right = step.operand(1).rows;
  Shape shape = joined(step, Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
  shape.push_back(left[left.size() - 2]);
  shape.push_back(right.back());
  if (left.back() != right[right.size() - 2]) step.refuse("multiplies rows of different lengths");
  step.facts[0].type.shape = shape;
  const bool sums_tokens = of_left && of_left->axis == left.size() - 1;
  std::optional<Rows> rows = step.rows_in(shape);
  const auto is_finite = [](const Tracked& one) { return !one.rows || beyond_of(one) >= Beyond::finite; };
  if (rows && is_finite(step.operand(0)) && is_finite(step.operand(1))) rows->beyond = Beyond::finite;
  if (sums_tokens && rows) step.refuse("has a result with two axes of tokens");
  if (sums_tokens) {
    check(of_right.has_value(), "both factors have the axis that is summed up");
    return contract(step);
  }
  step.add_copy();
  step.results(rows);
}

/// Of queries with keys and values for each token.
void attention(Step& step) {
  constexpr int mask_operand = 3;
  for (int i = mask_operand + 1; i < step.node.input_size(); ++i)
    if (step.has(i)) step.refuse("has more operands than a mask");
  if (step.facts.size() > 1) step.refuse("has more than one result");
  constexpr std::size_t rank = 4, axis = 2;
  if (step.shape(0).size() != rank) step.refuse("has no axis of heads");
  const std::optional<Rows>&keys = step.operand(1).rows, &values = step.operand(2).rows;
  if (step.operand(0).rows || !keys || !values || keys->axis != axis || values->axis != axis)
    step.refuse("does not take queries with keys and values for each token");
  std::string mask = step.all.filled(rank - 1, rank, keys->more);
  if (step.has(mask_operand)) {
    const Tracked& given = step.operand(mask_operand);
    const Shape& shape = step.shape(mask_operand);
    if (given.rows && given.rows->axis != shape.size() - 1) step.refuse("has a mask with tokens along another axis");
    if (!given.rows && (shape.empty() || shape.back() != Dim(1))) step.refuse("has a mask that is not for all tokens");
    const std::string name = step.data(mask_operand);
    const bool is_boolean = given.fact.type.element == ElementType::boolean;
    const std::string other =
        is_boolean ? "" : step.all.constant(Array::scalar<double>(none).cast(given.fact.type.element));
    mask = is_boolean ? step.all.add("And", {mask, name}, name + "_filled")
                      : step.all.add("Where", {mask, name, other}, name + "_filled");
  }
  proto::NodeProto node = step.copy();
  while (node.input_size() <= mask_operand) node.add_input("");
  node.set_input(1, step.all.finite(step.node.input(1)));
  node.set_input(2, step.all.finite(step.node.input(2)));
  node.set_input(mask_operand, mask);
  step.all.append(node);
  step.facts[0].type.shape = step.shape(0);
  step.facts[0].type.shape->back() = step.shape(2).back();
  step.results(std::nullopt);
}

}  // namespace

Rules reduction_rules() {
  Rules rules{{"Attention", attention},
              {"CumSum", cumulate},
              {"LayerNormalization", normalize},
              {"MatMul", matmul},
              {"ReduceMax", reduce_max},
              {"ReduceMin", reduce_min},
              {"ReduceSum", reduce_sum},
              {"RMSNormalization", normalize},
              {"Softmax", softmax}};
  for (const std::string_view name : {"ReduceMean", "ReduceL2", "ReduceProd", "ReduceSumSquare"})
    rules.emplace(name, reduce_other);
  return rules;
}

}  // namespace taso::runtime::growing
