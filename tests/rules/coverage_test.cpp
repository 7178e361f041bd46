// A rule is used as it was proved: compares instances made without solving equations, as for matching, with those that
// provers see.
#include "rules/instance/coverage.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ops/core/error.h"
#include "ops/core/random.h"
#include "rules/egraph/property.h"
#include "rules/instance/concrete.h"
#include "rules/instance/term_value.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace rules;

namespace {

/// Answers at random, and always the same to the same question.
class OneChoice : public Chooser {
 public:
  explicit OneChoice(std::uint64_t seed) : random_(seed) {}
  std::size_t rank(const std::string& input, std::size_t least, std::size_t greatest) override {
    // Mostly one rank for all, because otherwise little fits.
    const bool is_common = answer("common " + input, 4) > 0;
    return least + answer(is_common ? "rank" : "rank " + input, greatest + 1) % (greatest - least + 1);
  }
  std::size_t value(const std::string& variable, const ChoiceDomain& domain) override {
    return answer("value " + variable, domain.size());
  }
  std::size_t length(const std::string& variable, std::size_t least, std::size_t greatest) override {
    return least + answer("length " + variable, greatest - least + 1);
  }
  bool is_one(const std::string& input, std::size_t axis) override {
    return answer("one " + input + std::to_string(axis), 3) == 0;
  }
  bool is_non_negative(const Dim&) override { throw NoValue{}; }  // only provers distinguish cases

