#include "rules/instance/float_class.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/core/error.h"
#include "ops/core/random.h"
#include "ops/graph/evaluate.h"
#include "ops/support/scramble.h"
#include "rules/instance/concrete.h"
#include "rules/instance/term_value.h"
#include "rules/language/signature.h"

namespace taso::rules {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return scramble(scramble(a + 0x9e3779b97f4a7c15u) ^ b); }

}  // namespace

/// The computation that led to a number, as a hash of its operations and the elements it began with. Numbers with the
/// same trace are the same to the bit.
struct Trace {
  std::uint64_t hash = 0;
  bool operator==(const Trace&) const = default;
  /// Sums and products are the same in either order.
  static Trace symmetric(std::uint64_t operation, Trace a, Trace b) {
    return {mixed(operation, mixed(std::min(a.hash, b.hash), std::max(a.hash, b.hash)))};
  }
  static Trace of(std::uint64_t operation, Trace a) { return {mixed(operation, a.hash)}; }
  static Trace of(std::uint64_t operation, Trace a, Trace b) { return {mixed(operation, mixed(a.hash, b.hash))}; }
  friend Trace operator+(Trace a, Trace b) { return symmetric(1, a, b); }
  friend Trace operator-(Trace a, Trace b) { return of(2, a, b); }
  friend Trace operator*(Trace a, Trace b) { return symmetric(3, a, b); }
};

struct TraceMath {
  static Trace constant(double value) {
    std::uint64_t bits = 0;
    static_assert(sizeof(bits) == sizeof(value));
    std::copy_n(reinterpret_cast<const unsigned char*>(&value), sizeof(bits), reinterpret_cast<unsigned char*>(&bits));
    return {mixed(20, bits)};
  }
  static Trace divide(Trace a, Trace b) { return Trace::of(4, a, b); }
  static Trace maximum(Trace a, Trace b) { return Trace::of(5, a, b); }
  static Trace minimum(Trace a, Trace b) { return Trace::of(6, a, b); }
  static Trace lowest() { return {7}; }
  static Trace exp(Trace a) { return Trace::of(8, a); }
  static Trace erf(Trace a) { return Trace::of(9, a); }
  static Trace tanh(Trace a) { return Trace::of(10, a); }
  static Trace sqrt(Trace a) { return Trace::of(11, a); }
  static Trace pow(Trace a, Trace b) { return Trace::of(12, a, b); }
  static Trace sqrt_two() { return {13}; }
};

/// The elements of inputs that a number was computed from, whatever they were multiplied by.
struct Reach {
  static constexpr std::size_t words = 8, capacity = 64 * words;
  std::array<std::uint64_t, words> elements{};
  static Reach of(std::size_t element) {
    Reach reach;
    reach.elements[element / 64] = std::uint64_t{1} << (element % 64);
    return reach;
  }
  friend Reach operator+(const Reach& a, const Reach& b) {
    Reach both;
    for (std::size_t i = 0; i < words; ++i) both.elements[i] = a.elements[i] | b.elements[i];
    return both;
  }
  friend Reach operator-(const Reach& a, const Reach& b) { return a + b; }
  friend Reach operator*(const Reach& a, const Reach& b) { return a + b; }
  bool is_within(const Reach& other) const { return (*this + other).elements == other.elements; }
};

struct ReachMath {
  static Reach constant(double) { return {}; }
  static Reach divide(const Reach& a, const Reach& b) { return a + b; }
  static Reach maximum(const Reach& a, const Reach& b) { return a + b; }
  static Reach minimum(const Reach& a, const Reach& b) { return a + b; }
  static Reach lowest() { return {}; }
  static Reach exp(const Reach& a) { return a; }
  static Reach erf(const Reach& a) { return a; }
  static Reach tanh(const Reach& a) { return a; }
  static Reach sqrt(const Reach& a) { return a; }
  static Reach pow(const Reach& a, const Reach& b) { return a + b; }
  static Reach sqrt_two() { return {}; }
};

