#include "verifier/replay/same_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/operator_text.h"
#include "runtime/host/interpreter.h"

namespace taso::verifier {

bool is_view(const Value& value) {
  if (value.node->as_operator() == nullptr) return false;
  if (std::holds_alternative<op::Reshape>(*value.node->as_operator())) return true;
  const auto* transpose = std::get_if<op::Transpose>(value.node->as_operator());
  if (transpose == nullptr) return false;
  // Axes of extent 1 may move.
  std::vector<std::int64_t> moved;
  for (const std::int64_t axis : transpose->permutation)
    if (value.node->inputs()[0].shape()[static_cast<std::size_t>(axis)] != Dim(1)) moved.push_back(axis);
  return std::is_sorted(moved.begin(), moved.end());
}

namespace {

const Operator* operator_of(const Value& value) { return value.node->as_operator(); }

/// Whether the operator returns its first operand.
bool changes_nothing(const Node& node) {
  const Operator& op = *node.as_operator();
  if (std::holds_alternative<op::Split>(op) || node.inputs().empty()) return false;
  const auto no_axes = [](const auto& reduction) { return reduction.axes.empty(); };
  if (const auto* sum = std::get_if<op::ReduceSum>(&op)) return no_axes(*sum);
  if (const auto* mean = std::get_if<op::ReduceMean>(&op)) return no_axes(*mean);
  if (const auto* max = std::get_if<op::ReduceMax>(&op)) return no_axes(*max);
  if (const auto* transpose = std::get_if<op::Transpose>(&op))
    return std::is_sorted(transpose->permutation.begin(), transpose->permutation.end());
  // Operators that only cut, fill or rearrange have no effect if they keep the shape.
  const bool moves = std::holds_alternative<op::Reshape>(op) || std::holds_alternative<op::Slice>(op) ||
                     std::holds_alternative<op::Pad>(op) || std::holds_alternative<op::Enlarge>(op);
  return moves && node.outputs()[0] == node.inputs()[0].type();
}

Value skip_idle(Value value) {
  while (operator_of(value) != nullptr && changes_nothing(*value.node)) value = value.node->inputs()[0];
  return value;
}

bool is_sum(const Value& value) {
  return operator_of(value) != nullptr && std::holds_alternative<op::Add>(*operator_of(value));
}

/// Two transposes in sequence as one; `whole` is what both together transpose.
struct Transposed {
  Value whole;
  std::vector<std::int64_t> permutation;
};
std::optional<Transposed> transposed(Value value) {
  std::vector<std::int64_t> permutation;
  while (operator_of(value) != nullptr && std::holds_alternative<op::Transpose>(*operator_of(value))) {
    const auto& inner = std::get<op::Transpose>(*operator_of(value)).permutation;
    if (permutation.empty())
      permutation = inner;
    else
      for (std::int64_t& axis : permutation) axis = inner[static_cast<std::size_t>(axis)];
    value = value.node->inputs()[0];
  }
  if (permutation.empty()) return std::nullopt;
  return Transposed{value, permutation};
}

/// A real number of an operator as ONNX can express it: in single precision if it is an attribute; if it is an operand,
/// in the type of the computation.
double real_in_onnx(const Node& node, double real) {
  const Operator& op = *node.as_operator();
  const ElementType element = node.outputs()[0].element;
  if (!std::holds_alternative<op::Pad>(op) && !std::holds_alternative<op::Clip>(op))
    return static_cast<double>(static_cast<float>(real));
  if (!is_floating(element)) return real;
  return Array::scalar(real).cast(element).doubles().front();
}

/// An operator in the one form that ONNX has for it.
std::string text_in_onnx(const Node& node, bool rounded) {
  Operator op = *node.as_operator();
  if (std::holds_alternative<op::ScalarMul>(op)) op = op::Mul{};
  if (const auto* enlarge = std::get_if<op::Enlarge>(&op)) {
    op::Pad pad;
    const Shape& from = node.inputs()[0].shape();
    pad.before.assign(from.size(), 0);
    pad.after.assign(from.size(), 0);
    for (std::size_t i = 2; i < from.size() && from[i].is_static(); ++i) {
      const std::int64_t added = enlarge->kernel.at(i - 2) - from[i].value();
      pad.before[i] = added / 2;
      pad.after[i] = added - added / 2;
    }
    op = pad;
  }
  for (const NamedField& field : fields_of(op))
    if (const auto* real = std::get_if<double>(&field.value); rounded && real != nullptr)
      set_field(op, field.name, real_in_onnx(node, *real));
  return ops::text_of(op);
}

/// Whether both are the same result of equal operators whose operands are compared one by one: their forms are equal.
bool is_same_operator(const Value& a, const Value& b) {
  const Operator &op = *operator_of(a), &other = *operator_of(b);
  const bool has_parts = std::holds_alternative<op::Concat>(op) || std::holds_alternative<op::Split>(op) ||
                         std::holds_alternative<op::Slice>(op);
  return !has_parts && !std::holds_alternative<op::Enlarge>(op) && op == other && a.output == b.output &&
         a.node->inputs().size() == b.node->inputs().size();
}

/// What views or transposes in sequence are taken of, if together they change nothing.
Value without_round_trip(const Value& value) {
  Value whole = value, found = value;
  while (is_view(whole)) {
    whole = whole.node->inputs()[0];
    if (whole.type() == value.type()) found = whole;
  }
  const auto both = transposed(found);
  return both && std::is_sorted(both->permutation.begin(), both->permutation.end()) ? both->whole : found;
}

/// A canonical description of how a value is computed.
struct Form {
  std::string what, rounded;
  std::vector<Value> operands;
};

class Side {
 public:
  explicit Side(const Graph& graph) : pool_(graph.pool) {
    for (const Node* node : graph.nodes()) {
      bool constant = node->as_constant() != nullptr && node->as_constant()->weight != nullptr;
      if (node->as_operator() != nullptr)
        constant = std::all_of(node->inputs().begin(), node->inputs().end(),
                               [&](const Value& operand) { return constant_.at(operand.node); });
      constant_.emplace(node, constant);
    }
  }
  /// Whether it depends only on constants that have data.
  bool is_constant(const Value& value) const { return constant_.at(value.node); }

