// The record of which rules paid off: as text, as a choice of rules, and as shipped.
#include "search/selection/experience.h"

#include <unordered_set>

#include "cost/pricing/roofline.h"
#include "ops/core/error.h"
#include "ops/text/graph_text.h"
#include "search/selection/learn.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

constexpr auto text = R"(taso experience 1

# A comment.

kind resnet: searches 4
  gamma: steps 3, searches 2, saved 900 ns
  alpha-1a2b: steps 12, searches 4, saved 50 ns

kind bert: searches 2
  beta: steps 1, searches 1, saved 7000 ns
  alpha-1a2b: steps 1, searches 1, saved 60 ns

kind mobilenet: searches 3

kind unknown: searches 9
)";

Experience experience_of(const std::string& source) { return parse_experience(Source("<text>", source)); }

std::vector<rules::Rule> rules_named(const std::vector<std::string>& names) {
  std::vector<rules::Rule> rules;
  for (const std::string& name : names) {
    rules::Rule rule =
        rules::parse_rules(Source("<text>", "taso rules 1\n\nrule r\n  relu(relu(x)) => relu(x)\n")).rules()[0];
    rule.name = name;
    if (name.starts_with("found-")) rule.by = {"relu-of-relu"};  // as taso-gen writes it
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<std::string> names_of(const RuleChoice& choice) {
  std::vector<std::string> names;
  for (const rules::Rule& rule : choice.rules) names.push_back(rule.name);
  return names;
}

std::string complaint_about(const std::string& source) {
  try {
    experience_of(source);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("experience is read, and printed in one order") {
  const Experience experience = experience_of(text);
  REQUIRE(experience.kinds.size() == 4);
  CHECK(experience.find(NetworkKind::resnet)->searches == 4);
  CHECK(experience.find(NetworkKind::resnet)->rules[1] == RuleExperience{"alpha-1a2b", 12, 4, 50});
  CHECK(experience.find(NetworkKind::mobilenet)->rules.empty());
  CHECK(experience.find(NetworkKind::ssd) == nullptr);
  const std::string printed = search::text_of(experience);
  CHECK(search::text_of(experience_of(printed)) == printed);
  CHECK(printed.find(
            "kind mobilenet: searches 3\n\nkind bert: searches 2\n  beta: steps 1, searches 1, saved 7000 ns\n") !=
        std::string::npos);
}

TEST_CASE("searches add up") {
  Experience experience = experience_of(text);
  experience.add(NetworkKind::resnet, {{"gamma", 1, 1, 100}, {"delta", 2, 1, 5}});
  experience.add(NetworkKind::ssd, {});
  CHECK(experience.find(NetworkKind::resnet)->searches == 5);
  CHECK(experience.find(NetworkKind::resnet)->rules[0] == RuleExperience{"gamma", 4, 3, 1000});
  CHECK(experience.find(NetworkKind::resnet)->rules[2] == RuleExperience{"delta", 2, 1, 5});
  CHECK(experience.find(NetworkKind::ssd)->searches == 1);
}

TEST_CASE("errors in a record have a position") {
  const auto begins = [](const std::string& message, const std::string& expected) {
    return message.rfind(expected, 0) == 0;
  };
  CHECK(begins(complaint_about(""), "<text>:1:1: expected 'taso experience 1' as the first line"));
  CHECK(begins(complaint_about("taso rules 1\n"), "<text>:1:6: expected 'taso experience 1'"));
  CHECK(begins(complaint_about("taso experience 2\n"), "<text>:1:17: this version is not known"));
  CHECK(begins(complaint_about("taso experience 1\na: steps 1, searches 1, saved 1 ns\n"),
               "<text>:2:1: no kind of network"));
  CHECK(begins(complaint_about("taso experience 1\nkind vgg: searches 1\n"), "<text>:2:6: expected a kind of network"));
  CHECK(begins(complaint_about("taso experience 1\nkind ssd: searches 1\nkind ssd: searches 1\n"),
               "<text>:3:6: this kind"));
  const std::string kind = "taso experience 1\nkind ssd: searches 1\n";
  const std::string rule = "a: steps 1, searches 1, saved 1 ns\n";
  CHECK(begins(complaint_about(kind + rule + rule), "<text>:4:1: this rule appears twice"));
  CHECK(begins(complaint_about(kind + "a: steps 1\n"), "<text>:3:11: expected ','"));
  CHECK(begins(complaint_about(kind + "a: steps -1, searches 1, saved 1 ns\n"), "<text>:3:10:"));
  CHECK(begins(complaint_about(kind + "a: steps 99999999999999999999, searches 1, saved 1 ns\n"), "<text>:3:10:"));
  CHECK(begins(complaint_about(kind + "a: steps 1, searches 1, saved 1 ns more\n"), "<text>:3:36:"));
  CHECK(begins(complaint_about(kind + "?\n"), "<text>:3:1:"));
  CHECK(complaint_about(kind + rule).empty());
}

TEST_CASE("rules that paid off are chosen, those for the kind first") {
  const Experience experience = experience_of(text);
  const auto rules = rules_named({"found-never", "beta", "alpha-1a2b", "by-hand", "gamma"});
  const RuleChoice resnet = choose_rules(rules, NetworkKind::resnet, experience);
  CHECK(names_of(resnet) == Names{"gamma", "alpha-1a2b", "beta", "by-hand"});
  CHECK(resnet.paid == 2);
  CHECK(resnet.paid_elsewhere == 1);
  CHECK(resnet.kept == 1);
  REQUIRE(resnet.others.size() == 1);
  CHECK(resnet.others[0].name == "found-never");
  CHECK(resnet.reason.empty());
  CHECK(names_of(choose_rules(rules, NetworkKind::bert, experience)) ==
        Names{"beta", "alpha-1a2b", "gamma", "by-hand"});
  CHECK(names_of(choose_rules(rules, NetworkKind::mobilenet, experience)) ==
        Names{"beta", "gamma", "alpha-1a2b", "by-hand"});
}

TEST_CASE("all rules are used without a record") {
  const Experience experience = experience_of(text);
  const auto rules = rules_named({"found-never", "beta", "alpha-1a2b", "gamma"});
  const Names all{"found-never", "beta", "alpha-1a2b", "gamma"};
  const RuleChoice unknown = choose_rules(rules, NetworkKind::unknown, experience);
  CHECK(names_of(unknown) == all);
  CHECK(unknown.reason == "the kind of network is unknown");
  CHECK(names_of(choose_rules(rules, NetworkKind::ssd, experience)) == all);
  // Rules that were never tried are not dropped.
  const RuleChoice own = choose_rules(rules, NetworkKind::resnet, experience, false);
  CHECK(names_of(own) == Names{"gamma", "alpha-1a2b", "beta", "found-never"});
  CHECK(own.kept == 1);
  // A record of other rules does not count.
  const RuleChoice other = choose_rules(rules_named({"never", "beta", "new"}), NetworkKind::resnet, experience);
  CHECK(names_of(other) == Names{"never", "beta", "new"});
  CHECK(other.reason == "only 1 of the 3 rules that paid off are present");
}

TEST_CASE("the shipped record has shipped rules only, and every kind") {
  std::unordered_set<std::string> names;
  for (const rules::Rule& rule : shipped_rules()) names.insert(rule.name);
  const auto file = source_folder() / "rules/search.experience";
  const Experience experience = parse_experience(Source::read(file.string()));
  std::size_t rules = 0, known = 0;
  for (const NetworkKind kind : network_kinds()) {
    INFO(search::name_of(kind));
    REQUIRE(experience.find(kind) != nullptr);
    CHECK(experience.find(kind)->searches > 0);
    for (const RuleExperience& rule : experience.find(kind)->rules) {
      ++rules;
      known += names.contains(rule.rule);
    }
  }
  INFO("rules have other names since they were recorded: scripts/record-experience records them again");
  CHECK(rules > 10);
  CHECK(known * 10 >= rules * 9);
}

TEST_CASE("a rule's saving is the additional cost of the result without it") {
  // A kernel must be enlarged, which costs something, before it can be merged with another.
  const Graph graph = parse_graph(R"(graph
  input x: float32[1, 16, 14, 14]
  constant a: float32[64, 16, 1, 1]
  constant b: float32[64, 16, 3, 3]
  p = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]](x, a)
  q = relu(p)
  r = conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1]](x, b)
  s = relu(r)
  output q, s
)");
  std::vector<rules::Rule> rules = rules_of_file(source_folder() / "rules/networks.rules");
  for (rules::Rule& rule : rules_of_file(source_folder() / "tests/search/golden.rules"))
    rules.push_back(std::move(rule));
  SearchOptions options;
  options.budget = 200;
  options.alpha = 1.3;
  const Lesson lesson = learn(graph, rules, cost::Roofline(), options);
  CHECK(lesson.cost_with_these <= lesson.cost_with_all);
  CHECK(lesson.cost_with_all < lesson.cost_before);
  REQUIRE(lesson.rules.size() == 2);
  // Each alone saves nothing: both saved everything.
  for (const RuleExperience& rule : lesson.rules) {
    CHECK(rule.steps == 1);
    CHECK(rule.searches == 1);
    CHECK(rule.saved == static_cast<std::uint64_t>((lesson.cost_before - lesson.cost_with_these + 500) / 1000));
  }
  const Lesson nothing = learn(graph, rules_named({"relu-twice"}), cost::Roofline(), options);
  CHECK(nothing.rules.empty());
  CHECK(nothing.cost_with_these == nothing.cost_before);
}

}  // namespace taso::test
