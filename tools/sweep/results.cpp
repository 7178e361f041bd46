#include "tools/sweep/results.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "search/program/extract.h"
#include "search/rewriting/rewrite.h"
#include "tests/search/agreement.h"

namespace taso::sweep {
namespace {

using search::Match;
using search::Program;
using search::ProgramHash;
using search::RewriteRule;

/// A program to which rules are applied and which returns to its first state.
class Workshop {
 public:
  explicit Workshop(const Graph& source) : program_(store_, source), extractor_(program_, source) {}

  using Logs = std::vector<Program::Log>;
  /// Calls `found` for the program after each possible application of a rule, in the state that the logs lead to.
  void each(const Logs& state, const RewriteRule& rule, const std::function<void(const Program::Log&)>& found) {
    for (const Program::Log& log : state) program_.redo(log);
    std::vector<Match> matches;
    for (const search::ComputationId root : program_.computations())
      search::find_matches(program_, rule, root, [&](Match match) { matches.push_back(std::move(match)); });
    for (const Match& match : matches) {
      Program::Log log;
      if (!search::rewrite(program_, match, log)) continue;
      found(log);
      program_.undo(log);
    }
    for (auto log = state.rbegin(); log != state.rend(); ++log) program_.undo(*log);
  }
  ProgramHash hash() const { return program_.hash(); }
  Graph graph() { return extractor_.graph(); }

 private:
  search::Store store_;
  Program program_;
  search::Extractor extractor_;
};

struct State {
  Workshop::Logs logs;
  SweepResult result;
  cost::Cost price = 0;
};

}  // namespace

std::string SweepResult::rule_names() const {
  std::vector<std::string> names;
  for (const RewriteRule* rule : rules) names.push_back(rule->name());
  return fmt::format("{}", fmt::join(names, " + "));
}

std::vector<SweepResult> results_of(const Graph& source, const std::vector<RuleGroup>& groups,
                                    const ResultLimits& limits, const std::function<cost::Cost(const Graph&)>& price) {
  Workshop workshop(source);
  std::unordered_set<ProgramHash, search::HashProgramHash> seen{workshop.hash()};
  std::vector<SweepResult> all;
  std::vector<State> now(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) now[i].result.group = i;
  for (std::size_t step = 0; step < limits.longest && !now.empty(); ++step) {
    std::vector<State> next;
    for (const State& state : now)
      for (const auto& rule : groups[state.result.group].compiled) {
        if (all.size() == limits.most) return all;
        workshop.each(state.logs, *rule, [&](const Program::Log& log) {
          if (all.size() == limits.most || !seen.insert(workshop.hash()).second) return;
          State made = state;
          made.logs.push_back(log);
          made.result.rules.push_back(rule.get());
          made.result.graph = workshop.graph();
          made.price = price(made.result.graph);
          all.push_back(made.result);
          next.push_back(std::move(made));
        });
      }
    std::stable_sort(next.begin(), next.end(), [](const State& a, const State& b) { return a.price < b.price; });
    now = std::move(next);
  }
  return all;
}

Checker::Verdict Checker::check(const SweepOperator& one, const SweepResult& result) {
  const SweepOperator small = one.small();
  const auto [place, is_new] = known_.emplace(fmt::format("{}: {} {}", small.name(), result.group, result.rule_names()),
                                              Verdict::not_applicable);
  if (!is_new) return place->second;
  const Graph source = small.open_graph();
  Workshop workshop(source);
  constexpr std::size_t most = 4;  // results of one sequence of rules, at different places
  std::vector<Workshop::Logs> states{{}};
  std::vector<Graph> graphs;
  for (std::size_t i = 0; i < result.rules.size(); ++i) {
    std::vector<Workshop::Logs> next;
    for (const Workshop::Logs& state : states)
      workshop.each(state, *result.rules[i], [&](const Program::Log& log) {
        if (next.size() == most) return;
        next.push_back(state);
        next.back().push_back(log);
        if (i + 1 == result.rules.size()) graphs.push_back(workshop.graph());
      });
    states = std::move(next);
  }
  constexpr std::uint64_t seed = 1;
  for (const Graph& graph : graphs)
    place->second = place->second == Verdict::different || test::compare(source, graph, seed).wrong()
                        ? Verdict::different
                        : Verdict::equal;
  return place->second;
}

}  // namespace taso::sweep