/// A number that records magnitudes: `largest` is the largest magnitude computed since it was set.
struct Watched {
  double value = 0;
  static thread_local double largest;
  static Watched of(double value) {
    // NaN counts as too large.
    largest = std::isnan(value) ? std::numeric_limits<double>::infinity() : std::max(largest, std::abs(value));
    return {value};
  }
  friend Watched operator+(Watched a, Watched b) { return of(a.value + b.value); }
  friend Watched operator-(Watched a, Watched b) { return of(a.value - b.value); }
  friend Watched operator*(Watched a, Watched b) { return of(a.value * b.value); }
};
thread_local double Watched::largest = 0;

struct WatchedMath {
  using M = ops::Math<double>;
  static Watched constant(double value) { return {value}; }
  static Watched divide(Watched a, Watched b) { return Watched::of(a.value / b.value); }
  static Watched maximum(Watched a, Watched b) { return {M::maximum(a.value, b.value)}; }
  static Watched minimum(Watched a, Watched b) { return {M::minimum(a.value, b.value)}; }
  static Watched lowest() { return {M::lowest()}; }
  static Watched exp(Watched a) { return Watched::of(std::exp(a.value)); }
  static Watched erf(Watched a) { return Watched::of(std::erf(a.value)); }
  static Watched tanh(Watched a) { return Watched::of(std::tanh(a.value)); }
  static Watched sqrt(Watched a) { return Watched::of(std::sqrt(a.value)); }
  static Watched pow(Watched a, Watched b) { return Watched::of(std::pow(a.value, b.value)); }
  static Watched sqrt_two() { return {M::sqrt_two()}; }
};

}  // namespace taso::rules

namespace taso::ops {

template <>
struct Math<rules::Trace> : rules::TraceMath {};

template <>
struct Math<rules::Reach> : rules::ReachMath {};

template <>
struct Math<rules::Watched> : rules::WatchedMath {};

template std::vector<Tensor<rules::Trace>> evaluate(const Operator&, Tensors<rules::Trace>);
template std::vector<Tensor<rules::Reach>> evaluate(const Operator&, Tensors<rules::Reach>);
template std::vector<Tensor<rules::Watched>> evaluate(const Operator&, Tensors<rules::Watched>);

}  // namespace taso::ops

namespace taso::rules {

namespace {

/// Whether it adds up many elements: their order is up to the implementation, and may depend on the sizes.
bool adds_up(const Operator& op) { return traits_of(op).has(Trait::sums); }

/// Chooses at random: low ranks show as much as high ones, and are smaller.
class AnyChoice : public Chooser {
 public:
  explicit AnyChoice(Random& random) : random_(random) {}
  std::size_t rank(const std::string&, std::size_t least, std::size_t greatest) override {
    return between(least, greatest);
  }
  std::size_t value(const std::string&, const ChoiceDomain& domain) override { return random_.below(domain.size()); }
  std::size_t length(const std::string&, std::size_t least, std::size_t greatest) override {
    return between(least, greatest);
  }
  bool is_one(const std::string&, std::size_t) override { return random_.chance(0.3); }
  bool is_non_negative(const Dim&) override { return random_.chance(0.5); }