 private:
  std::size_t answer(const std::string& question, std::size_t count) {
    return answers_.try_emplace(question, random_.below(count)).first->second % count;
  }
  Random random_;
  std::map<std::string, std::size_t> answers_;
};

struct Both {
  Instance used, proved;
};

std::optional<Both> both(const Rule& rule, std::uint64_t seed) {
  Rule axiom = rule;
  axiom.kind = Rule::Kind::axiom;
  OneChoice chooser(seed);
  try {
    auto used = instance(axiom, chooser, {}, false);
    if (!used) return std::nullopt;
    auto proved = instance(rule, chooser, {}, true);
    if (!proved || !proved->target_fits) return std::nullopt;
    return Both{std::move(*used), std::move(*proved)};
  } catch (const NoValue&) {
    return std::nullopt;
  } catch (const Undecided&) {
    return std::nullopt;
  } catch (const InputError&) {  // a condition that is not well-formed there
    return std::nullopt;
  }
}

/// The unknowns of the proved instance, given numbers for those of the used one.
std::optional<std::vector<std::int64_t>> translated(const Both& instances, const Assignment& assignment) {
  std::map<std::string, std::int64_t> values;
  for (std::size_t i = 0; i < instances.used.unknowns.size(); ++i)
    values[instances.used.unknowns[i].name] = assignment.unknowns[i];
  // Later made-up unknowns may be made of earlier ones.
  for (std::size_t round = 0; round < instances.proved.made_up.size(); ++round)
    for (const auto& [name, dim] : instances.proved.made_up) {
      const auto names = dim.symbols();
      if (std::all_of(names.begin(), names.end(), [&](const std::string& n) { return values.contains(n); }))
        values[name] = dim.evaluate([&](std::string_view n) { return values.at(std::string(n)); });
    }
  std::vector<std::int64_t> result;
  for (const Unknown& unknown : instances.proved.unknowns) {
    if (!values.contains(unknown.name)) return std::nullopt;
    result.push_back(values[unknown.name]);
  }
  return result;
}

/// Whether both have the same operators and shapes at these numbers, and the proved instance covers them.
bool agree(const Both& instances, const Assignment& assignment) {
  const auto unknowns = translated(instances, assignment);
  if (!unknowns || !AssignmentSampler(instances.proved).admits(*unknowns)) return false;
  const Assignment there{*unknowns, assignment.reals};
  const auto used = Concretizer(instances.used).at(assignment), proved = Concretizer(instances.proved).at(there);
  if (std::holds_alternative<Misfit>(used)) return true;  // no operator takes it: too large
  if (std::holds_alternative<Misfit>(proved)) return false;
  const auto &a = std::get<ConcreteInstance>(used), &b = std::get<ConcreteInstance>(proved);
  if (a.inputs != b.inputs || a.source.size() != b.source.size() || a.target.size() != b.target.size()) return false;
  const std::function<bool(InstanceValue, InstanceValue)> same = [&](InstanceValue x, InstanceValue y) {
    const auto &left = a.nodes[x.first], &right = b.nodes[y.first];
    if (x.second != y.second || left.input != right.input || left.shapes != right.shapes) return false;
    if (left.input) return true;
    if (!(left.op == right.op) || left.operands.size() != right.operands.size()) return false;
    for (std::size_t i = 0; i < left.operands.size(); ++i)
      if (!same(left.operands[i], right.operands[i])) return false;
    return true;
  };
  for (std::size_t i = 0; i < a.source.size(); ++i)
    if (!same(a.source[i], b.source[i])) return false;
  for (std::size_t i = 0; i < a.target.size(); ++i)
    if (!same(a.target[i], b.target[i])) return false;
  return true;
}

struct Counts {
  std::size_t instances = 0, covered = 0, places = 0, wrong = 0;
  std::string first, uncovered;
};

void compare(const Rule& rule, std::uint64_t seed, std::size_t places, Counts& counts) {
  const auto found = both(rule, seed);
  if (!found) return;
  ++counts.instances;
  if (!is_covered(found->used, found->proved)) {
    counts.uncovered = print(rule) + found->used.choice;
    return;
  }
  ++counts.covered;
  for (const Assignment& assignment : AssignmentSampler(found->used).samples(places, seed)) {
    ++counts.places;
    if (agree(*found, assignment)) continue;
    if (counts.wrong++ == 0) counts.first = print(rule) + found->used.choice;
  }
}

std::vector<Rule> shipped(const std::string& name) {
  return parse_rules(Source::read((source_folder() / "rules" / name).string())).rules();
}

/// Conditions that solving transforms: products, quotients, ones, constants.
std::vector<Condition> random_conditions(const Rule& rule, Random& random) {
  const std::vector<std::string> inputs = rule.inputs();
  const auto dim = [&] {
    return call_term("dim", {variable_term(random.pick(inputs)), integer_term(random.between(0, 2))});
  };
  const auto number = [&]() -> TermPtr {
    switch (random.below(7)) {
      case 0: return integer_term(random.between(1, 4));
      case 1: return call_term("*", {dim(), dim()});
      case 2: return call_term("+", {dim(), integer_term(random.between(0, 2))});
      case 3: return call_term("/", {dim(), integer_term(random.between(1, 3))});
      case 4: return call_term("%", {dim(), integer_term(random.between(1, 3))});
      case 5: return call_term("*", {integer_term(random.between(1, 3)), dim()});
      default: return dim();
    }
  };
  std::vector<Condition> conditions;
  using Relation = Condition::Relation;
  for (std::size_t i = 1 + random.below(3); i > 0; --i) {
    const Relation relation = random.pick<Relation>(
        {Relation::equal, Relation::equal, Relation::equal, Relation::not_equal, Relation::at_most, Relation::divides});
    conditions.push_back(relation == Relation::divides
                             ? Condition{relation, integer_term(random.between(1, 4)), number(), {}}
                             : Condition{relation, dim(), number(), {}});
  }
  return conditions;
}

}  // namespace

TEST_CASE("shipped rules are used only as they were proved") {
  for (const char* file : {"taso.rules", "networks.rules", "properties.rules"}) {
    Counts counts;
    std::size_t seed = 1;
    for (const Rule& rule : shipped(file))
      for (int i = 0; i < 3; ++i) compare(rule, ++seed, 3, counts);
    INFO(file << ": " << counts.first << counts.uncovered);
    CHECK(counts.wrong == 0);
    CHECK(counts.covered == counts.instances);
    CHECK(counts.places > 20);
  }
}

TEST_CASE("with any conditions, rules are used only as they were proved") {
  const std::vector<Rule> rules = shipped("taso.rules");
  Random random(5);
  Counts counts;
  for (int i = 0; i < 3000; ++i) {
    Rule rule = random.pick(rules);
    for (Condition& condition : random_conditions(rule, random)) rule.conditions.push_back(std::move(condition));
    compare(rule, random.next(), 4, counts);
  }
  INFO(counts.first);
  CHECK(counts.wrong == 0);
  CHECK(counts.covered > 200);
  CHECK(counts.covered > counts.instances / 2);
  CHECK(counts.places > 200);
}

