#include "verifier/replay/clean_ups.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "ops/core/error.h"
#include "ops/text/operator_text.h"
#include "runtime/host/interpreter.h"

namespace taso::verifier {
namespace {

/// The contents of values that depend only on constants and on the sizes of other values.
class Numbers {
 public:
  /// Open sizes are numbered in the order of their use, from `first` on in steps of `step`.
  Numbers(std::int64_t first, std::int64_t step) : first_(first), step_(step) {}

  /// Null if it has none, or they cannot be computed.
  const Array* of(const Value& value) {
    std::vector<const Node*> stack{value.node};  // a stack, because a chain of constants may be long
    while (!stack.empty()) {
      const Node& node = *stack.back();
      if (known_.contains(&node)) {
        stack.pop_back();
        continue;
      }
      const std::size_t before = stack.size();
      if (!tells_sizes(node))
        for (const Value& operand : node.inputs())
          if (operand && !known_.contains(operand.node)) stack.push_back(operand.node);
      if (stack.size() > before) continue;
      stack.pop_back();
      known_.emplace(&node, compute(node));
    }
    const auto& results = known_.at(value.node);
    return value.output < results.size() ? &results[value.output] : nullptr;
  }

  /// Applies an operator.
  static std::vector<Array> apply(const Operator& op, const std::vector<Array>& arrays) {
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    for (const Array& array : arrays)
      graph.inputs.push_back(
          graph.pool->input(std::to_string(graph.inputs.size()), Type{array.type(), shape_of(array.extents())}));
    const Node& made = graph.pool->add(op, graph.inputs);
    for (std::size_t i = 0; i < made.outputs().size(); ++i) graph.outputs.push_back(made.output(i));
    return runtime::interpret(graph, arrays, {.threads = 1, .plain = true});
  }

 private:
  static bool tells_sizes(const Node& node) {
    const Opaque* opaque = node.as_opaque();
    return opaque != nullptr && (opaque->kind == "Shape" || opaque->kind == "Size") && node.inputs().size() == 1 &&
           node.inputs()[0] && opaque->body && opaque->body->is_deterministic();
  }

  std::vector<Array> compute(const Node& node) {
    try {
      const ArrayLimit limit(std::size_t{1} << 30);
      if (const Constant* constant = node.as_constant())
        return constant->weight ? std::vector<Array>{constant->weight->load()} : std::vector<Array>();
      if (tells_sizes(node)) return of_sizes(node);
      std::vector<std::optional<Array>> operands;
      for (const Value& operand : node.inputs()) {
        operands.emplace_back();
        if (!operand) continue;
        const auto& results = known_.at(operand.node);
        if (operand.output >= results.size()) return {};
        operands.back() = results[operand.output];
      }
      if (const Opaque* opaque = node.as_opaque())
        return opaque->body && opaque->body->is_deterministic() ? opaque->body->run(operands) : std::vector<Array>();
      if (node.as_operator() == nullptr) return {};
      std::vector<Array> arrays;
      for (const auto& operand : operands) {
        if (!operand) return {};
        arrays.push_back(*operand);
      }
      return apply(*node.as_operator(), arrays);
    } catch (const InputError&) {
      return {};
    }
  }

  /// Evaluates a node that reads sizes.
  std::vector<Array> of_sizes(const Node& node) {
    const Type& type = node.inputs()[0].type();
    if (!type.shape) return {};
    Extents extents;
    for (const Dim& dim : *type.shape)
      extents.push_back(dim.evaluate([&](std::string_view name) {
        const auto next = first_ + step_ * static_cast<std::int64_t>(sizes_.size());
        return sizes_.emplace(std::string(name), next).first->second;
      }));
    return node.as_opaque()->body->run({Array(ElementType::int8, extents)});
  }

