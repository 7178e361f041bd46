#include "cost/pricing/gelu_steps.h"

#include <algorithm>
#include <cmath>

#include "ops/core/error.h"

namespace taso::cost {
namespace {

/// The relative tolerance for constants: rounding to the type of the results, and a few omitted digits.
double tolerance_of(const Call& call) {
  switch (call.written.empty() ? ElementType::undefined : call.written[0].element) {
    case ElementType::float16: return 5e-4;
    case ElementType::bfloat16: return 2e-3;
    default: return 1e-6;
  }
}

class Finder {
 public:
  Finder(const Call& call, const std::vector<std::optional<double>>& numbers)
      : numbers_(numbers), tolerance_(tolerance_of(call)) {
    std::size_t values = call.read.size();
    for (const Call::Step& step : call.steps) values = std::max<std::size_t>(values, step.first_result + 1);
    uses_.assign(values, 0);
    steps_.assign(values, nullptr);
    for (const Call::Step& step : call.steps) {
      steps_[step.first_result] = &step;
      for (const std::uint32_t operand : step.operands) ++uses_.at(operand);
    }
    for (const std::uint32_t result : call.results) ++uses_.at(result);
  }

  struct Found {
    std::uint32_t operand = 0;
    bool tanh = false;
  };
  /// If a value is a gelu, returns what it is the gelu of.
  std::optional<Found> gelu(std::uint32_t value) const {
    const Factors product = factors(value);
    if (product.values.size() != 2 || !is_about(product.number, 0.5)) return std::nullopt;
    for (const std::size_t gate : {std::size_t{0}, std::size_t{1}}) {
      const std::uint32_t x = product.values[1 - gate];
      const auto one_more = terms(product.values[gate]);
      if (!one_more || !is_about(number(one_more->second).value_or(0), 1)) continue;
      if (const Call::Step* erf = once<op::Erf>(one_more->first)) {
        const Factors scaled = factors(erf->operands[0]);
        if (scaled.values == std::vector{x} && is_about(scaled.number, std::sqrt(0.5))) return Found{x, false};
      } else if (const Call::Step* tanh = once<op::Tanh>(one_more->first)) {
        if (is_bent(tanh->operands[0], x)) return Found{x, true};
      }
    }
    return std::nullopt;
  }

 private:
  struct Factors {
    double number = 1;
    std::vector<std::uint32_t> values;
  };

  bool is_about(double number, double wanted) const { return std::abs(number - wanted) <= tolerance_ * wanted; }
  std::optional<double> number(std::uint32_t value) const {
    return value < numbers_.size() ? numbers_[value] : std::nullopt;
  }
  const Call::Step* step(std::uint32_t value) const { return steps_[value]; }
  /// The step that computes a value with only one use, if it is of this type.
  template <class T>
  const Call::Step* once(std::uint32_t value) const {
    const Call::Step* const found = step(value);
    return found != nullptr && uses_[value] == 1 && std::holds_alternative<T>(found->op) ? found : nullptr;
  }

  Factors factors(std::uint32_t value) const {
    Factors found;
    multiply(value, true, found);
    return found;
  }
  void multiply(std::uint32_t value, bool is_whole, Factors& found) const {
    if (const auto constant = number(value)) {
      found.number *= *constant;
      return;
    }
    const Call::Step* const by = is_whole || uses_[value] == 1 ? step(value) : nullptr;
    if (by != nullptr && (std::holds_alternative<op::Mul>(by->op) || std::holds_alternative<op::ScalarMul>(by->op))) {
      for (const std::uint32_t operand : by->operands) multiply(operand, false, found);
    } else if (by != nullptr && std::holds_alternative<op::Div>(by->op) && number(by->operands[1]).value_or(0) != 0) {
      found.number /= *number(by->operands[1]);
      multiply(by->operands[0], false, found);
    } else {
      found.values.push_back(value);
    }
  }

  /// The terms of a sum that is used once, with a constant term second.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> terms(std::uint32_t value) const {
    const Call::Step* const sum = once<op::Add>(value);
    if (sum == nullptr) return std::nullopt;
    if (number(sum->operands[0])) return std::pair(sum->operands[1], sum->operands[0]);
    return std::pair(sum->operands[0], sum->operands[1]);
  }

  /// √(2/π) · (x + 0.044715 x³)
  bool is_bent(std::uint32_t value, std::uint32_t x) const {
    const Factors scaled = factors(value);
    if (scaled.values.size() != 1 || !is_about(scaled.number, std::sqrt(2 / std::acos(-1.0)))) return false;
    const auto sum = terms(scaled.values[0]);
    if (!sum || (sum->first != x && sum->second != x)) return false;
    const Factors cube = factors(sum->first == x ? sum->second : sum->first);
    if (!is_about(cube.number, 0.044715)) return false;
    if (cube.values == std::vector{x, x, x}) return true;
    const Call::Step* const power = cube.values.size() == 1 ? once<op::Pow>(cube.values[0]) : nullptr;
    return power != nullptr && power->operands[0] == x && number(power->operands[1]) == 3.0;
  }

  const std::vector<std::optional<double>>& numbers_;
  double tolerance_;
  std::vector<std::size_t> uses_;
  std::vector<const Call::Step*> steps_;  // by value; only first results, because element-wise steps have one
};

}  // namespace

std::vector<std::uint32_t> join_gelu(Call& call, const std::vector<std::optional<double>>& numbers) {
  std::vector<std::uint32_t> kept(call.read.size());
  for (std::uint32_t i = 0; i < kept.size(); ++i) kept[i] = i;
  bool is_found = false;
  std::optional<Finder> finder;  // of the current call
  for (std::size_t i = call.steps.size(); i-- > 0;) {
    if (!finder) finder.emplace(call, numbers);
    const auto found = finder->gelu(call.steps[i].first_result);
    if (!found) continue;
    call.steps[i].op = op::Gelu{found->tanh};
    call.steps[i].operands = {found->operand};
    finder.reset();
    is_found = true;
  }
  if (!is_found) return kept;

  // Keep what is still needed, with new numbers.
  std::size_t values = call.read.size();
  for (const Call::Step& step : call.steps) values = std::max<std::size_t>(values, step.first_result + 1);
  std::vector<bool> is_needed(values, false);
  for (const std::uint32_t result : call.results) is_needed.at(result) = true;
  for (std::size_t i = call.steps.size(); i-- > 0;)
    if (is_needed[call.steps[i].first_result])
      for (const std::uint32_t operand : call.steps[i].operands) is_needed.at(operand) = true;
  std::vector<std::uint32_t> number(values, 0);
  std::erase_if(kept, [&](std::uint32_t read) { return !is_needed[read]; });
  std::vector<Call::Operand> read;
  for (const std::uint32_t old : kept) {
    number[old] = static_cast<std::uint32_t>(read.size());
    read.push_back(std::move(call.read[old]));
  }
  call.read = std::move(read);
  auto next = static_cast<std::uint32_t>(kept.size());
  std::vector<Call::Step> steps;
  const std::size_t main = call.main;
  for (std::size_t i = 0; i < call.steps.size(); ++i) {
    Call::Step& step = call.steps[i];
    if (!is_needed[step.first_result]) continue;
    if (i == main) call.main = steps.size();
    for (std::uint32_t& operand : step.operands) operand = number[operand];
    number[step.first_result] = next;
    step.first_result = next++;
    steps.push_back(std::move(step));
  }
  call.steps = std::move(steps);
  for (std::uint32_t& result : call.results) result = number[result];
  check(call.main < call.steps.size(), "the main step of a call is kept");
  return kept;
}

}  // namespace taso::cost
