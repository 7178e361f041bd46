#include "search/selection/experience.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ops/text/lexer.h"
#include "ops/text/literal.h"
#include "rules/language/canonical.h"

namespace taso::search {
namespace {

constexpr std::uint64_t highest_number = 1'000'000'000'000'000;  // sums of a few stay in range

/// The rules that saved most come first.
bool comes_before(const RuleExperience& a, const RuleExperience& b) {
  return a.saved != b.saved ? a.saved > b.saved : a.rule < b.rule;
}

class Reader {
 public:
  explicit Reader(const Source& source) : words_(source) {}

  Experience read() {
    read_version();
    Experience experience;
    while (words_.peek().kind != Token::Kind::end) {
      if (words_.accept_word("kind"))
        read_kind(experience);
      else
        read_rule(experience);
      words_.end_line("the line");
      words_.skip_empty_lines();
    }
    return experience;
  }

 private:
  void read_version() {
    words_.skip_empty_lines();
    if (!words_.accept_word("taso") || !words_.accept_word("experience"))
      words_.fail_expected("'taso experience 1' as the first line");
    const Token version = words_.peek();
    if (parse_unsigned(words_) != 1)
      words_.fail(version.range(), "this version is not known; this program reads version 1");
    words_.end_line("the version");
    words_.skip_empty_lines();
  }

  std::uint64_t number(std::string_view word) {
    if (!words_.accept_word(word)) words_.fail_expected(fmt::format("'{}' and a number", word));
    return parse_unsigned(words_, highest_number);
  }

  void read_kind(Experience& experience) {
    const Token name = words_.peek();
    const auto kind = name.text == name_of(NetworkKind::unknown) ? std::optional(NetworkKind::unknown)
                                                                 : network_kind_named(name.text);
    if (!kind) words_.fail_expected("a kind of network");
    words_.next();
    if (experience.find(*kind) != nullptr) words_.fail(name.range(), "this kind appears twice");
    words_.expect(":", "the kind");
    experience.kinds.push_back({*kind, number("searches"), {}});
    known_.clear();
  }

  void read_rule(Experience& experience) {
    if (words_.peek().kind != Token::Kind::name) words_.fail_expected("'kind', or the name of a rule");
    const Token name = words_.next_with_dashes();
    if (experience.kinds.empty()) words_.fail(name.range(), "no kind of network is named before this rule");
    RuleExperience rule;
    rule.rule = std::string(name.text);
    if (!known_.insert(rule.rule).second) words_.fail(name.range(), "this rule appears twice");
    words_.expect(":", "the rule");
    rule.steps = number("steps");
    words_.expect(",", "the steps");
    rule.searches = number("searches");
    words_.expect(",", "the searches");
    rule.saved = number("saved");
    if (!words_.accept_word("ns")) words_.fail_expected("'ns'");
    experience.kinds.back().rules.push_back(std::move(rule));
  }

  Lexer words_;
  std::unordered_set<std::string> known_;  // rules of the current kind
};

}  // namespace

void Experience::add(NetworkKind kind, const std::vector<RuleExperience>& rules) {
  auto place = std::find_if(kinds.begin(), kinds.end(), [&](const KindExperience& one) { return one.kind == kind; });
  if (place == kinds.end()) place = kinds.insert(kinds.end(), {kind, 0, {}});
  ++place->searches;
  for (const RuleExperience& rule : rules) {
    auto known = std::find_if(place->rules.begin(), place->rules.end(),
                              [&](const RuleExperience& one) { return one.rule == rule.rule; });
    if (known == place->rules.end()) known = place->rules.insert(place->rules.end(), {rule.rule, 0, 0, 0});
    known->steps += rule.steps;
    known->searches += rule.searches;
    known->saved += rule.saved;
  }
}

const KindExperience* Experience::find(NetworkKind kind) const {
  for (const KindExperience& one : kinds)
    if (one.kind == kind) return &one;
  return nullptr;
}

Experience parse_experience(const Source& source) { return Reader(source).read(); }

std::string text_of(const Experience& experience) {
  std::string text = "taso experience 1\n";
  std::vector<NetworkKind> kinds(network_kinds().begin(), network_kinds().end());
  kinds.push_back(NetworkKind::unknown);
  for (const NetworkKind kind : kinds) {
    const KindExperience* known = experience.find(kind);
    if (known == nullptr) continue;
    text += fmt::format("\nkind {}: searches {}\n", name_of(kind), known->searches);
    std::vector<RuleExperience> rules = known->rules;
    std::sort(rules.begin(), rules.end(), comes_before);
    for (const RuleExperience& rule : rules)
      text +=
          fmt::format("  {}: steps {}, searches {}, saved {} ns\n", rule.rule, rule.steps, rule.searches, rule.saved);
  }
  return text;
}

RuleChoice choose_rules(const std::vector<rules::Rule>& rules, NetworkKind kind, const Experience& experience,
                        bool were_tried) {
  RuleChoice choice;
  const auto use_all = [&](std::string reason) {
    choice.rules = rules;
    choice.reason = std::move(reason);
    return choice;
  };
  if (kind == NetworkKind::unknown) return use_all("the kind of network is unknown");
  const KindExperience* here = experience.find(kind);
  if (here == nullptr) return use_all("there is no record for this kind of network");

  std::unordered_map<std::string, RuleExperience> in_all, of_kind;
  for (const KindExperience& one : experience.kinds)
    for (const RuleExperience& rule : one.rules) {
      RuleExperience& sum = in_all.try_emplace(rule.rule, RuleExperience{rule.rule, 0, 0, 0}).first->second;
      sum.saved += rule.saved;
      if (one.kind == kind) of_kind.emplace(rule.rule, rule);
    }
  const std::size_t known = static_cast<std::size_t>(
      std::count_if(rules.begin(), rules.end(), [&](const rules::Rule& rule) { return in_all.contains(rule.name); }));
  if (were_tried && known * 2 < in_all.size())
    return use_all(fmt::format("only {1} of the {0} rules that paid off are present", in_all.size(), known));

  std::vector<std::pair<RuleExperience, const rules::Rule*>> first, second;
  std::vector<const rules::Rule*> last;
  for (const rules::Rule& rule : rules) {
    if (const auto found = of_kind.find(rule.name); found != of_kind.end())
      first.emplace_back(found->second, &rule);
    else if (const auto other = in_all.find(rule.name); other != in_all.end())
      second.emplace_back(other->second, &rule);
    else if (!were_tried || rule.by.empty())  // what taso-gen found says by what it was proved
      last.push_back(&rule);
    else
      choice.others.push_back(rule);
  }
  const auto by_savings = [](const auto& a, const auto& b) { return comes_before(a.first, b.first); };
  for (auto* list : {&first, &second}) {
    std::stable_sort(list->begin(), list->end(), by_savings);
    for (const auto& [saved, rule] : *list) choice.rules.push_back(*rule);
  }
  for (const rules::Rule* rule : last) choice.rules.push_back(*rule);
  choice.paid = first.size();
  choice.paid_elsewhere = second.size();
  choice.kept = last.size();
  return choice;
}

}  // namespace taso::search