  std::int64_t first_, step_;
  std::map<std::string, std::int64_t> sizes_;
  std::unordered_map<const Node*, std::vector<Array>> known_;
};

/// How far a number of this type may be from the exact value.
double rounding(ElementType type, double exact) {
  double relative = 0x1p-22, smallest = std::numeric_limits<float>::denorm_min();
  if (type == ElementType::float64) relative = 0x1p-50, smallest = std::numeric_limits<double>::denorm_min();
  if (type == ElementType::float16) relative = 0x1p-10, smallest = 0x1p-24;
  if (type == ElementType::bfloat16) relative = 0x1p-7;
  return relative * std::abs(exact) + smallest;
}

template <class Op>
bool is_a(const Value& value) {
  return value.node->as_operator() != nullptr && std::holds_alternative<Op>(*value.node->as_operator());
}

/// A convolution that is not modelled, for example because its sizes are unknown.
const Opaque* opaque_conv(const Value& value) {
  const Opaque* opaque = value.node->as_opaque();
  return opaque != nullptr && opaque->body && (opaque->kind == "Conv" || opaque->kind == "ai.onnx.Conv") ? opaque
                                                                                                         : nullptr;
}

/// Whether these are convolutions that differ at most in their operands.
bool convolve_alike(const Value& a, const Value& b) {
  if ((is_a<op::Conv>(a) && is_a<op::Conv>(b)) || (is_a<op::ConvTranspose>(a) && is_a<op::ConvTranspose>(b)))
    return ops::text_of(*a.node->as_operator()) == ops::text_of(*b.node->as_operator());
  const Opaque *first = opaque_conv(a), *second = opaque_conv(b);
  return first != nullptr && second != nullptr && first->body->same(*second->body);
}

/// A product to which a known value is added.
struct Linear {
  Value product;
  Value added;  ///< empty if nothing is added
};

class ComputedAhead {
 public:
  /// The operand of a node that adds 0, multiplies by 1, or does the like; otherwise the value itself.
  Value without_neutral(const Value& value) {
    const auto operands = value.node->inputs();
    if (operands.size() != 2 || !operands[0] || !operands[1] || !value.type().shape) return value;
    const auto neutral = neutral_number(value);
    if (!neutral) return value;
    for (const std::size_t kept : {0U, 1U}) {
      if (kept == 1 && !neutral->second) continue;
      if (!(operands[kept].type() == value.type())) continue;
      const Array* const other = first_.of(operands[1 - kept]);
      if (other == nullptr || second_.of(operands[1 - kept]) == nullptr || other->size() == 0) continue;
      // A number that depends on open sizes is not a constant.
      if (!identical(*other, *second_.of(operands[1 - kept]))) continue;
      const std::vector<double> numbers = other->doubles();
      if (std::all_of(numbers.begin(), numbers.end(), [&](double one) { return one == neutral->first; }))
        return operands[kept];
    }
    return value;
  }

  bool accounts_for(const Value& expected, const Value& actual, OpenPairs& open) {
    if (actual.node->as_constant() != nullptr) return is_constant(expected, actual);
    if (is_a<op::BatchNorm>(expected)) return is_normalised(expected, actual, open);
    if (is_a<op::Concat>(expected) && is_a<op::Concat>(actual)) return is_joined(expected, actual, open);
    if (starts_from_zero(expected, actual, open)) return true;
    if (works_without_views(expected, actual, open) || moves_alike(expected, actual, open)) return true;
    if (is_round_trip(expected, actual, open) || is_mixed_round_trip(expected, actual, open)) return true;
    if (is_idle_dropout(expected)) {
      open.emplace_back(expected.node->inputs()[0], actual);
      return true;
    }
    return false;
  }

  /// Products of matrices that differ at most in where they are multiplied by numbers, before or after: the product of all
  /// numbers counts, within what rounding changes.
  bool scales_alike(const Value& expected, const Value& actual, OpenPairs& open) {
    if (!may_be_scaled(expected) && !may_be_scaled(actual)) return false;
    const Scaled wanted = scaled(expected), given = scaled(actual);
    const Value &product = wanted.moved.whole, &other = given.moved.whole;
    if (!is_a<op::MatMul>(product) || !is_a<op::MatMul>(other) || !(expected.type() == actual.type())) return false;
    if (!are_moved_alike(wanted.moved, given.moved)) return false;
    long double factor = wanted.factor, same = given.factor;
    int numbers = wanted.numbers + given.numbers;
    OpenPairs pairs;
    for (const std::size_t i : {0U, 1U}) {
      const Scaled left = scaled(product.node->inputs()[i]), right = scaled(other.node->inputs()[i]);
      if (!are_moved_alike(left.moved, right.moved)) return false;
      factor *= left.factor;
      same *= right.factor;
      numbers += left.numbers + right.numbers;
      pairs.emplace_back(left.moved.whole, right.moved.whole);
    }
    const auto exact = static_cast<double>(factor);
    if (numbers == 0 || !std::isfinite(exact) || exact == 0) return false;
    if (!(std::abs(static_cast<double>(same) - exact) <= numbers * rounding(expected.type().element, exact)))
      return false;
    open.insert(open.end(), pairs.begin(), pairs.end());
    return true;
  }

