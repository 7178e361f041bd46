#include "cost/plan/attention_form.h"

#include <cmath>

#include "ops/graph/plain_function.h"

namespace taso::cost {
namespace {

bool is_function(const GraphView& view, PlanNode node, std::string_view name, std::size_t operands) {
  if (node == no_plan_node || view.is_free(node) || view.operands(node) != operands) return false;
  const Opaque* const opaque = view.opaque(node);
  const PlainFunction* const function = opaque != nullptr && opaque->body ? opaque->body->function() : nullptr;
  return function != nullptr && function->name == name;
}
bool is_test(const GraphView& view, PlanNode node) { return is_function(view, node, "IsNaN", 1); }
bool is_choice(const GraphView& view, PlanNode node) { return is_function(view, node, "Where", 3); }

/// The only node that uses a value, in any number of operands.
PlanNode only_user(const GraphView& view, PlanValue value, Cuts cuts) {
  if (cuts == Cuts::respected) return only_user(view, value);
  return value == no_plan_value || view.users(value) != 1 || view.is_output(value) ? no_plan_node : view.user(value, 0);
}

/// The product whose factor this value is, and nothing else; and which factor.
std::optional<Use> only_factor(const GraphView& view, PlanValue value, Cuts cuts) {
  const PlanNode user = only_user(view, value, cuts);
  if (user == no_plan_node || view.is_free(user) || role_of(view, user) != Role::matmul) return std::nullopt;
  const bool is_left = view.operand(user, 0) == value, is_right = view.operand(user, 1) == value;
  return is_left == is_right ? std::nullopt : std::optional(Use{user, is_left ? 0U : 1U});
}

bool has_extents_of(const GraphView& view, PlanValue a, PlanValue b) {
  return view.extents(a) != nullptr && view.extents(b) != nullptr && *view.extents(a) == *view.extents(b);
}

/// The softmax of the rows of a product, after element-wise operators on them.
PlanNode softmax_after(const GraphView& view, PlanNode product) {
  PlanValue value = view.result(product, 0);
  for (std::size_t i = 0; i < furthest_product; ++i) {
    const PlanNode user = only_user(view, value, Cuts::ignored);
    if (user == no_plan_node || view.is_free(user) || !has_extents_of(view, view.result(user, 0), value)) break;
    if (is_softmax(view, user)) return user;
    if (role_of(view, user) != Role::element_wise) break;
    value = view.result(user, 0);
  }
  return no_plan_node;
}

/// Whether the scores of this softmax come from a product.
bool has_product_before(const GraphView& view, PlanNode softmax, PlanValue value, std::size_t most) {
  if (view.is_weight(value)) return false;
  const PlanNode producer = view.producer(value);
  if (is_product(view, producer)) return softmax_after(view, producer) == softmax;
  if (most == 0 || view.is_free(producer) || role_of(view, producer) != Role::element_wise) return false;
  for (std::size_t i = 0; i < view.operands(producer); ++i)
    if (const PlanValue operand = view.operand(producer, i);
        has_extents_of(view, operand, value) && has_product_before(view, softmax, operand, most - 1))
      return true;
  return false;
}

/// Whether shares of this softmax are the left factor of a product, and nothing else.
bool has_product_after(const GraphView& view, PlanNode softmax) {
  const std::optional<Use> use = only_factor(view, shares_of(view, softmax, Cuts::ignored), Cuts::ignored);
  return use && use->operand == 0;
}

/// Which operand of a product with a number is the number; 2 if there is none.
std::size_t place_of_number(const GraphView& view, PlanNode node) {
  constexpr double most = 0x1p40;
  const Operator* const op = view.op(node);
  if (op == nullptr || view.is_free(node)) return 2;
  if (!std::holds_alternative<op::Mul>(*op) && !std::holds_alternative<op::ScalarMul>(*op)) return 2;
  for (const std::size_t i : {0U, 1U}) {
    const PlanValue by = view.operand(node, i), value = view.operand(node, 1 - i);
    if (!view.is_weight(by) || view.is_weight(value)) continue;
    const double size = std::abs(view.number(by).value_or(0));
    if (size >= 1 / most && size <= most && has_extents_of(view, value, view.result(node, 0))) return i;
  }
  return 2;
}

}  // namespace

bool is_product(const GraphView& view, PlanNode node) {
  return node != no_plan_node && !view.is_free(node) && role_of(view, node) == Role::matmul;
}

bool is_softmax(const GraphView& view, PlanNode node) {
  const Operator* const op = view.op(node);
  return op != nullptr && std::holds_alternative<op::Softmax>(*op) && !view.is_free(node);
}

std::optional<Guard> guard_after(const GraphView& view, PlanNode softmax, Cuts cuts) {
  const PlanValue shares = view.result(softmax, 0);
  if (view.layout() == Layout::onnxruntime || shares == no_plan_value || view.users(shares) != 2) return std::nullopt;
  if (view.is_output(shares) || (cuts == Cuts::respected && view.is_cut(shares))) return std::nullopt;
  Guard guard{view.user(shares, 0), view.user(shares, 1)};
  if (!is_test(view, guard.test)) std::swap(guard.test, guard.choice);
  if (!is_test(view, guard.test) || !is_choice(view, guard.choice)) return std::nullopt;
  const PlanValue is_nan = view.result(guard.test, 0), zero = view.operand(guard.choice, 1),
                  result = view.result(guard.choice, 0);
  if (only_user(view, is_nan, cuts) != guard.choice || view.operand(guard.choice, 0) != is_nan) return std::nullopt;
  if (view.operand(guard.choice, 2) != shares || !view.is_weight(zero) || view.number(zero) != 0) return std::nullopt;
  const bool is_same = view.element(result) == view.element(shares) && has_extents_of(view, result, shares);
  return is_same ? std::optional(guard) : std::nullopt;
}

PlanNode softmax_near_guard(const GraphView& view, PlanNode node) {
  PlanValue shares = no_plan_value;
  if (is_test(view, node)) shares = view.operand(node, 0);
  if (is_choice(view, node)) shares = view.operand(node, 2);
  if (shares == no_plan_value) return no_plan_node;
  const PlanNode softmax = view.producer(shares);
  return is_softmax(view, softmax) ? softmax : no_plan_node;
}

PlanNode softmax_guarded_by(const GraphView& view, PlanNode node, Cuts cuts) {
  const PlanNode softmax = softmax_near_guard(view, node);
  if (softmax == no_plan_node) return no_plan_node;
  const std::optional<Guard> guard = guard_after(view, softmax, cuts);
  return guard && (guard->test == node || guard->choice == node) ? softmax : no_plan_node;
}

PlanValue shares_of(const GraphView& view, PlanNode softmax, Cuts cuts) {
  const std::optional<Guard> guard = guard_after(view, softmax, cuts);
  return view.result(guard ? guard->choice : softmax, 0);
}

PlanNode softmax_with(const GraphView& view, PlanValue shares, Cuts cuts) {
  if (view.is_weight(shares) || !only_factor(view, shares, cuts)) return no_plan_node;
  const PlanNode producer = view.producer(shares);
  const PlanNode softmax = is_softmax(view, producer) ? producer : softmax_guarded_by(view, producer, cuts);
  return softmax != no_plan_node && shares_of(view, softmax, cuts) == shares ? softmax : no_plan_node;
}

PlanNode product_scaled_by(const GraphView& view, PlanNode node, Cuts cuts) {
  if (view.layout() == Layout::onnxruntime || place_of_number(view, node) == 2) return no_plan_node;
  const std::optional<Use> use = only_factor(view, view.result(node, 0), cuts);
  return use ? use->node : no_plan_node;
}

PlanValue unscaled(const GraphView& view, PlanNode node) { return view.operand(node, 1 - place_of_number(view, node)); }

bool has_aligned_rows(const Extents& extents, const Strides& strides, std::size_t along) {
  constexpr std::int64_t in_chunk = 4;  // float32 in 16 bytes
  if (strides[along] != 1) return false;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if ((i == along ? extents[i] : extents[i] == 1 ? 0 : strides[i]) % in_chunk != 0) return false;
  return true;
}

bool reads_rows_of_batches(const GraphView& view, PlanNode product, PlanValue value, const Strides& strides) {
  const std::size_t rank = strides.size();
  if (rank < 3 || view.layout() == Layout::onnxruntime) return false;
  const bool is_second = [&] {
    const PlanNode softmax = softmax_with(view, view.operand(product, 0), Cuts::ignored);
    return softmax != no_plan_node && has_product_before(view, softmax, view.operand(softmax, 0), furthest_product - 1);
  }();
  if (is_second) return view.operand(product, 0) != value && has_aligned_rows(*view.extents(value), strides, rank - 1);
  const PlanNode softmax = softmax_after(view, product);
  if (softmax == no_plan_node || !has_product_after(view, softmax)) return false;
  // Rows of queries lie along the depth, and so do those of keys, which are columns here.
  for (std::size_t i = 0; i < 2; ++i)
    if (view.operand(product, i) == value && !has_aligned_rows(*view.extents(value), strides, rank - 1 - i))
      return false;
  return true;
}

}  // namespace taso::cost