TEST_CASE("a rule is not used where solving assumes more than the rule says") {
  // y·z = 1 is not solved, so provers do not see that a dimension of x is 1.
  const Rule rule = parse_rule(
      "candidate narrow\n  add(x, w), mul(y, z) => add(w, x), mul(z, y)\n"
      "  where rank(x) = 1, rank(y) = 1, rank(w) = 1, dim(x, 0) = dim(y, 0) * dim(y, 0), dim(x, 0) = 1\n");
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed < 200; ++seed)
    if (const auto found = both(rule, seed)) {
      ++compared;
      if (!is_covered(found->used, found->proved)) continue;
      for (const Assignment& assignment : AssignmentSampler(found->used).samples(5, seed))
        CHECK(agree(*found, assignment));
    }
  CHECK(compared > 0);
}

TEST_CASE("lists are used only up to the proved length") {
  Rule rule = parse_rule("candidate a\n  reshape[shape=u](relu(x)) => relu(reshape[shape=u](x))\n");
  Rule axiom = rule;
  axiom.kind = Rule::Kind::axiom;
  const Property property(axiom, rule);
  const auto at = [&](std::uint32_t length) { return property.at({{2}, {{length}}, {{}}}); };
  CHECK(at(1) != nullptr);
  CHECK(at(4) != nullptr);
  CHECK(at(5) == nullptr);
}

TEST_CASE("an instance that overflows is undecided, and is not used") {
  Rule rule = parse_rule(
      "candidate a\n  reshape[shape=[n]](slice[axis=0, begin=b, end=e](relu(relu(x)))) => "
      "reshape[shape=[n]](slice[axis=0, begin=b, end=e](relu(x)))\n  where shape(x) = repeat(4 + 3000000 * b, "
      "rank(x))\n");
  const InstanceList all = all_instances(rule);
  CHECK(all.made.size() == 3);
  REQUIRE(all.undecided.size() == 1);
  CHECK(all.undecided[0].starts_with("dimension overflows (rank(x) = 4"));
  Rule axiom = rule;
  axiom.kind = Rule::Kind::axiom;
  const Property property(axiom, rule);
  CHECK(property.at({{2}, {{1}, {1}, {1}}, {{}}}) != nullptr);
  CHECK(property.at({{4}, {{1}, {1}, {1}}, {{}}}) == nullptr);
}

TEST_CASE("a name in a rule is never one that solving makes up") {
  for (const char* name : {"q1", "q2", "q"}) {
    const auto all = instances(parse_rule(std::string("candidate a\n  slice[axis=0, begin=") + name +
                                          ", end=e](x) => slice[axis=0, begin=" + name +
                                          ", end=e](x)\n  where rank(x) = 1, divides(2, dim(x, 0))\n"));
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].made_up.size() == 1);
    CHECK(is_made_up(all[0].made_up.begin()->first));
    CHECK(std::count_if(all[0].unknowns.begin(), all[0].unknowns.end(),
                        [&](const Unknown& unknown) { return unknown.name == name; }) == 1);
    CHECK(all[0].unknowns.size() == 3);
  }
}

TEST_CASE("a position in a list is decided or unknown, never guessed") {
  const auto list = [](const std::string& condition) {
    return all_instances(
        parse_rule("candidate a\n  softmax[axis=0](relu(x)) => "
                   "softmax[axis=position(shape(x), dim(x, 1))](relu(x))\n  where rank(x) = 2, " +
                   condition + "\n"));
  };
  CHECK(list("dim(x, 0) = dim(x, 1)").undecided.size() == 1);      // at both places
  CHECK(list("dim(x, 0) >= 2").undecided.size() == 1);             // it may be
  CHECK(list("dim(x, 0) = dim(x, 1) + 1").undecided.size() == 0);  // at one
  CHECK(list("dim(x, 0) = dim(x, 1) + 1").made.size() == 1);
}

}  // namespace taso::test