 private:
  static bool may_be_scaled(const Value& value) {
    return is_a<op::ScalarMul>(value) || is_a<op::Mul>(value) || is_a<op::Div>(value);
  }

  /// The number that as an operand changes nothing, and whether it may also be the first operand.
  static std::optional<std::pair<double, bool>> neutral_number(const Value& value) {
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

  /// A part of a concatenation: one unknown value, or adjacent known ones.
  struct Part {
    bool known = false;
    std::vector<Value> values;
  };

  std::vector<Part> parts_of(const Value& whole, std::int64_t axis) {
    std::vector<Part> parts;
    std::vector<Value> stack{whole};
    while (!stack.empty()) {
      const Value value = stack.back();
      stack.pop_back();
      const auto* concat = is_a<op::Concat>(value) ? &std::get<op::Concat>(*value.node->as_operator()) : nullptr;
      if (concat != nullptr && concat->axis == axis) {
        const auto operands = value.node->inputs();
        stack.insert(stack.end(), operands.rbegin(), operands.rend());
        continue;
      }
      // A value that is open at one choice of sizes is open; an array that is the same at both is compared as such.
      const bool known = first_.of(value) != nullptr && second_.of(value) != nullptr &&
                         identical(*first_.of(value), *second_.of(value));
      if (known && !parts.empty() && parts.back().known)
        parts.back().values.push_back(value);
      else
        parts.push_back({known, {value}});
    }
    return parts;
  }

  std::optional<Array> joined(const Part& part, std::int64_t axis) {
    Array all = *first_.of(part.values.front());
    try {
      for (std::size_t i = 1; i < part.values.size(); ++i)
        all = Numbers::apply(op::Concat{.axis = axis}, {all, *first_.of(part.values[i])}).front();
    } catch (const InputError&) {
      return std::nullopt;
    }
    return all;
  }

  bool is_joined(const Value& expected, const Value& actual, OpenPairs& open) {
    const std::int64_t axis = std::get<op::Concat>(*expected.node->as_operator()).axis;
    if (std::get<op::Concat>(*actual.node->as_operator()).axis != axis) return false;
    const std::vector<Part> wanted = parts_of(expected, axis), given = parts_of(actual, axis);
    if (wanted.size() != given.size()) return false;
    OpenPairs unknown;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].known != given[i].known) return false;
      if (!wanted[i].known) {
        unknown.emplace_back(wanted[i].values.front(), given[i].values.front());
        continue;
      }
      const auto a = joined(wanted[i], axis), b = joined(given[i], axis);
      if (!a || !b || !identical(*a, *b)) return false;
    }
    open.insert(open.end(), unknown.begin(), unknown.end());
    return true;
  }

  /// The value of which this is a view, or a view of a view.
  static Value viewed(Value value) {
    while (is_a<op::Reshape>(value)) value = value.node->inputs()[0];
    return value;
  }

  static bool is_known(const Type& type) {
    return type.shape &&
           std::all_of(type.shape->begin(), type.shape->end(), [](const Dim& dim) { return dim.known().has_value(); });
  }