  Form form_of(const Value& value) {
    const Operator& op = *operator_of(value);
    if (const auto* concat = std::get_if<op::Concat>(&op))
      return {fmt::format("concat {}", concat->axis), "", parts_of(value, concat->axis)};
    if (std::holds_alternative<op::Split>(op) || std::holds_alternative<op::Slice>(op)) return part_of(value);
    return {fmt::format("{} {}", text_in_onnx(*value.node, false), value.output),
            fmt::format("{} {}", text_in_onnx(*value.node, true), value.output),
            {value.node->inputs().begin(), value.node->inputs().end()}};
  }

 private:
  /// The parts of a concatenation along an axis. Adjacent parts that depend on constants only are one, because they are
  /// computed, in any grouping.
  std::vector<Value> parts_of(const Value& whole, std::int64_t axis) {
    std::vector<Value> parts, stack{whole};
    while (!stack.empty()) {
      const Value value = skip_idle(stack.back());
      stack.pop_back();
      const auto* concat = operator_of(value) != nullptr ? std::get_if<op::Concat>(operator_of(value)) : nullptr;
      if (concat != nullptr && concat->axis == axis) {
        const auto operands = value.node->inputs();
        stack.insert(stack.end(), operands.rbegin(), operands.rend());
      } else if (!parts.empty() && is_constant(parts.back()) && is_constant(value)) {
        parts.back() = pool_->apply(op::Concat{.axis = axis}, {parts.back(), value});
        constant_.emplace(parts.back().node, true);
      } else {
        parts.push_back(value);
      }
    }
    return parts;
  }

  /// Where a part lies in the tensor that it was cut from, along one axis.
  struct Part {
    Value whole;
    std::int64_t axis = 0;
    Dim begin = 0, end = 0;
  };

  /// What one operator cuts; nothing if it does not cut.
  static std::optional<Part> cut_by(const Value& value) {
    const Operator* op = operator_of(value);
    if (op == nullptr) return std::nullopt;
    if (const auto* split = std::get_if<op::Split>(op)) {
      const Dim size = value.node->inputs()[0].shape().at(static_cast<std::size_t>(split->axis));
      return value.output == 0 ? Part{value.node->inputs()[0], split->axis, 0, split->at}
                               : Part{value.node->inputs()[0], split->axis, split->at, size};
    }
    if (const auto* slice = std::get_if<op::Slice>(op))
      return Part{value.node->inputs()[0], slice->axis, slice->begin, slice->end};
    return std::nullopt;
  }