 private:
  std::size_t between(std::size_t low, std::size_t high) { return low + random_.below(high - low + 1); }
  Random& random_;
};

/// The values of the wanted nodes.
template <class S>
std::vector<std::vector<Tensor<S>>> values_of(const ConcreteInstance& instance, const std::vector<Tensor<S>>& inputs,
                                              const std::vector<bool>& wanted) {
  std::vector<std::vector<Tensor<S>>> values(instance.nodes.size());
  for (std::size_t i = 0; i < instance.nodes.size(); ++i) {
    const ConcreteInstance::Node& node = instance.nodes[i];
    if (!wanted[i]) continue;
    if (node.input) {
      values[i] = {inputs[*node.input]};
      continue;
    }
    std::vector<Tensor<S>> operands;
    for (const auto& [operand, output] : node.operands) operands.push_back(values[operand][output]);
    values[i] = ops::evaluate<S>(node.op, operands);
  }
  return values;
}

std::vector<bool> needed(const ConcreteInstance& instance, const std::vector<InstanceValue>& results) {
  std::vector<bool> nodes(instance.nodes.size());
  for (const InstanceValue& result : results) nodes[result.first] = true;
  for (std::size_t i = nodes.size(); i-- > 0;)
    if (nodes[i])
      for (const InstanceValue& operand : instance.nodes[i].operands) nodes[operand.first] = true;
  return nodes;
}

/// Classifies one rule by evaluating it at many points.
class Classification {
 public:
  enum class Asked { everything, exactness, overflow, early_overflow };
  /// Only what is asked is right in the result: the evaluation ends once that is known.
  explicit Classification(const Rule& rule, Asked asked = Asked::everything) : rule_(rule), asked_(asked) {}

  FloatClass run() {
    FloatClass result{true, false, false, false};
    std::size_t looked_at = 0;
    for (std::size_t attempt = 0; attempt < most_attempts && looked_at < enough && is_open(result); ++attempt) {
      try {
        AnyChoice choice(choices_);
        const auto one = instance(rule_, choice);
        if (one && look_at(*one, result)) ++looked_at;
      } catch (const Undecided&) {
        continue;  // a dimension overflows there
      }
    }
    if (looked_at < least && is_open(result)) {  // random choices rarely fit together: enumerate those that do
      const std::vector<Instance> all = instances(rule_);
      for (std::size_t i = 0; i < 4 * enough && looked_at < enough && !all.empty() && is_open(result); ++i)
        if (look_at(all[i * 7 % all.size()], result)) ++looked_at;
    }
    // A result that is the same to the bit overflows where it did before, whatever else is computed on the way.
    if (result.is_exact) result.may_overflow = result.overflows_early = false;
    return looked_at == 0 ? FloatClass{} : result;
  }

 private:
  bool is_open(const FloatClass& result) const {
    switch (asked_) {
      case Asked::everything: return true;
      case Asked::exactness: return result.is_exact;
      case Asked::overflow: return result.is_exact || !result.may_overflow;
      case Asked::early_overflow: return result.is_exact || !result.overflows_early;
    }
    return true;
  }

  static constexpr std::size_t most_attempts = 60, least = 3, enough = 8, contents_each = 24;