  /// What views and transposes move, and these, the last first; operands that change nothing are skipped.
  struct Moved {
    Value whole;
    std::vector<const Operator*> steps;
  };
  Moved moved(Value value) {
    Moved found;
    for (;;) {
      if (const Value plain = without_neutral(value); !(plain == value)) {
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

  /// Whether both move the elements of a value in the same way.
  bool moves_alike(const Value& expected, const Value& actual, OpenPairs& open) {
    const Moved wanted = moved(expected), given = moved(actual);
    if (wanted.steps.empty() || !is_known(expected.type()) || !are_moved_alike(wanted, given)) return false;
    open.emplace_back(wanted.whole, given.whole);
    return true;
  }

  /// Shown with the numbers of the elements.
  static bool are_moved_alike(const Moved& wanted, const Moved& given) {
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

  /// What was moved and multiplied by numbers, and the product of these.
  struct Scaled {
    Moved moved;
    long double factor = 1;
    int numbers = 0;
  };
  Scaled scaled(Value value) {
    Scaled found;
    for (;; value = value.node->inputs()[0]) {
      const bool is_product = is_a<op::Mul>(value) || is_a<op::ScalarMul>(value), is_quotient = is_a<op::Div>(value);
      if (is_a<op::Reshape>(value) || is_a<op::Transpose>(value)) {
        found.moved.steps.push_back(value.node->as_operator());
      } else if (const auto number = is_product || is_quotient ? number_beside(value) : std::nullopt) {
        found.factor = is_product ? found.factor * *number : found.factor / *number;
        ++found.numbers;
      } else {
        found.moved.whole = value;
        return found;
      }
    }
  }

  /// The only number in the second operand, if the first has the type of the result.
  std::optional<double> number_beside(const Value& value) {
    const auto operands = value.node->inputs();
    const Array *const one = first_.of(operands[1]), *const other = second_.of(operands[1]);
    if (one == nullptr || other == nullptr || one->size() != 1 || !identical(*one, *other)) return std::nullopt;
    return operands[0].type() == value.type() ? std::optional(one->doubles().front()) : std::nullopt;
  }

  /// All elements of an array that broadcasts to these extents, in their order; nothing if it does not.
  static std::optional<std::vector<double>> broadcast_elements(const Array& array, const Extents& extents) {
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
  bool meets_the_same(const Value& a, const Type& of_a, const Value& b, const Type& of_b) {
    if (!is_known(of_a) || !is_known(of_b)) return false;
    const Array *const first = first_.of(a), *const second = first_.of(b);
    if (first == nullptr || second == nullptr || first->type() != second->type()) return false;
    for (const auto& [value, array] : {std::pair(a, first), std::pair(b, second)})
      if (second_.of(value) == nullptr || !identical(*second_.of(value), *array)) return false;  // depends on sizes
    const auto wanted = broadcast_elements(*first, extents_of(*of_a.shape)),
               given = broadcast_elements(*second, extents_of(*of_b.shape));
    return wanted && given && wanted->size() == given->size() &&
           std::memcmp(wanted->data(), given->data(), wanted->size() * sizeof(double)) == 0;
  }

  /// view(f(view(x), c)) as f(x, d), where d meets each element of x as c does.
  bool works_without_views(const Value& expected, const Value& actual, OpenPairs& open) {
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
      if (!meets_the_same(operands[1 - i], inner.type(), others[1 - i], actual.type())) continue;
      open.emplace_back(from, others[i]);
      return true;
    }
    return false;
  }

  /// Recurrent nodes that differ in initial states which are 0: those may be omitted.
  bool starts_from_zero(const Value& expected, const Value& actual, OpenPairs& open) {
    const Opaque *const old = expected.node->as_opaque(), *const now = actual.node->as_opaque();
    if (old == nullptr || now == nullptr || expected.output != actual.output || !old->body || !now->body) return false;
    if (old->kind != "LSTM" && old->kind != "GRU" && old->kind != "RNN") return false;
    if (!old->body->obstacle().empty() || !old->body->same(*now->body)) return false;
    const auto wanted = expected.node->inputs(), given = actual.node->inputs();
    OpenPairs pairs;
    for (std::size_t i = 0; i < std::max(wanted.size(), given.size()); ++i) {
      const Value left = i < wanted.size() ? wanted[i] : Value{}, right = i < given.size() ? given[i] : Value{};
      if (!left && !right) continue;
      if (left && right) {
        pairs.emplace_back(left, right);
        continue;
      }
      if ((i != 5 && i != 6) || !left || !is_zero(first_.of(left)) || !is_zero(second_.of(left))) return false;
    }
    open.insert(open.end(), pairs.begin(), pairs.end());
    return true;
  }

  /// What a value was before it was moved: by views only, or by transposes only.
  struct Stage {
    Value whole;
    std::vector<std::int64_t> permutation;  ///< of transposes
  };

  /// The stages of a value before it was moved to its present shape, the last movement first.
  static std::vector<Stage> stages_of(const Value& value, bool by_views) {
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
  static std::optional<Value> undone(const Value& value, const Type& type, const Stage& outer, bool by_views) {
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

  /// A movement of element-wise nodes of moved values, where all movements together change nothing: without them, each
  /// element goes the same way.
  bool is_round_trip(const Value& expected, const Value& actual, OpenPairs& open) {
    const bool by_views = is_view(expected);
    if ((!by_views && !is_a<op::Transpose>(expected)) || !(expected.type() == actual.type())) return false;
    const Stage outer = stages_of(expected, by_views).back();
    const Type &type = expected.type(), &inner = outer.whole.type();
    OpenPairs pairs, waiting{{outer.whole, actual}};  // values inside, and the same moved
    std::set<std::pair<const Node*, const Node*>> seen;
    while (!waiting.empty()) {
      const auto [inside, outside] = waiting.back();
      waiting.pop_back();
      if (!inside || !outside || !(inside.type() == inner) || !(outside.type() == type)) return false;
      if (!seen.emplace(inside.node, outside.node).second) continue;
      if (const auto whole = undone(inside, type, outer, by_views)) {
        pairs.emplace_back(*whole, outside);
        continue;
      }
      if (!are_alike(inside, outside)) return false;
      const auto wanted = inside.node->inputs(), given = outside.node->inputs();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const bool is_number = count_of(wanted[i]) == 1 && first_.of(wanted[i]) != nullptr;
        if (is_number && !(wanted[i].type() == given[i].type())) return false;
        (is_number ? pairs : waiting).emplace_back(wanted[i], given[i]);
      }
    }
    open.insert(open.end(), pairs.begin(), pairs.end());
    return true;
  }

  /// The same where views and transposes follow each other on the way out or in; for known sizes.
  bool is_mixed_round_trip(const Value& expected, const Value& actual, OpenPairs& open) {
    if (!(expected.type() == actual.type()) || !is_known(expected.type())) return false;
    const Moved outer = moved(expected);
    if (outer.steps.empty()) return false;
    const Type &type = expected.type(), &inner = outer.whole.type();
    OpenPairs pairs, waiting{{outer.whole, actual}};  // values inside, and the same moved
    std::set<std::pair<const Node*, const Node*>> seen;
    while (!waiting.empty()) {
      const auto [inside, outside] = waiting.back();
      waiting.pop_back();
      if (!inside || !outside || !(inside.type() == inner) || !(outside.type() == type)) return false;
      if (!seen.emplace(inside.node, outside.node).second) continue;
      if (const auto whole = before_both(inside, type, outer)) {
        pairs.emplace_back(*whole, outside);
        continue;
      }
      if (!are_alike(inside, outside)) return false;
      const auto wanted = inside.node->inputs(), given = outside.node->inputs();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const bool is_number = count_of(wanted[i]) == 1 && first_.of(wanted[i]) != nullptr;
        if (is_number && !(wanted[i].type() == given[i].type())) return false;
        (is_number ? pairs : waiting).emplace_back(wanted[i], given[i]);
      }
    }
    open.insert(open.end(), pairs.begin(), pairs.end());
    return true;
  }

  /// What a value was before movements that `outer` undoes; nothing if there is no such stage.
  static std::optional<Value> before_both(const Value& value, const Type& type, const Moved& outer) {
    Moved all{value, outer.steps};
    while (is_a<op::Reshape>(all.whole) || is_a<op::Transpose>(all.whole)) {
      all.steps.push_back(all.whole.node->as_operator());
      all.whole = all.whole.node->inputs()[0];
      if (all.whole.type() == type && are_moved_alike(all, {all.whole, {}})) return all.whole;
    }
    return std::nullopt;
  }

  /// Whether both are the same element-wise operator of so many operands.
  static bool are_alike(const Value& one, const Value& other) {
    const Operator *const op = one.node->as_operator(), *const same = other.node->as_operator();
    if (op == nullptr || same == nullptr || !(*op == *same)) return false;
    return (ops::traits_of(*op).has(Trait::element_wise) || std::holds_alternative<op::ScalarMul>(*op)) &&
           one.node->inputs().size() == other.node->inputs().size();
  }

  static std::optional<std::int64_t> count_of(const Value& value) {
    const auto extents = value && value.type().shape ? static_extents(*value.type().shape) : std::nullopt;
    return extents ? std::optional(count(*extents)) : std::nullopt;
  }

  static bool is_zero(const Array* array) {
    if (array == nullptr) return false;
    const std::vector<double> numbers = array->doubles();
    return std::all_of(numbers.begin(), numbers.end(), [](double one) { return one == 0; });
  }

  /// At inference a dropout returns its first operand.
  bool is_idle_dropout(const Value& value) {
    const Opaque* opaque = value.node->as_opaque();
    if (opaque == nullptr || opaque->kind != "Dropout" || value.output != 0) return false;
    const auto operands = value.node->inputs();
    if (!opaque->body || !opaque->body->obstacle().empty() || operands.empty() || !operands[0]) return false;
    if (operands.size() < 3 || !operands[2]) return true;
    const Array* training = first_.of(operands[2]);
    return training != nullptr && training->size() == 1 && training->doubles().front() == 0;
  }

  bool is_constant(const Value& expected, const Value& actual) {
    for (Numbers* numbers : {&first_, &second_}) {
      const Array* wanted = numbers->of(expected);
      const Array* given = numbers->of(actual);
      if (wanted == nullptr || given == nullptr || !identical(*wanted, *given)) return false;
    }
    return true;
  }

  Linear linear(const Value& value) {
    const auto operands = value.node->inputs();
    if ((is_a<op::Conv>(value) || is_a<op::ConvTranspose>(value) || opaque_conv(value) != nullptr) &&
        operands.size() == 3)
      return {value, operands[2]};
    if (is_a<op::Add>(value) && first_.of(operands[1]) != nullptr) return {operands[0], operands[1]};
    return {value, {}};
  }

  /// One number per channel; nothing if it has no such contents.
  std::optional<std::vector<double>> per_channel(const Value& value, std::size_t channels) {
    if (!value) return std::vector<double>(channels, 0.0);
    const Array* array = first_.of(value);
    if (array == nullptr || array->rank() == 0 || !is_floating(array->type())) return std::nullopt;
    std::vector<double> numbers = array->doubles();
    if (numbers.size() != channels || array->extents().back() != static_cast<std::int64_t>(channels))
      return std::nullopt;
    return numbers;
  }

  bool is_normalised(const Value& expected, const Value& actual, OpenPairs& open) {
    std::vector<const Node*> norms;  // in sequence: the last is nearest to the product
    Value normalised = expected;
    for (; is_a<op::BatchNorm>(normalised); normalised = normalised.node->inputs()[0]) norms.push_back(normalised.node);
    Linear old = linear(normalised), now = linear(actual);
    const Value old_added = old.added, new_added = now.added;
    while (is_a<op::ScalarMul>(old.product) && is_a<op::ScalarMul>(now.product)) {
      const Array* a = first_.of(old.product.node->inputs()[1]);
      const Array* b = first_.of(now.product.node->inputs()[1]);
      if (a == nullptr || b == nullptr || !identical(*a, *b)) return false;
      old = {old.product.node->inputs()[0], {}};
      now = {now.product.node->inputs()[0], {}};
    }
    const bool convolves = convolve_alike(old.product, now.product);
    if (!convolves) {
      if (!is_a<op::MatMul>(old.product) || !is_a<op::MatMul>(now.product)) return false;
      if (ops::text_of(*old.product.node->as_operator()) != ops::text_of(*now.product.node->as_operator()))
        return false;
    }

    const Array* weight = first_.of(old.product.node->inputs()[1]);
    const Array* folded = first_.of(now.product.node->inputs()[1]);
    if (weight == nullptr || folded == nullptr || weight->type() != folded->type() ||
        weight->extents() != folded->extents() || weight->rank() < 2 || !is_floating(weight->type()))
      return false;
    // A transposed convolution has the channels of one group along axis 1, and its groups along axis 0.
    const bool is_transposed = is_a<op::ConvTranspose>(old.product);
    const std::size_t axis = is_transposed ? 1 : convolves ? 0 : weight->rank() - 1;
    const auto groups = static_cast<std::size_t>(
        is_transposed ? std::get<op::ConvTranspose>(*old.product.node->as_operator()).groups : 1);
    const auto channels = static_cast<std::size_t>(weight->extents()[axis]) * groups;
    const auto bias = per_channel(old_added, channels), new_bias = per_channel(new_added, channels);
    if (!bias || !new_bias) return false;
    const std::vector<double> before = weight->doubles(), after = folded->doubles();
    std::vector<long double> factors(channels, 1), shifts(bias->begin(), bias->end());
    std::vector<double> shift_errors(channels, 0);
    for (auto norm = norms.rbegin(); norm != norms.rend(); ++norm) {
      std::vector<std::vector<double>> parameters;
      for (std::size_t i = 1; i < 5; ++i) {
        const auto numbers = per_channel((*norm)->inputs()[i], channels);
        if (!numbers) return false;
        parameters.push_back(*numbers);
      }
      const double epsilon = std::get<op::BatchNorm>(*(*norm)->as_operator()).epsilon;
      for (std::size_t c = 0; c < channels; ++c) {
        // Computed independently of the fold, in more digits.
        const long double factor = static_cast<long double>(parameters[0][c]) /
                                   std::sqrt(static_cast<long double>(parameters[3][c]) + epsilon);
        const double size = std::abs(static_cast<double>(factor));
        const double lost = 0x1p-48 * (std::abs(static_cast<double>(shifts[c])) * size +
                                       std::abs(parameters[2][c]) * size + std::abs(parameters[1][c]));
        factors[c] *= factor;
        shifts[c] = (shifts[c] - parameters[2][c]) * factor + parameters[1][c];
        shift_errors[c] = shift_errors[c] * size + rounding(weight->type(), static_cast<double>(shifts[c])) + lost;
      }
    }
    for (std::size_t c = 0; c < channels; ++c)
      if (!(std::abs((*new_bias)[c] - static_cast<double>(shifts[c])) <= shift_errors[c])) return false;
    std::size_t run = 1;  // elements that lie in sequence and belong to one channel
    for (std::size_t i = axis + 1; i < weight->rank(); ++i) run *= static_cast<std::size_t>(weight->extents()[i]);
    const std::size_t own = channels / groups;
    const std::size_t in_group = before.size() / std::max<std::size_t>(groups, 1);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::size_t channel = (is_transposed ? i / in_group * own : 0) + i / run % own;
      const auto exact = static_cast<double>(before[i] * factors[channel]);
      // Each normalisation rounded it once.
      const double allowed = static_cast<double>(norms.size()) * rounding(weight->type(), exact);
      if (!(std::abs(after[i] - exact) <= allowed)) return false;
    }
    open.emplace_back(old.product.node->inputs()[0], now.product.node->inputs()[0]);
    return true;
  }

  Numbers first_{3, 1}, second_{11, 2};
};

}  // namespace

OtherWay computed_ahead() {
  const auto ahead = std::make_shared<ComputedAhead>();
  return {[ahead](const Value& value) { return ahead->without_neutral(value); },
          [ahead](const Value& expected, const Value& actual, OpenPairs& open) {
            return ahead->accounts_for(expected, actual, open);
          },
          {}};
}

OtherWay with_fused_attention() {
  const auto ahead = std::make_shared<ComputedAhead>();
  OtherWay way = computed_ahead();
  way.comes_first = [ahead](const Value& expected, const Value& actual, OpenPairs& open) {
    return ahead->scales_alike(expected, actual, open);
  };
  return way;
}

}  // namespace taso::verifier
