// Types and shapes of reductions, matrix products and losses.
#include <algorithm>
#include <map>

#include "runtime/host/inference/rules.h"

namespace taso::runtime::inference {
namespace {

void reduce(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto axes = node.list("axes", 1, node.call.op_type == "ReduceSum" ? 13 : 18);
  const std::int64_t keeps = node.integer("keepdims", 1);
  // Runtimes disagree on values other than 0 and 1.
  if (shape == nullptr || (keeps != 0 && keeps != 1)) return;
  if (axes.given && !axes.values) {
    if (keeps == 1) node.set_shape(0, untold(shape->size()));
    return;
  }
  const bool none = !axes.given || axes.values->empty();
  std::vector<bool> reduced(shape->size(), none && node.integer("noop_with_empty_axes", 0) == 0);
  if (!none)
    for (const std::int64_t given : *axes.values) {
      const auto axis = axis_of(given, shape->size());
      if (!axis) return;
      reduced[*axis] = true;
    }
  Shape result;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (!reduced[i])
      result.push_back((*shape)[i]);
    else if (keeps == 1)
      result.emplace_back(1);
  }
  node.set_shape(0, result);
}

void position(Inference& node) {
  node.set_type(0, ElementType::int64);
  const Shape* const shape = node.shape(0);
  const std::int64_t keeps = node.integer("keepdims", 1);
  if (shape == nullptr || (keeps != 0 && keeps != 1)) return;
  const auto axis = axis_of(node.integer("axis", 0), shape->size());
  if (!axis) return;
  Shape result = *shape;
  result[*axis] = Dim(1);
  if (keeps == 0) result.erase(result.begin() + static_cast<std::ptrdiff_t>(*axis));
  node.set_shape(0, result);
}

void top(Inference& node) {
  node.set_type(0, node.type(0));
  node.set_type(1, ElementType::int64);
  const Shape* const shape = node.shape(0);
  const auto number = node.call.opset < 10 ? std::optional(Dim(node.integer("k", -1))) : node.only(1);
  if (shape == nullptr) return;
  const auto axis = axis_of(node.integer("axis", -1), shape->size());
  if (!axis) return;
  PartialShape result = partial(*shape);
  result[*axis] = number && surely_non_negative(*number) ? number : std::nullopt;
  node.set_shape(0, result);
  node.set_shape(1, result);
}

std::optional<PartialShape> product(const Shape* a, const Shape* b) {
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return std::nullopt;
  Shape left = *a, right = *b;
  if (a->size() == 1) left.insert(left.begin(), Dim(1));
  if (b->size() == 1) right.emplace_back(1);
  auto result =
      broadcast_shapes(PartialShape(left.begin(), left.end() - 2), PartialShape(right.begin(), right.end() - 2));
  if (!result) return std::nullopt;
  if (a->size() > 1) result->emplace_back(left[left.size() - 2]);
  if (b->size() > 1) result->emplace_back(right.back());
  return result;
}

void matmul(Inference& node) { node.set(0, node.type(0), product(node.shape(0), node.shape(1))); }
void matmul_integer(Inference& node) { node.set(0, ElementType::int32, product(node.shape(0), node.shape(1))); }
void qlinear_matmul(Inference& node) { node.set(0, node.type(7), product(node.shape(0), node.shape(3))); }

void gemm(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape *const a = node.shape(0), *const b = node.shape(1);
  if (a == nullptr || b == nullptr || a->size() != 2 || b->size() != 2) return;
  node.set_shape(0, Shape{(*a)[node.integer("transA", 0) != 0 ? 1 : 0], (*b)[node.integer("transB", 0) != 0 ? 0 : 1]});
}

void det(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  if (shape != nullptr && shape->size() >= 2) node.set_shape(0, Shape(shape->begin(), shape->end() - 2));
}

// Equations without an ellipsis.
void einsum(Inference& node) {
  node.set_type(0, node.type(0));
  std::string text;
  for (const char c : node.call.attributes.text("equation", ""))
    if (c != ' ') text += c;
  if (text.find('.') != std::string::npos) return;
  const auto arrow = text.find("->");
  const std::string terms = text.substr(0, arrow);
  std::map<char, Dim> extents;
  std::map<char, int> occurrences;
  std::size_t operand = 0, axis = 0;
  for (const char c : terms + ",") {
    const Shape* const shape = node.shape(operand);
    if (shape == nullptr) return;
    if (c == ',') {
      if (axis != shape->size()) return;
      ++operand;
      axis = 0;
      if (operand == node.call.inputs.size()) break;
      continue;
    }
    if (axis >= shape->size()) return;
    const Dim own = (*shape)[axis++];
    Dim& extent = extents.try_emplace(c, own).first->second;
    ++occurrences[c];
    if (own != extent && extent.is_static() == own.is_static()) {
      if (!own.is_static() || (own != Dim(1) && extent != Dim(1))) return;
      extent = own == Dim(1) ? extent : own;
    } else if (own != extent) {  // a number and an unknown: the number, unless it may be broadcast
      extent = own.is_static() ? own : extent;
      if (extent == Dim(1)) return;
    }
  }
  if (operand != node.call.inputs.size()) return;
  std::string letters;
  if (arrow != std::string::npos)
    letters = text.substr(arrow + 2);
  else
    for (const auto& [letter, times] : occurrences)
      if (times == 1) letters += letter;
  Shape result;
  for (const char c : letters) {
    if (extents.count(c) == 0) return;
    result.push_back(extents[c]);
  }
  node.set_shape(0, result);
}

void loss(Inference& node) {
  node.set_type(0, node.type(0));
  if (node.call.op_type == "SoftmaxCrossEntropyLoss") node.set_like(1, 0);
  if (node.call.attributes.text("reduction", "mean") != "none")
    node.set_shape(0, Shape{});
  else if (const Shape* target = node.shape(1))
    node.set_shape(0, *target);
}

}  // namespace

Rules reduction_rules() {
  static constexpr std::pair<std::string_view, Rule> rules[] = {
      {"ArgMax", position},
      {"ArgMin", position},
      {"Det", det},
      {"Einsum", einsum},
      {"Gemm", gemm},
      {"MatMul", matmul},
      {"MatMulInteger", matmul_integer},
      {"NegativeLogLikelihoodLoss", loss},
      {"QLinearMatMul", qlinear_matmul},
      {"ReduceL1", reduce},
      {"ReduceL2", reduce},
      {"ReduceLogSum", reduce},
      {"ReduceLogSumExp", reduce},
      {"ReduceMax", reduce},
      {"ReduceMean", reduce},
      {"ReduceMin", reduce},
      {"ReduceProd", reduce},
      {"ReduceSum", reduce},
      {"ReduceSumSquare", reduce},
      {"SoftmaxCrossEntropyLoss", loss},
      {"TopK", top},
  };
  return rules;
}

}  // namespace taso::runtime::inference