  /// False if no numbers were found there, or only too large ones.
  bool look_at(const Instance& one, FloatClass& result) {
    if (!one.target_fits) return false;
    const auto assignment = AssignmentSampler(one).sample(choices_, 3);
    if (!assignment) return false;
    const auto built = Concretizer(one).at(*assignment);
    const auto* fits = std::get_if<ConcreteInstance>(&built);
    if (!fits || fits->work > 20'000) return false;
    std::int64_t elements = 0;
    for (const Extents& extents : fits->inputs) elements += count(extents);
    if (elements > static_cast<std::int64_t>(Reach::capacity)) return false;
    look(*fits, result);
    return true;
  }

  void look(const ConcreteInstance& one, FloatClass& result) {
    const auto of_source = needed(one, one.source), of_target = needed(one, one.target);
    if (result.is_exact) result.is_exact = is_exact(one, of_source, of_target);
    if (asked_ == Asked::exactness) return;
    if (asked_ == Asked::everything && !result.spreads_nan) result.spreads_nan = spreads(one, of_source, of_target);
    for (std::size_t i = 0; i < contents_each; ++i) {
      if (!result.may_overflow) {
        const auto [source, target] = largest(one, of_source, of_target, i % 2 == 0 ? 30 : 4);
        result.may_overflow = std::isfinite(source) && target > source * (1 + 1e-9);
      }
      if (asked_ != Asked::overflow && result.may_overflow && !result.overflows_early) {
        const auto [source, target] = largest(one, of_source, of_target, 10);
        result.overflows_early = source < 0x1p127 && !(target < 0x1p127);
      }
    }
  }

  template <class S, class Make>
  static std::vector<Tensor<S>> inputs_of(const ConcreteInstance& one, Make&& make) {
    std::vector<Tensor<S>> inputs;
    std::size_t next = 0;
    for (const Extents& extents : one.inputs) {
      std::vector<S> data;
      for (std::int64_t i = count(extents); i > 0; --i) data.push_back(make(next++));
      inputs.emplace_back(extents, std::move(data));
    }
    return inputs;
  }

  bool is_exact(const ConcreteInstance& one, const std::vector<bool>& of_source, const std::vector<bool>& of_target) {
    const auto inputs = inputs_of<Trace>(one, [](std::size_t element) { return Trace{mixed(30, element)}; });
    const auto source = values_of<Trace>(one, inputs, of_source), target = values_of<Trace>(one, inputs, of_target);
    for (std::size_t i = 0; i < one.source.size(); ++i)
      if (source[one.source[i].first][one.source[i].second].data !=
          target[one.target[i].first][one.target[i].second].data)
        return false;
    // Operators that add up are the same only as a whole.
    const auto operands = [&](std::size_t place, const auto& values) {
      std::uint64_t hash = 0;
      for (const auto& [operand, output] : one.nodes[place].operands) {
        const Tensor<Trace>& tensor = values[operand][output];
        for (const std::int64_t extent : tensor.extents) hash = mixed(hash, static_cast<std::uint64_t>(extent));
        for (const Trace& element : tensor.data) hash = mixed(hash, element.hash);
      }
      return hash;
    };
    std::vector<std::pair<const Operator*, std::uint64_t>> known;
    for (std::size_t i = 0; i < one.nodes.size(); ++i)
      if (of_source[i] && !one.nodes[i].input && adds_up(one.nodes[i].op))
        known.emplace_back(&one.nodes[i].op, operands(i, source));
    for (std::size_t i = 0; i < one.nodes.size(); ++i) {
      if (!of_target[i] || one.nodes[i].input || !adds_up(one.nodes[i].op)) continue;
      const std::uint64_t hash = operands(i, target);
      if (std::none_of(known.begin(), known.end(),
                       [&](const auto& other) { return other.second == hash && *other.first == one.nodes[i].op; }))
        return false;
    }
    return true;
  }

  bool spreads(const ConcreteInstance& one, const std::vector<bool>& of_source, const std::vector<bool>& of_target) {
    const auto inputs = inputs_of<Reach>(one, [](std::size_t element) { return Reach::of(element); });
    const auto source = values_of<Reach>(one, inputs, of_source), target = values_of<Reach>(one, inputs, of_target);
    for (std::size_t i = 0; i < one.source.size(); ++i) {
      const auto& before = source[one.source[i].first][one.source[i].second].data;
      const auto& after = target[one.target[i].first][one.target[i].second].data;
      for (std::size_t k = 0; k < before.size(); ++k)
        if (!after[k].is_within(before[k])) return true;
    }
    return false;
  }

  struct Magnitudes {
    double source, target;
  };

  /// The largest magnitude that each side computes, with operands of magnitudes between 2^-exponent and 2^exponent.
  Magnitudes largest(const ConcreteInstance& one, const std::vector<bool>& of_source,
                     const std::vector<bool>& of_target, std::int64_t exponent) {
    std::vector<Tensor<Watched>> inputs;
    double given = 0;
    std::vector<double> sizes;  // one per input; some are equal, because magnitudes shrink where sums cancel
    for (const Extents& extents : one.inputs) {
      const bool as_another = !sizes.empty() && contents_.chance(0.4);
      sizes.push_back(as_another ? contents_.pick(sizes)
                                 : std::ldexp(1.0, static_cast<int>(contents_.between(-exponent, exponent))));
      const bool varied = contents_.chance(0.3);
      const double sign = contents_.chance(0.5) ? 1 : -1;
      const bool one_sign = contents_.chance(0.6);
      std::vector<Watched> data;
      for (std::int64_t i = count(extents); i > 0; --i) {
        double value = sizes.back() * (one_sign ? sign : contents_.chance(0.5) ? 1 : -1);
        if (varied) value = std::ldexp(value, static_cast<int>(contents_.between(-8, 0)));
        given = std::max(given, std::abs(value));
        data.push_back({value});
      }
      inputs.emplace_back(extents, std::move(data));
    }
    const auto of_side = [&](const std::vector<bool>& wanted) {
      Watched::largest = given;
      values_of<Watched>(one, inputs, wanted);
      return Watched::largest;
    };
    const double source = of_side(of_source);
    return {source, of_side(of_target)};
  }

  const Rule& rule_;
  Asked asked_;
  Random choices_{1}, contents_{2};  // separate, so that every question sees the same instances
};

/// Whether the pattern has only sums, products, maxima and movement: with operands of ordinary size it stays far from
/// float32's limit.
bool is_tame(const Pattern& pattern) {
  if (pattern.is_input()) return true;
  return has_trait(pattern.op, Trait::tame) && std::all_of(pattern.operands.begin(), pattern.operands.end(),
                                                           [](const PatternPtr& operand) { return is_tame(*operand); });
}

FloatClass classified(const Rule& rule, Classification::Asked asked) {
  try {
    return Classification(rule, asked).run();
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace

FloatClass float_class(const Rule& rule) { return classified(rule, Classification::Asked::everything); }

std::string text_of(const FloatClass& float_class) {
  std::string text = float_class.is_exact ? "exact" : "reassociates";
  if (float_class.may_overflow) text += ", may overflow";
  if (float_class.spreads_nan) text += ", spreads NaN";
  return text;
}

char digit_of(const FloatClass& float_class) {
  const int bits = (float_class.is_exact ? 1 : 0) | (float_class.may_overflow ? 2 : 0) |
                   (float_class.overflows_early ? 4 : 0) | (float_class.spreads_nan ? 8 : 0);
  return "0123456789abcdef"[bits];
}

std::optional<FloatClass> float_class_of(char digit) {
  const auto bits = std::string_view("0123456789abcdef").find(digit);
  if (bits == std::string_view::npos) return std::nullopt;
  return FloatClass{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
}

std::string_view name_of(FloatMode mode) {
  switch (mode) {
    case FloatMode::strict: return "strict";
    case FloatMode::usual: return "usual";
    case FloatMode::fast: return "fast";
  }
  return {};
}

std::optional<FloatMode> float_mode_named(std::string_view name) {
  for (const FloatMode mode : {FloatMode::strict, FloatMode::usual, FloatMode::fast})
    if (name_of(mode) == name) return mode;
  return std::nullopt;
}

bool is_admitted(const Rule& rule, FloatMode mode, bool in_float16) {
  if (mode == FloatMode::fast) return true;
  const auto all_tame =
      std::all_of(rule.target.begin(), rule.target.end(), [](const PatternPtr& pattern) { return is_tame(*pattern); });
  // Most rules need no evaluation.
  if (mode == FloatMode::usual && !in_float16 && all_tame) return true;
  using Asked = Classification::Asked;
  if (mode == FloatMode::strict) return is_admitted(classified(rule, Asked::exactness), mode, in_float16);
  return is_admitted(classified(rule, in_float16 ? Asked::overflow : Asked::early_overflow), mode, in_float16);
}

bool is_admitted(const FloatClass& float_class, FloatMode mode, bool in_float16) {
  if (mode == FloatMode::fast) return true;
  // Equal computations on equal elements spread to no other results.
  if (mode == FloatMode::strict) return float_class.is_exact;
  return !(in_float16 ? float_class.may_overflow : float_class.overflows_early);
}

}  // namespace taso::rules
