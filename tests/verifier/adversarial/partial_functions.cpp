#include "tests/verifier/adversarial/partial_functions.h"

#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/core/random.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"

namespace taso::test {
namespace {

/// "u" and "v" replaced by terms.
std::string with(const std::string& pattern, const std::string& u, const std::string& v) {
  std::string text;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool alone =
        (i == 0 || !is_letter(pattern[i - 1])) && (i + 1 == pattern.size() || !is_letter(pattern[i + 1]));
    if (alone && pattern[i] == 'u')
      text += u;
    else if (alone && pattern[i] == 'v')
      text += v;
    else
      text += pattern[i];
  }
  return text;
}

// Each is undefined at some u and v.
const std::vector<std::string> partial_terms{
    "div(u, v)",
    "div(v, u)",
    "div(u, u)",
    "sqrt(u)",
    "sqrt(v)",
    "sqrt(sub(u, v))",
    "sqrt(mul(u, v))",
    "sqrt(sub(u, exp(v)))",
    "sqrt(tanh(u))",
    "sqrt(min(u, v))",
    "sqrt(leaky_relu[alpha=0.5](u))",
    "pow(u, v)",
    "pow(v, u)",
    "pow(sub(u, u), v)",
    "pow(tanh(u), v)",
    "div(exp(u), sub(u, v))",
    "div(u, sub(v, v))",
    "div(u, relu(v))",
    "div(u, mul(u, v))",
    "div(u, add(u, v))",
    "div(u, sqrt(v))",
    "div(exp(u), sqrt(relu(v)))",
    "div(u, tanh(v))",
    "div(u, erf(v))",
    "div(u, max(u, v))",
    "div(v, clip[low=-1, high=1](u))",
    "div(u, hard_swish(v))",
    "div(u, gelu(v))",
    "div(u, leaky_relu[alpha=0.25](v))",
    "div(exp(v), sub(exp(u), exp(v)))",
    "div(div(u, v), exp(u))",
    "div(exp(u), div(v, exp(u)))",
    "sigmoid(div(u, v))",
    "exp(sqrt(u))",
    "relu(div(exp(u), v))",
    "tanh(pow(u, v))",
};

// Zero wherever the term t is defined, and undefined elsewhere.
std::string nothing_of(std::size_t form, const std::string& t, const std::string& u) {
  switch (form) {
    case 0: return fmt::format("sub({0}, {0})", t);
    case 1: return fmt::format("mul({0}, sub({1}, {1}))", t, u);
    case 2: return fmt::format("mul(sub({1}, {1}), {0})", t, u);
    case 3: return fmt::format("sub(add({1}, {0}), add({0}, {1}))", t, u);
    case 4: return fmt::format("sub(relu({0}), relu({0}))", t);
    case 5: return fmt::format("sub(max({0}, {1}), max({0}, {1}))", t, u);
    case 6: return fmt::format("sub(mul({0}, {1}), mul({1}, {0}))", t, u);
    case 7: return fmt::format("tanh(sub({0}, {0}))", t);
    default: return fmt::format("add(sub({0}, {0}), mul(sub({1}, {1}), {0}))", t, u);
  }
}
constexpr std::size_t nothings = 9;

// Sources of the shape of x, defined everywhere, that bind x and y.
const std::vector<std::string> sources{
    "add(x, y)",
    "mul(x, y)",
    "sub(x, y)",
    "max(x, y)",
    "min(y, x)",
    "add(relu(x), y)",
    "mul(tanh(x), y)",
    "add(exp(x), y)",
    "sigmoid(add(x, y))",
    "sub(gelu(x), y)",
    "relu(mul(x, y))",
    "mul(x, mul(y, x))",
    "add(x, add(y, x))",
    "erf(sub(x, tanh(y)))",
    "max(relu(x), exp(y))",
};

struct Sides {
  std::string source, target, where;
};

/// Inserts a term that adds zero somewhere in the target.
Sides with_nothing(Random& random, const std::string& source, const std::string& nothing) {
  switch (random.below(8)) {
    case 0: return {source, fmt::format("add({}, {})", source, nothing), ""};
    case 1: return {source, fmt::format("sub({}, {})", source, nothing), ""};
    case 2: return {source, fmt::format("add({}, {})", nothing, source), ""};
    case 3: return {fmt::format("relu({})", source), fmt::format("relu(add({}, {}))", source, nothing), ""};
    case 4: return {fmt::format("exp({})", source), fmt::format("exp(sub({}, {}))", source, nothing), ""};
    case 5:
      return {fmt::format("concat[axis=0]({0}, {0})", source),
              fmt::format("concat[axis=0](add({0}, {1}), {0})", source, nothing), ""};
    case 6:
      return {fmt::format("transpose[permutation=p]({})", source),
              fmt::format("add(transpose[permutation=p]({}), transpose[permutation=p]({}))", source, nothing), ""};
    default:
      return {fmt::format("reduce_sum[axes=[0]]({})", source),
              fmt::format("add(reduce_sum[axes=[0]]({}), reduce_sum[axes=[0]]({}))", source, nothing), ""};
  }
}

TemptingRule nothing_rule(Random& random) {
  const bool exchanged = random.chance(0.5);
  const std::string u = exchanged ? "y" : "x", v = exchanged ? "x" : "y";
  const std::string term = with(random.pick(partial_terms), u, v);
  const Sides sides = with_nothing(random, random.pick(sources), nothing_of(random.below(nothings), term, u));
  return {"adds nothing", sides.source + " => " + sides.target + sides.where};
}

/// A term that is defined somewhere: a source that is never defined makes every rule true.
std::string source_term(Random& random, const std::string& u, const std::string& v) {
  while (true)
    if (const std::string& term = random.pick(partial_terms); term != "div(u, sub(v, v))") return with(term, u, v);
}

/// Zero taps and zero weights read elements that were not read before.
TemptingRule widened_rule(Random& random) {
  const std::string term = source_term(random, "x", "y");
  switch (random.below(3)) {
    case 0: {
      const std::int64_t more = random.between(1, 3);
      const std::string groups = random.chance(0.5) ? "" : "groups=g, ";
      const std::string function = random.chance(0.5) ? "relu" : "tanh";
      return {"enlarged kernels",
              fmt::format("{3}(conv[strides=s, {2}dilations=d, pads=p]({0}, w)) => {3}(conv[strides=s, {2}dilations=d, "
                          "pads=p + {1} * (d ++ d)]({0}, enlarge[kernel=spatial(w) + {4}](w)))",
                          term, more, groups, function, 2 * more)};
    }
    case 1:
      return {"rows cut off later",
              fmt::format("{1}(reduce_sum[axes=[0]](slice[axis=0, begin=0, end={2}]({0}))) => "
                          "{1}(sub(reduce_sum[axes=[0]]({0}), reduce_sum[axes=[0]](slice[axis=0, begin={2}, end=dim(x, "
                          "0)]({0}))))\n  where shape(x) = shape(y), dim(x, 0) > {2}",
                          term, random.pick(std::vector<std::string>{"relu", "exp", "tanh", "gelu", "erf", "sigmoid"}),
                          random.between(1, 9))};
    default:
      return {"zero weights",
              fmt::format("{1}(add(mul(x, y), matmul(x, w))) => {1}(add(mul(x, y), matmul(add(x, "
                          "mul({0}, sub(x, x))), w)))\n  where rank(x) = {2}",
                          term, random.pick(std::vector<std::string>{"relu", "exp", "tanh", "gelu", "erf", "sigmoid"}),
                          random.between(2, 4))};
  }
}

/// The source has its own partial functions, and the target one more, or at more places.
TemptingRule partial_source_rule(Random& random) {
  const std::string in_source = source_term(random, "x", "exp(y)");
  const std::string in_target = with(random.pick(partial_terms), "sub(y, z)", "tanh(z)");
  const Sides sides = with_nothing(random, fmt::format("add(add({}, y), z)", in_source),
                                   nothing_of(random.below(nothings), in_target, "z"));
  return {"one more of many", sides.source + " => " + sides.target + sides.where};
}

/// With data movement around the partial function.
TemptingRule moved_rule(Random& random) {
  const std::string term = with(random.pick(partial_terms), "x", "y");
  const std::string nothing = nothing_of(random.below(nothings), term, "x");
  const std::string& source = random.pick(sources);
  switch (random.below(4)) {
    case 0:
      return {"moved", fmt::format("slice[axis=a, begin=b, end=e]({0}) => add(slice[axis=a, begin=b, end=e]({0}), "
                                   "slice[axis=a, begin=b, end=e]({1}))",
                                   source, nothing)};
    case 1:
      return {"moved", fmt::format("reshape[shape=t]({0}) => add(reshape[shape=t]({0}), reshape[shape=t]({1}))", source,
                                   nothing)};
    case 2:
      return {"moved", fmt::format("concat[axis=a]({0}, z) => concat[axis=a](add({0}, {1}), z)", source, nothing)};
    default:
      return {"moved", fmt::format("split[axis=a, at=n]({0}) => split[axis=a, at=n](add({0}, {1}))", source, nothing)};
  }
}

}  // namespace

std::vector<TemptingRule> partial_function_rules(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::set<std::string> seen;
  std::vector<TemptingRule> rules;
  for (std::size_t attempt = 0; rules.size() < count && attempt < 50 * count; ++attempt) {
    TemptingRule rule;
    switch (random.below(8)) {
      case 0: rule = widened_rule(random); break;
      case 1: rule = partial_source_rule(random); break;
      case 2:
      case 3: rule = moved_rule(random); break;
      default: rule = nothing_rule(random); break;
    }
    rule.text = fmt::format("candidate tempting-{}\n  {}\n", rules.size(), rule.text);
    try {
      if (seen.insert(rules::content_hash(rules::parse_rule(rule.text))).second) rules.push_back(std::move(rule));
    } catch (const InputError&) {
      // The source does not bind an input that the target needs.
    }
  }
  return rules;
}

}  // namespace taso::test
