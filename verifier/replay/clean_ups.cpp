#include "verifier/replay/clean_ups.h"

#include <algorithm>
#include <optional>

#include "ops/core/error.h"
#include "verifier/replay/folded_norms.h"
#include "verifier/replay/known_numbers.h"
#include "verifier/replay/movements.h"

namespace taso::verifier {
namespace {

class ComputedAhead {
 public:
  Value without_neutral(const Value& value) { return verifier::without_neutral(value, numbers_); }

  bool accounts_for(const Value& expected, const Value& actual, OpenPairs& open) {
    if (actual.node->as_constant() != nullptr) return is_constant(expected, actual);
    if (is_a<op::BatchNorm>(expected)) return is_normalised(expected, actual, numbers_.first, open);
    if (is_a<op::Concat>(expected) && is_a<op::Concat>(actual)) return is_joined(expected, actual, open);
    if (starts_from_zero(expected, actual, open) || moves_alike(expected, actual, numbers_, open)) return true;
    if (is_idle_dropout(expected)) {
      open.emplace_back(expected.node->inputs()[0], actual);
      return true;
    }
    return false;
  }

  bool scales_alike(const Value& expected, const Value& actual, OpenPairs& open) {
    return verifier::scales_alike(expected, actual, numbers_, open);
  }

 private:
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
      const bool known = numbers_.constant(value) != nullptr;
      if (known && !parts.empty() && parts.back().known)
        parts.back().values.push_back(value);
      else
        parts.push_back({known, {value}});
    }
    return parts;
  }

  std::optional<Array> joined(const Part& part, std::int64_t axis) {
    Array all = *numbers_.first.of(part.values.front());
    try {
      for (std::size_t i = 1; i < part.values.size(); ++i)
        all = Numbers::apply(op::Concat{.axis = axis}, {all, *numbers_.first.of(part.values[i])}).front();
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
      if ((i != 5 && i != 6) || !left || !is_zero(numbers_.first.of(left)) || !is_zero(numbers_.second.of(left)))
        return false;
    }
    open.insert(open.end(), pairs.begin(), pairs.end());
    return true;
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
    const Array* training = numbers_.first.of(operands[2]);
    return training != nullptr && training->size() == 1 && training->doubles().front() == 0;
  }

  bool is_constant(const Value& expected, const Value& actual) {
    for (Numbers* numbers : {&numbers_.first, &numbers_.second}) {
      const Array* wanted = numbers->of(expected);
      const Array* given = numbers->of(actual);
      if (wanted == nullptr || given == nullptr || !identical(*wanted, *given)) return false;
    }
    return true;
  }

  KnownNumbers numbers_;
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