  /// The bounds of a part in the tensor that it was cut from, along one axis. Each is computed once: in a long row of
  /// splits, each begins where the one before it ends.
  Form part_of(const Value& value) {
    std::vector<std::pair<Value, Part>> row;  // each cut from the next
    const Part* outer = nullptr;
    for (Value next = value;;) {
      const auto known = parts_.find(next);
      if (known != parts_.end()) {
        if (row.empty() || row.back().second.axis == known->second.axis) outer = &known->second;
        break;
      }
      std::optional<Part> cut = cut_by(next);
      if (!cut || (!row.empty() && row.back().second.axis != cut->axis)) break;
      cut->whole = skip_idle(cut->whole);
      row.emplace_back(next, std::move(*cut));
      next = row.back().second.whole;
    }
    for (auto one = row.rbegin(); one != row.rend(); ++one) {
      Part part = std::move(one->second);
      if (outer != nullptr) part = {outer->whole, part.axis, outer->begin + part.begin, outer->begin + part.end};
      outer = &parts_.emplace(one->first, std::move(part)).first->second;
    }
    check(outer != nullptr, "a part is cut from something");
    return {
        fmt::format("part {} from {} to {}", outer->axis, outer->begin.text(), outer->end.text()), "", {outer->whole}};
  }

  std::shared_ptr<Pool> pool_;
  std::unordered_map<const Node*, bool> constant_;
  std::unordered_map<Value, Part, HashValue> parts_;
};

class Comparison {
 public:
  Comparison(const Graph& expected, const Graph& actual, const std::function<std::string(const Value&)>& describe,
             const OtherWay& other_way)
      : expected_graph_(expected),
        actual_graph_(actual),
        describe_(describe),
        other_way_(other_way),
        expected_(expected),
        actual_(actual) {}

  std::optional<std::string> run() {
    if (expected_graph_.outputs.size() != actual_graph_.outputs.size()) return "the number of outputs differs";
    for (std::size_t i = expected_graph_.outputs.size(); i-- > 0;)
      open_.emplace_back(expected_graph_.outputs[i], actual_graph_.outputs[i]);
    while (!open_.empty()) {
      auto [expected, actual] = open_.back();
      open_.pop_back();
      if (!expected && !actual) continue;
      if (!expected || !actual) return "an operand is missing";
      expected = simple(expected);
      actual = simple(actual);
      if (!seen_.insert({expected, actual}).second) continue;
      if (other_way_.comes_first && other_way_.comes_first(expected, actual, open_)) continue;
      const std::string reason = compare_moved(expected, actual) ? "" : compare(expected, actual);
      if (!reason.empty() && !(other_way_.accounts_for && other_way_.accounts_for(expected, actual, open_)))
        return fmt::format("{}: {}", describe_(actual), reason);
    }
    return std::nullopt;
  }

 private:
  Value simple(Value value) const {
    for (;;) {
      value = skip_idle(value);
      if (other_way_.simplify) value = without_round_trip(value);
      const Value simpler = other_way_.simplify ? other_way_.simplify(value) : value;
      if (simpler == value) return value;
      value = simpler;
    }
  }

  /// Whether both are views or transposes, in any number of steps, or sums with a constant: adds what they are taken
  /// of to the list. Only for clean-ups; rewriting never changes them without a rule.
  bool compare_moved(const Value& expected, const Value& actual) {
    if (!other_way_.simplify || !(expected.type() == actual.type())) return false;
    Value wanted = expected, given = actual;
    while (is_view(wanted)) wanted = simple(wanted.node->inputs()[0]);
    while (is_view(given)) given = simple(given.node->inputs()[0]);
    if (!(wanted == expected && given == actual) && wanted.type() == given.type()) {
      open_.emplace_back(wanted, given);
      return true;
    }
    if (is_sum(expected) && is_sum(actual)) {
      // A sum with a constant may have its operands in either order.
      const auto left = expected.node->inputs(), right = actual.node->inputs();
      if (!expected_.is_constant(left[0]) || expected_.is_constant(left[1]) || actual_.is_constant(right[0]) ||
          !actual_.is_constant(right[1]))
        return false;
      open_.emplace_back(left[0], right[1]);
      open_.emplace_back(left[1], right[0]);
      return true;
    }
    const auto old = transposed(expected), now = transposed(actual);
    if (!old || !now || old->permutation != now->permutation) return false;
    open_.emplace_back(old->whole, now->whole);
    return true;
  }

