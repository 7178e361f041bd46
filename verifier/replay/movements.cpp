#include "verifier/replay/movements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "ops/core/error.h"
#include "ops/text/operator_text.h"

namespace taso::verifier {
namespace {

bool may_be_scaled(const Value& value) {
  return is_a<op::ScalarMul>(value) || is_a<op::Mul>(value) || is_a<op::Div>(value);
}

/// The number that as an operand changes nothing, and whether it may also be the first operand.
std::optional<std::pair<double, bool>> neutral_number(const Value& value) {
  if (is_a<op::Add>(value)) return std::pair(0.0, true);
  if (is_a<op::Sub>(value)) return std::pair(0.0, false);
  if (is_a<op::Mul>(value)) return std::pair(1.0, true);
  if (is_a<op::ScalarMul>(value)) return std::pair(1.0, false);
  if (is_a<op::Div>(value)) return std::pair(1.0, false);
  const Opaque* const opaque = value.node->as_opaque();
  if (opaque == nullptr || !opaque->body || !opaque->body->obstacle().empty()) return std::nullopt;
  if (opaque->kind == "And") return std::pair(1.0, true);
  if (opaque->kind == "Or") return std::pair(0.0, true);
  return std::nullopt;
}

/// The value of which this is a view, or a view of a view.
Value viewed(Value value) {
  while (is_a<op::Reshape>(value)) value = value.node->inputs()[0];
  return value;
}

bool is_known(const Type& type) {
  return type.shape &&
         std::all_of(type.shape->begin(), type.shape->end(), [](const Dim& dim) { return dim.known().has_value(); });
}

/// What views and transposes move, and these, the last first; operands that change nothing are skipped.
struct Moved {
  Value whole;
  std::vector<const Operator*> steps;
};
Moved moved(Value value, KnownNumbers& numbers) {
  Moved found;
  for (;;) {
    if (const Value plain = without_neutral(value, numbers); !(plain == value)) {
      value = plain;
    } else if (is_a<op::Reshape>(value) || is_a<op::Transpose>(value)) {
      found.steps.push_back(value.node->as_operator());
      value = value.node->inputs()[0];
    } else {
      found.whole = value;
      return found;
    }
  }
}

/// Shown with the numbers of the elements.
bool are_moved_alike(const Moved& wanted, const Moved& given) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 26;
  if (!(wanted.whole.type() == given.whole.type()) || !is_known(wanted.whole.type())) return false;
  const Extents extents = extents_of(wanted.whole.shape());
  if (count(extents) > most_elements) return false;
  std::vector<double> numbers(static_cast<std::size_t>(count(extents)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  std::vector<Array> both(2, Array::of<double>(extents, numbers));
  try {
    for (const std::size_t i : {0U, 1U}) {
      const std::vector<const Operator*>& steps = i == 0 ? wanted.steps : given.steps;
      for (std::size_t step = steps.size(); step-- > 0;) both[i] = Numbers::apply(*steps[step], {both[i]}).front();
    }
  } catch (const InputError&) {
    return false;
  }
  return identical(both[0], both[1]);
}

/// Whether both move the elements of a value in the same way.
bool are_moved_to_the_same_places(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open) {
  const Moved wanted = moved(expected, numbers), given = moved(actual, numbers);
  if (wanted.steps.empty() || !is_known(expected.type()) || !are_moved_alike(wanted, given)) return false;
  open.emplace_back(wanted.whole, given.whole);
  return true;
}

/// The only number in the second operand, if the first has the type of the result.
std::optional<double> number_beside(const Value& value, KnownNumbers& numbers) {
  const auto operands = value.node->inputs();
  const Array* const one = numbers.constant(operands[1]);
  if (one == nullptr || one->size() != 1) return std::nullopt;
  return operands[0].type() == value.type() ? std::optional(one->doubles().front()) : std::nullopt;
}

/// What was moved and multiplied by numbers, and the product of these.
struct Scaled {
  Moved moved;
  long double factor = 1;
  int count = 0;
};
Scaled scaled(Value value, KnownNumbers& numbers) {
  Scaled found;
  for (;; value = value.node->inputs()[0]) {
    const bool is_product = is_a<op::Mul>(value) || is_a<op::ScalarMul>(value), is_quotient = is_a<op::Div>(value);
    if (is_a<op::Reshape>(value) || is_a<op::Transpose>(value)) {
      found.moved.steps.push_back(value.node->as_operator());
    } else if (const auto number = is_product || is_quotient ? number_beside(value, numbers) : std::nullopt) {
      found.factor = is_product ? found.factor * *number : found.factor / *number;
      ++found.count;
    } else {
      found.moved.whole = value;
      return found;
    }
  }
}

/// All elements of an array that broadcasts to these extents, in their order; nothing if it does not.
std::optional<std::vector<double>> broadcast_elements(const Array& array, const Extents& extents) {
  if (array.rank() > extents.size() || !is_floating(array.type())) return std::nullopt;
  const std::size_t more = extents.size() - array.rank();
  for (std::size_t i = 0; i < array.rank(); ++i)
    if (array.extents()[i] != 1 && array.extents()[i] != extents[more + i]) return std::nullopt;
  const std::vector<double> own = array.doubles();
  std::vector<double> all;
  for (std::int64_t place = 0; place < count(extents); ++place) {
    std::int64_t rest = place, at = 0, step = 1;
    for (std::size_t i = extents.size(); i-- > 0; rest /= extents[i]) {
      if (i < more) continue;
      if (array.extents()[i - more] != 1) at += rest % extents[i] * step;
      step *= array.extents()[i - more];
    }
    all.push_back(own[static_cast<std::size_t>(at)]);
  }
  return all;
}

/// Whether an operand of both operators has the same known numbers beside each element, bit by bit.
bool meets_the_same(const Value& a, const Type& of_a, const Value& b, const Type& of_b, KnownNumbers& numbers) {
  if (!is_known(of_a) || !is_known(of_b)) return false;
  const Array *const first = numbers.constant(a), *const second = numbers.constant(b);
  if (first == nullptr || second == nullptr || first->type() != second->type()) return false;
  const auto wanted = broadcast_elements(*first, extents_of(*of_a.shape)),
             given = broadcast_elements(*second, extents_of(*of_b.shape));
  return wanted && given && wanted->size() == given->size() &&
         std::memcmp(wanted->data(), given->data(), wanted->size() * sizeof(double)) == 0;
}

/// view(f(view(x), c)) as f(x, d), where d meets each element of x as c does.
bool works_without_views(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open) {
  if (!is_a<op::Reshape>(expected) || !(expected.type() == actual.type()) || !expected.type().shape) return false;
  const Value inner = viewed(expected);
  const Operator *const op = inner.node->as_operator(), *const now = actual.node->as_operator();
  if (op == nullptr || now == nullptr || ops::role_of(*op) != ops::KernelRole::element_wise) return false;
  const auto operands = inner.node->inputs(), others = actual.node->inputs();
  if (operands.size() != 2 || others.size() != 2 || ops::text_of(*op) != ops::text_of(*now)) return false;
  for (const std::size_t i : {0U, 1U}) {
    if (!is_a<op::Reshape>(operands[i]) || !(operands[i].type() == inner.type())) continue;
    const Value from = viewed(operands[i]);
    if (!(from.type() == expected.type()) || !(others[i].type() == actual.type())) continue;
    if (!meets_the_same(operands[1 - i], inner.type(), others[1 - i], actual.type(), numbers)) continue;
    open.emplace_back(from, others[i]);
    return true;
  }
  return false;
}

/// What a value was before it was moved: by views only, or by transposes only.
struct Stage {
  Value whole;
  std::vector<std::int64_t> permutation;  ///< of transposes
};

/// The stages of a value before it was moved to its present shape, the last movement first.
std::vector<Stage> stages_of(const Value& value, bool by_views) {
  std::vector<Stage> stages{{value, {}}};
  for (std::size_t i = 0; i < value.shape().size(); ++i)
    stages.back().permutation.push_back(static_cast<std::int64_t>(i));
  while (by_views ? is_view(stages.back().whole) : is_a<op::Transpose>(stages.back().whole)) {
    Stage next = stages.back();
    if (!by_views) {
      const auto& permutation = std::get<op::Transpose>(*next.whole.node->as_operator()).permutation;
      for (std::int64_t& axis : next.permutation) axis = permutation[static_cast<std::size_t>(axis)];
    }
    next.whole = next.whole.node->inputs()[0];
    stages.push_back(std::move(next));
  }
  return stages;
}

/// What a value was before movements that `outer` undoes; nothing if there is no such stage.
std::optional<Value> undone(const Value& value, const Type& type, const Stage& outer, bool by_views) {
  std::optional<Value> found;
  for (const Stage& stage : stages_of(value, by_views)) {
    if (stage.whole == value || !(stage.whole.type() == type)) continue;
    bool is_undone = true;
    for (std::size_t i = 0; i < outer.permutation.size() && !by_views; ++i)
      is_undone = is_undone &&
                  stage.permutation[static_cast<std::size_t>(outer.permutation[i])] == static_cast<std::int64_t>(i);
    if (is_undone) found = stage.whole;
  }
  return found;
}

/// What a value was before movements that `outer` undoes; nothing if there is no such stage.
std::optional<Value> before_both(const Value& value, const Type& type, const Moved& outer) {
  Moved all{value, outer.steps};
  while (is_a<op::Reshape>(all.whole) || is_a<op::Transpose>(all.whole)) {
    all.steps.push_back(all.whole.node->as_operator());
    all.whole = all.whole.node->inputs()[0];
    if (all.whole.type() == type && are_moved_alike(all, {all.whole, {}})) return all.whole;
  }
  return std::nullopt;
}

/// Whether both are the same element-wise operator of so many operands.
bool are_alike(const Value& one, const Value& other) {
  const Operator *const op = one.node->as_operator(), *const same = other.node->as_operator();
  if (op == nullptr || same == nullptr || !(*op == *same)) return false;
  return (ops::traits_of(*op).has(Trait::element_wise) || std::holds_alternative<op::ScalarMul>(*op)) &&
         one.node->inputs().size() == other.node->inputs().size();
}

std::optional<std::int64_t> count_of(const Value& value) {
  const auto extents = value && value.type().shape ? static_extents(*value.type().shape) : std::nullopt;
  return extents ? std::optional(count(*extents)) : std::nullopt;
}

/// Element-wise nodes inside movements that change nothing all together: without them, each element goes the same way.
/// `inside` is what the movement on the way out moves to `actual`; `before` tells what a value inside was before the
/// movement on the way in, if that is undone.
template <class Before>
bool goes_round(const Value& inside, const Value& actual, const Before& before, KnownNumbers& numbers,
                OpenPairs& open) {
  const Type &inner = inside.type(), &type = actual.type();
  OpenPairs pairs, waiting{{inside, actual}};  // values inside, and the same moved
  std::set<std::pair<const Node*, const Node*>> seen;
  while (!waiting.empty()) {
    const auto [one, moved] = waiting.back();
    waiting.pop_back();
    if (!one || !moved || !(one.type() == inner) || !(moved.type() == type)) return false;
    if (!seen.emplace(one.node, moved.node).second) continue;
    if (const std::optional<Value> whole = before(one)) {
      pairs.emplace_back(*whole, moved);
      continue;
    }
    if (!are_alike(one, moved)) return false;
    const auto wanted = one.node->inputs(), given = moved.node->inputs();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool is_number = count_of(wanted[i]) == 1 && numbers.first.of(wanted[i]) != nullptr;
      if (is_number && !(wanted[i].type() == given[i].type())) return false;
      (is_number ? pairs : waiting).emplace_back(wanted[i], given[i]);
    }
  }
  open.insert(open.end(), pairs.begin(), pairs.end());
  return true;
}

/// Where the movements are views only, or transposes only.
bool is_round_trip(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open) {
  const bool by_views = is_view(expected);
  if ((!by_views && !is_a<op::Transpose>(expected)) || !(expected.type() == actual.type())) return false;
  const Stage outer = stages_of(expected, by_views).back();
  return goes_round(
      outer.whole, actual, [&](const Value& value) { return undone(value, expected.type(), outer, by_views); }, numbers,
      open);
}

/// The same where views and transposes follow each other on the way out or in; for known sizes.
bool is_mixed_round_trip(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open) {
  if (!(expected.type() == actual.type()) || !is_known(expected.type())) return false;
  const Moved outer = moved(expected, numbers);
  return !outer.steps.empty() &&
         goes_round(
             outer.whole, actual, [&](const Value& value) { return before_both(value, expected.type(), outer); },
             numbers, open);
}

}  // namespace

Value without_neutral(const Value& value, KnownNumbers& numbers) {
  const auto operands = value.node->inputs();
  if (operands.size() != 2 || !operands[0] || !operands[1] || !value.type().shape) return value;
  const auto neutral = neutral_number(value);
  if (!neutral) return value;
  for (const std::size_t kept : {0U, 1U}) {
    if (kept == 1 && !neutral->second) continue;
    if (!(operands[kept].type() == value.type())) continue;
    const Array* const other = numbers.constant(operands[1 - kept]);
    if (other == nullptr || other->size() == 0) continue;
    const std::vector<double> elements = other->doubles();
    if (std::all_of(elements.begin(), elements.end(), [&](double one) { return one == neutral->first; }))
      return operands[kept];
  }
  return value;
}

bool moves_alike(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open) {
  return works_without_views(expected, actual, numbers, open) ||
         are_moved_to_the_same_places(expected, actual, numbers, open) ||
         is_round_trip(expected, actual, numbers, open) || is_mixed_round_trip(expected, actual, numbers, open);
}

bool scales_alike(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open) {
  if (!may_be_scaled(expected) && !may_be_scaled(actual)) return false;
  const Scaled wanted = scaled(expected, numbers), given = scaled(actual, numbers);
  const Value &product = wanted.moved.whole, &other = given.moved.whole;
  if (!is_a<op::MatMul>(product) || !is_a<op::MatMul>(other) || !(expected.type() == actual.type())) return false;
  if (!are_moved_alike(wanted.moved, given.moved)) return false;
  long double factor = wanted.factor, same = given.factor;
  int count = wanted.count + given.count;
  OpenPairs pairs;
  for (const std::size_t i : {0U, 1U}) {
    const Scaled left = scaled(product.node->inputs()[i], numbers), right = scaled(other.node->inputs()[i], numbers);
    if (!are_moved_alike(left.moved, right.moved)) return false;
    factor *= left.factor;
    same *= right.factor;
    count += left.count + right.count;
    pairs.emplace_back(left.moved.whole, right.moved.whole);
  }
  const auto exact = static_cast<double>(factor);
  if (count == 0 || !std::isfinite(exact) || exact == 0) return false;
  if (!(std::abs(static_cast<double>(same) - exact) <= count * rounding(expected.type().element, exact))) return false;
  open.insert(open.end(), pairs.begin(), pairs.end());
  return true;
}

}  // namespace taso::verifier
