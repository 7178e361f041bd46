// Laws for classes of operators: one proof for all members, and a proof that each member belongs to its class.
#include "verifier/membership.h"

#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace verifier;

namespace {

Membership membership(std::string_view of, std::string_view op) {
  return {rules::class_named(of), rules::signature_of(op), "it"};
}

rules::RuleFile shipped() {
  return rules::parse_rules(Source::read((source_folder() / "rules/properties.rules").string()));
}

}  // namespace

TEST_CASE("every operator that laws are stated for is proved to belong to its class") {
  const std::vector<rules::Rule> laws = shipped().laws();
  const std::vector<Membership> all = memberships(laws);
  CHECK(all.size() >= 40);
  for (const Membership& one : all) {
    const PropertyVerdict verdict = validate(one);
    INFO(one.name << ": " << verdict.obstacle << verdict.counterexample);
    CHECK(verdict.holds_for_all_shapes());
  }
}

TEST_CASE("a wrong membership is refused") {
  const Membership wrong[] = {
      membership("keeps_zero", "sigmoid"), membership("keeps_zero", "exp"),
      membership("keeps_zero", "clip"),  // only if 0 lies between its bounds
      membership("keeps_zero", "pow"),     membership("rising", "hard_swish"),
      membership("rising", "gelu"),        membership("rising", "leaky_relu"),
      membership("rising", "sqrt"),  // √max(-1, 4) is defined, max(√-1, √4) is not
      membership("linear", "mul"),         membership("linear", "max"),
      membership("linear", "div"),         membership("total", "sqrt"),
      membership("total", "div"),
  };
  for (const Membership& one : wrong) {
    const PropertyVerdict verdict = validate(one);
    INFO(one.member->name << " " << one.of->name);
    CHECK_FALSE(verdict.counterexample.empty());
    CHECK_FALSE(verdict.is_valid());
  }
  for (const char* op : {"softmax", "reduce_max", "transpose", "local_response_norm"}) {
    const PropertyVerdict verdict = validate(membership("unary", op));
    INFO(op);
    CHECK(verdict.instances > 0);
    CHECK_FALSE(verdict.holds_for_all_shapes());
    CHECK_FALSE(verdict.is_valid());
  }
}

TEST_CASE("one proof covers a class") {
  std::size_t once = 0;
  for (const rules::Rule& law : shipped().laws()) {
    if (!is_proved_once(law)) continue;
    const PropertyVerdict verdict = validate(law, {.random_shapes = 30});
    INFO(law.name << ": " << verdict.obstacle << verdict.counterexample);
    CHECK(verdict.is_proved_once);
    CHECK(verdict.holds_for_all_shapes());
    CHECK(verdict.instances == rules::all_instances(rules::expanded(law).front()).made.size());
    ++once;
  }
  CHECK(once >= 30);
}

TEST_CASE("a false law for a class is refuted by a member") {
  const auto verdict_of = [](const char* text) { return validate(rules::parse_rule(text)); };
  const PropertyVerdict pad =
      verdict_of("axiom f-of-pad for f in unary\n  f(pad[before=b, after=c](x)) = pad[before=b, after=c](f(x))");
  CHECK(pad.counterexample.find("-of-pad:") != std::string::npos);
  const PropertyVerdict pool = verdict_of(
      "axiom f-of-max-pool for f in keeps_zero\n"
      "  f(max_pool[kernel=k, strides=s, pads=p](x)) = max_pool[kernel=k, strides=s, pads=p](f(x))");
  CHECK_FALSE(pool.counterexample.empty());
  const PropertyVerdict twice = verdict_of("axiom f-twice for f in unary\n  f(f(x)) = f(x)");
  CHECK_FALSE(twice.counterexample.empty());
  CHECK_FALSE(verdict_of("axiom g-a for g in binary\n  g(x, y) = g(y, x)\n  where broadcast(x, y)").is_valid());
}

TEST_CASE("a law that holds for members only by chance is not proved for their class") {
  // All existing linear functions have the same value at equal operands, up to the sign; a x + b y has not.
  const PropertyVerdict verdict =
      validate(rules::parse_rule("axiom g-a for g in linear\n  mul(g(x, x), g(x, x)) = mul(g(x, x), add(x, x))\n"));
  CHECK(verdict.counterexample.empty());
  CHECK_FALSE(verdict.holds_for_all_shapes());
}

TEST_CASE("laws that used to be missing for some members hold") {
  const rules::Properties properties(shipped().rules());
  const char* const rules_by_properties[] = {
      "tanh(pad[before=b, after=c](x)) => pad[before=b, after=c](tanh(x))",
      "pad[before=b, after=c](erf(x)) => erf(pad[before=b, after=c](x))",
      "sqrt(pad[before=b, after=c](x)) => pad[before=b, after=c](sqrt(x))",
      "min(pad[before=b, after=c](x), pad[before=b, after=c](y)) => pad[before=b, after=c](min(x, y))\n"
      "  where shape(x) = shape(y)",
      "erf(max_pool[kernel=k, strides=s, pads=p](x)) => max_pool[kernel=k, strides=s, pads=p](erf(x))",
      "erf(reduce_max[axes=r, keep=k](x)) => reduce_max[axes=r, keep=k](erf(x))",
      "exp(max(x, y)) => max(exp(x), exp(y))",
      "relu(tanh(x)) => tanh(relu(x))",
      "relu(erf(x)) => erf(relu(x))",
      "conv[strides=t](gelu(conv[pads=p](x, w)), v) => conv(gelu(conv[strides=t, pads=p](x, w)), v)\n"
      "  where spatial(v) = [1, 1]",
      "erf(conv[pads=p](x, identity_kernel[channels=dim(x, 1), kernel=k]))\n"
      "    => conv[pads=p](erf(x), identity_kernel[channels=dim(x, 1), kernel=k])",
      "div(concat[axis=a](x, z), b) => concat[axis=a](div(x, b), div(z, b))\n"
      "  where shape(b) = replaced(shape(x), a, 1)",
  };
  for (const char* text : rules_by_properties) {
    const RuleVerdict verdict = verify(rules::parse_rule(std::string("candidate a\n  ") + text), properties);
    INFO(text << ": " << verdict.reason);
    CHECK(verdict.kind == RuleVerdict::Kind::proved);
    CHECK(verdict.by_properties == verdict.instances);
  }
}

}  // namespace taso::test