  /// Returns what differs, or nothing; adds the pairs that are left to compare to the list.
  std::string compare(const Value& expected, const Value& actual) {
    if (!(expected.type().element == actual.type().element)) return "it has another element type";
    const bool constants = expected_.is_constant(expected) && actual_.is_constant(actual);
    const bool joined =
        constants && operator_of(expected) != nullptr && std::holds_alternative<op::Concat>(*operator_of(expected));
    if (operator_of(expected) != nullptr && operator_of(actual) != nullptr && !joined) {
      if (is_same_operator(expected, actual)) {
        for (std::size_t i = expected.node->inputs().size(); i-- > 0;)
          open_.emplace_back(expected.node->inputs()[i], actual.node->inputs()[i]);
        return "";
      }
      const Form wanted = expected_.form_of(expected), given = actual_.form_of(actual);
      if ((wanted.what == given.what || wanted.rounded == given.what) &&
          wanted.operands.size() == given.operands.size()) {
        for (std::size_t i = wanted.operands.size(); i-- > 0;)
          open_.emplace_back(wanted.operands[i], given.operands[i]);
        return "";
      }
      if (!constants)
        return fmt::format("it is {} of {}, but should be {} of {}", given.what, given.operands.size(), wanted.what,
                           wanted.operands.size());
    }
    if (constants) return compare_numbers(expected, actual);
    if (const Input* input = expected.node->as_input()) {
      const Input* other = actual.node->as_input();
      return other != nullptr && other->name == input->name ? "" : fmt::format("it is not the input '{}'", input->name);
    }
    if (expected.node->as_opaque() != nullptr && actual.node->as_opaque() != nullptr)
      return compare_opaque(expected, actual);
    return "it is computed differently";
  }

  std::string compare_numbers(const Value& expected, const Value& actual) {
    try {
      const ArrayLimit limit(std::size_t{4} << 30);
      return identical(numbers_of(expected), numbers_of(actual)) ? "" : "its numbers differ";
    } catch (const InputError& error) {
      return fmt::format("its numbers cannot be computed: {}", error.what());
    }
  }

  static Array numbers_of(const Value& value) {
    if (value.node->as_constant() != nullptr) return value.node->as_constant()->weight->load();
    Graph graph;
    graph.outputs.push_back(value);
    return runtime::interpret(graph, {}, {.threads = 1, .plain = true}).front();
  }

  std::string compare_opaque(const Value& expected, const Value& actual) {
    const Node &left = *expected.node, &right = *actual.node;
    const Opaque &wanted = *left.as_opaque(), &given = *right.as_opaque();
    if (expected.output != actual.output) return fmt::format("it is another result of {}", given.kind);
    const auto partner = partners_.find(&left);
    if (partner != partners_.end()) return partner->second == &right ? "" : fmt::format("{} occurs twice", given.kind);
    const auto pairs = wanted.body && given.body ? wanted.body->agreement(*given.body) : std::nullopt;
    if (!pairs) return fmt::format("{} has changed", given.kind);
    // Later nodes may have been read with the help of declared types.
    if (wanted.outputs.size() != given.outputs.size()) return fmt::format("{} has other results", given.kind);
    for (std::size_t i = 0; i < wanted.outputs.size(); ++i) {
      const Type &old = wanted.outputs[i], &now = given.outputs[i];
      const bool same_rank =
          old.shape.has_value() == now.shape.has_value() && (!old.shape || old.shape->size() == now.shape->size());
      if (old.element != now.element || !same_rank) return fmt::format("{} has results of other types", given.kind);
    }
    // A node that draws random numbers, or may, must occur as often as before.
    const bool repeats =
        wanted.body->obstacle().empty() && !wanted.body->has_programs() && !wanted.kind.ends_with("Dropout");
    if (!taken_.insert(&right).second && !repeats) return fmt::format("{} occurred twice", given.kind);
    partners_.emplace(&left, &right);
    for (const auto& [place, other] : *pairs) {
      if (place >= left.inputs().size() || other >= right.inputs().size()) return "it has other operands";
      open_.emplace_back(left.inputs()[place], right.inputs()[other]);
    }
    return "";
  }

  const Graph &expected_graph_, &actual_graph_;
  const std::function<std::string(const Value&)>& describe_;
  const OtherWay& other_way_;
  Side expected_, actual_;
  OpenPairs open_;
  struct HashPair {
    std::size_t operator()(const std::pair<Value, Value>& pair) const {
      return HashValue()(pair.first) * 31 + HashValue()(pair.second);
    }
  };
  std::unordered_set<std::pair<Value, Value>, HashPair> seen_;
  std::unordered_map<const Node*, const Node*> partners_;  // opaque nodes and their counterparts
  std::set<const Node*> taken_;
};

}  // namespace

std::optional<std::string> difference(const Graph& expected, const Graph& actual,
                                      const std::function<std::string(const Value&)>& describe,
                                      const OtherWay& other_way) {
  return Comparison(expected, actual, describe, other_way).run();
}

}  // namespace taso::verifier
