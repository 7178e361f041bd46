#include "rules/language/canonical.h"

#include <algorithm>
#include <map>

#include "rules/language/rule_size.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/rules/random_rule.h"

namespace taso::test {

using namespace rules;

namespace {

std::string form(const std::string& text) { return canonical_text(parse_rule(text)); }

TermPtr renamed(const TermPtr& term, std::map<std::string, std::string>& names) {
  Term result = *term;
  if (term->kind == Term::Kind::variable) result.name = names.at(term->name);
  for (TermPtr& operand : result.operands) operand = renamed(operand, names);
  return std::make_shared<const Term>(std::move(result));
}

PatternPtr renamed(const Pattern& pattern, std::map<std::string, std::string>& names) {
  auto result = std::make_shared<Pattern>(pattern);
  if (pattern.is_input()) result->input = names.at(pattern.input);
  for (auto& [name, term] : result->attributes) term = renamed(term, names);
  for (PatternPtr& operand : result->operands) operand = renamed(*operand, names);
  return result;
}

void collect(const Term& term, std::map<std::string, std::string>& names) {
  if (term.kind == Term::Kind::variable) names[term.name];
  for (const TermPtr& operand : term.operands) collect(*operand, names);
}

void collect(const Pattern& pattern, std::map<std::string, std::string>& names) {
  if (pattern.is_input()) names[pattern.input];
  for (const auto& [name, term] : pattern.attributes) collect(*term, names);
  for (const PatternPtr& operand : pattern.operands) collect(*operand, names);
}

// The same rule with other names and its conditions in another order.
Rule disguised(const Rule& rule, Random& random) {
  std::map<std::string, std::string> names;
  for (const PatternPtr& pattern : rule.source) collect(*pattern, names);
  for (const PatternPtr& pattern : rule.target) collect(*pattern, names);
  std::vector<std::string> fresh{"x", "y", "z", "w", "v", "u", "a", "b", "c", "k", "q", "long_name", "_", "B"};
  REQUIRE(names.size() <= fresh.size());
  random.shuffle(fresh);
  for (auto& [name, other] : names) {
    other = fresh.back();
    fresh.pop_back();
  }
  Rule result = rule;
  for (PatternPtr& pattern : result.source) pattern = renamed(*pattern, names);
  for (PatternPtr& pattern : result.target) pattern = renamed(*pattern, names);
  for (Condition& condition : result.conditions) {
    if (condition.left) condition.left = renamed(condition.left, names);
    if (condition.right) condition.right = renamed(condition.right, names);
    for (std::string& input : condition.inputs) input = names.at(input);
  }
  random.shuffle(result.conditions);
  if (rule.kind == Rule::Kind::axiom && random.chance(0.5)) std::swap(result.source, result.target);
  return result;
}

TEST_CASE("the canonical form renames, sorts and drops defaults") {
  CHECK(form("rule a\n  conv[strides=1, pads=0, groups=q](b, a) => conv[groups=q](b, a)\n"
             "  where 3 > q, q = q, 2 * q * 3 = dim(b, 1), dim(b, 1) = q * 6") ==
        "conv[groups=a](x, y) => conv[groups=a](x, y) where a * 6 = dim(x, 1), a <= 2");
  CHECK(form("candidate a\n  add(q, p) => add(p, q) where broadcast(q, p)") ==
        "add(x, y) => add(y, x) where broadcast(x, y)");
  // An axiom is the same read from right to left; the smaller text comes first.
  CHECK(form("axiom a\n  relu(relu(y)) = relu(y)") == "relu(relu(x)) = relu(x)");
  CHECK(form("axiom a\n  relu(y) = relu(relu(y))") == "relu(relu(x)) = relu(x)");
  // A list determines the length, so it stays.
  CHECK(form("axiom a\n  conv[strides=[1, 1]](b, a) = b") == "conv[strides=[1, 1]](x, y) = x");
  CHECK(form("axiom a\n  conv[strides=2](b, a) = b") == "conv[strides=2](x, y) = x");
  CHECK(form("axiom a\n  leaky_relu[alpha=0.01](reduce_sum[axes=r, keep=true](x)) = x") ==
        "leaky_relu(reduce_sum[axes=a](x)) = x");
}

TEST_CASE("equality up to renaming") {
  const auto equal = [](const char* a, const char* b, ResultOrder order = ResultOrder::kept) {
    return equal_up_to_renaming(parse_rule(a), parse_rule(b), order);
  };
  CHECK(equal("rule a\n add(x, y) => add(y, x)", "candidate b\n add(p, q) => add(q, p)"));
  CHECK(!equal("rule a\n add(x, y) => add(y, x)", "rule b\n add(p, q) => add(p, q)"));
  CHECK(!equal("rule a\n add(x, y) => add(y, x)", "axiom b\n add(p, q) = add(q, p)"));
  CHECK(!equal("rule a\n add(x, y) => add(y, x)", "rule b\n add(p, q) => add(q, p) where rank(p) = 2"));
  CHECK(!equal("rule a\n relu(x), tanh(y) => relu(x), tanh(y)", "rule a\n tanh(y), relu(x) => tanh(y), relu(x)"));
  CHECK(equal("rule a\n relu(x), tanh(y) => relu(x), tanh(y)", "rule a\n tanh(y), relu(x) => tanh(y), relu(x)",
              ResultOrder::any));
  CHECK(!equal("rule a\n relu(x), tanh(y) => relu(x), tanh(y)", "rule a\n tanh(y), relu(x) => relu(x), tanh(y)",
               ResultOrder::any));
}

TEST_CASE("random rules keep their hash under other names") {
  test::RandomRule rules(3);
  std::map<std::string, std::string> seen;
  for (int i = 0; i < 2000; ++i) {
    const Rule rule = rules.make();
    const std::string text = canonical_text(rule);
    INFO(print(rule));
    CHECK(canonical_text(canonical(rule)) == text);
    Rule other = disguised(rule, rules.random());
    INFO(print(other));
    REQUIRE(canonical_text(other) == text);
    REQUIRE(content_hash(other) == content_hash(rule));
    REQUIRE(generated_name(other) == generated_name(rule));
    REQUIRE(is_rule_name(generated_name(rule)));
    REQUIRE(is_generated_name(generated_name(rule)));
    std::vector<std::size_t> order(rule.source.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    rules.random().shuffle(order);
    const Rule before = other;
    for (std::size_t k = 0; k < order.size(); ++k) {
      other.source[k] = before.source[order[k]];
      other.target[k] = before.target[order[k]];
    }
    REQUIRE(equal_up_to_renaming(rule, other, ResultOrder::any));
    // The canonical form is a rule like any other.
    Rule named = canonical(rule);
    named.name = generated_name(rule);
    REQUIRE(parse_rule(print(named)).same_statement(named));
    // Different statements, different hashes.
    const auto [place, added] = seen.insert({content_hash(rule), text});
    REQUIRE(place->second == text);
  }
}

TEST_CASE("hashes are the same on every machine") {
  CHECK(hash_of_text("") == "e3b0c44298fc1c149afbf4c8996fb924");
  CHECK(hash_of_text("abc") == "ba7816bf8f01cfea414140de5dae2223");
  CHECK(hash_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") == "248d6a61d20638b8e5c026930c3e6039");
  CHECK(hash_of_text(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67");
  const Rule rule =
      parse_rule("rule a\n matmul(p, q), matmul(p, r) => split[axis=1, at=dim(q, 1)](matmul(p, concat[axis=1](q, r)))");
  CHECK(canonical_text(rule) ==
        "matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))");
  CHECK(generated_name(rule).starts_with("matmul-to-split-matmul-concat-"));
  CHECK(!is_generated_name("transposed-back"));
  CHECK(!is_generated_name("by-hand-0123456789"));
  CHECK(!is_generated_name("conv-to-conv-012345678"));
  CHECK(!is_generated_name("conv-to-conv-012345678g"));
  CHECK(is_generated_name("conv-to-conv-0123456789"));
}

TEST_CASE("required attributes stay, even if they equal the default") {
  CHECK(form("candidate c\n first(split[axis=0, at=n](x)) => slice[axis=0, begin=0, end=n](x)") ==
        "first(split[at=a](x)) => slice[begin=0, end=a](x)");
  CHECK(parse_rule("candidate c\n  " +
                   form("candidate c\n relu(slice[begin=0, end=1](x)) => slice[begin=0, end=1](relu(x))"))
            .source.size() == 1);
}

TEST_CASE("the size of a rule is that of its larger side") {
  const auto size = [](const char* text) { return rules::size_of(parse_rule(text)); };
  CHECK(size("candidate c\n  x => x\n") == 0);
  CHECK(size("candidate c\n  relu(relu(x)) => relu(x)\n") == 2);
  CHECK(size("candidate c\n  relu(x) => relu(relu(x))\n") == 2);
  CHECK(size("candidate c\n  add(relu(x), relu(x)) => relu(add(x, x))\n") == 3);
  CHECK(size("candidate c\n  matmul(x, y), matmul(x, z)\n"
             "    => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))\n") == 3);
  CHECK(size("candidate c\n  concat(first(split[at=1](x)), second(split[at=1](x))) => x\n") == 3);
  CHECK(size("candidate c\n  split[at=1](relu(x)) => relu(first(split[at=1](x))), relu(second(split[at=1](x)))\n") ==
        4);
}

}  // namespace
TEST_CASE("the members of a law equal rules written by hand") {
  const auto law = expanded(
      parse_rule("axiom f-of-pad for f in keeps_zero\n  f(pad[before=b, after=c](x)) = pad[before=b, after=c](f(x))"));
  const Rule by_hand = parse_rule(
      "axiom l\n  leaky_relu[alpha=t](pad[before=b, after=c](x)) = pad[before=b, after=c](leaky_relu[alpha=t](x))");
  const auto same = [&](const Rule& rule) { return content_hash(rule) == content_hash(by_hand); };
  CHECK(std::count_if(law.begin(), law.end(), same) == 1);
  const Rule f = parse_rule("axiom f-a for f in unary\n  f(relu(x)) = relu(f(x))");
  const Rule g = parse_rule("axiom g-a for g in unary\n  relu(g(y)) = g(relu(y))");
  const Rule h = parse_rule("axiom g-a for g in rising\n  relu(g(y)) = g(relu(y))");
  CHECK(content_hash(f) == content_hash(g));
  CHECK(content_hash(f) != content_hash(h));
  const Rule forth = parse_rule("rule a\n  relu(relu(x)) <=> relu(x)"),
             back = parse_rule("rule a\n  relu(x) <=> relu(relu(x))");
  CHECK(content_hash(forth) == content_hash(back));
  CHECK(content_hash(forth) != content_hash(expanded(forth)[0]));
}

}  // namespace taso::test
