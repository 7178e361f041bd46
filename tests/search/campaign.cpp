#include "tests/search/campaign.h"

#include <fmt/format.h>

#include "ops/text/graph_text.h"
#include "search/program/extract.h"
#include "search/rewriting/rewrite.h"
#include "tests/search/reduce.h"

namespace taso::test {

using namespace search;

namespace {

/// Obvious flaws in the numbers of the steps; the verifier checks whether the steps are right.
std::string flaw_of(const Graph& graph, const SearchResult& result) {
  rules::ValueNumber next = 0;
  for (const ops::Node* node : graph.nodes()) next += node->outputs().size();
  cost::Cost cost = result.cost_before;
  for (const rules::RewriteStep& step : result.steps) {
    for (const auto& [name, value] : step.inputs)
      if (value >= next) return "an input of " + step.rule + " does not exist";
    for (const rules::ValueNumber value : step.replaced)
      if (value >= next) return step.rule + " replaces a value that does not exist";
    for (const rules::RewriteStep::Made& made : step.made)
      for (const rules::ValueNumber value : made.results) {
        if (value > next) return "a value that " + step.rule + " makes does not have the next number";
        next = std::max(next, value + 1);
      }
    for (const auto& [value, other] : step.merged)
      if (value >= next || other >= next || value == other) return "a wrong merge in " + step.rule;
    if (step.cost_before != cost) return "costs that do not follow one another";
    cost = step.cost_after;
  }
  return cost == result.cost_after ? "" : "costs that do not lead to the last one";
}

}  // namespace

Campaign::Campaign(std::vector<rules::Rule> rules, CampaignOptions options)
    : options_(std::move(options)), graphs_(std::move(rules)), compiled_(compile(graphs_.rules())) {
  by_kind_.resize(all_operators().size());
  for (std::size_t i = 0; i < compiled_.size(); ++i) {
    by_name_[compiled_[i]->name()].push_back(i);
    by_kind_[compiled_[i]->nodes()[compiled_[i]->roots()[0]].kind].push_back(compiled_[i].get());
  }
  if (options_.prices == nullptr) options_.prices = &roofline_;
}

bool Campaign::is_wrong(const Graph& before, const Graph& after, std::uint64_t seed, std::string* difference) {
  const Agreement agreement = compare(before, after, seed);
  tally_.no_number += agreement.real == Agreement::Kind::no_number;
  tally_.unlike_field += agreement.field == Agreement::Kind::differs && agreement.real != Agreement::Kind::differs;
  if (difference != nullptr) *difference = agreement.difference;
  return agreement.wrong();
}

bool Campaign::goes_wrong(const Graph& graph, const RewriteRule& rule, std::uint64_t seed) {
  Store store;
  Program program(store, graph);
  Extractor extractor(program, graph);
  std::vector<Match> matches;
  for (const ComputationId root : program.computations())
    find_matches(program, rule, root, [&](Match match) { matches.push_back(std::move(match)); });
  for (const Match& match : matches) {
    Program::Log log;
    if (!rewrite(program, match, log)) continue;
    const bool wrong = compare(graph, extractor.graph(), seed).wrong();
    program.undo(log);
    if (wrong) return true;
  }
  return false;
}

bool Campaign::goes_wrong(const Graph& graph, const std::vector<rules::Rule>& rules, std::uint64_t seed) {
  const SearchResult result = search::search(graph, rules, *options_.prices, options_.search);
  return compare(graph, result.graph, seed).wrong();
}

std::string Campaign::told(const Graph& graph, const RewriteRule& rule, std::uint64_t seed, const std::string& what) {
  const Graph small = reduce(graph, [&](const Graph& smaller) { return goes_wrong(smaller, rule, seed); });
  rules::Rule written = rule.rule();
  written.kind = rules::Rule::Kind::rule;
  return fmt::format("seed {}: {}, after\n{}reduced from {} nodes to\n{}", seed, what, rules::print(written),
                     graph.nodes().size(), ops::text_of(small));
}

std::string Campaign::force(std::size_t which, std::uint64_t seed) {
  const std::string& name = graphs_.rules()[which].name;
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return {};
  bool applied = false;
  for (std::size_t attempt = 0; attempt < options_.attempts && !applied; ++attempt) {
    const auto graph = graphs_.plant(which, seed, attempt, attempt % 3 == 2 ? 1 : 0);
    if (!graph) continue;
    tally_.planted.insert(name);
    ++tally_.graphs;
    for (const std::size_t place : found->second) {
      const RewriteRule& rule = *compiled_[place];
      Store store;
      Program program(store, *graph);
      Extractor extractor(program, *graph);
      std::vector<Match> matches;
      for (const ComputationId root : program.computations())
        find_matches(program, rule, root, [&](Match match) { matches.push_back(std::move(match)); });
      if (!matches.empty()) tally_.matched.insert(name);
      const ProgramHash before = program.hash();
      for (const Match& match : matches) {
        Program::Log log;
        if (!rewrite(program, match, log)) continue;
        applied = true;
        ++tally_.rewrites;
        tally_.applied.insert(name);
        std::string difference;
        if (is_wrong(*graph, extractor.graph(), seed, &difference)) return told(*graph, rule, seed, difference);
        program.undo(log);
        if (program.hash() != before)
          return fmt::format("seed {}: {} is not undone\n{}", seed, name, ops::text_of(*graph));
      }
    }
  }
  return {};
}

std::string Campaign::walk(std::uint64_t seed) {
  const Graph graph = graphs_.make(seed, options_.makeup);
  ++tally_.graphs;
  try {
    return walk(graph, seed);
  } catch (const std::exception& error) {
    return fmt::format("seed {}: {}\n{}", seed, error.what(), ops::text_of(graph));
  }
}

std::string Campaign::walk(const Graph& graph, std::uint64_t seed) {
  Random random(seed);
  Store store;
  Program program(store, graph);
  Extractor extractor(program, graph);
  const ProgramHash first = program.hash();
  const Graph start = extractor.graph();
  Graph here = start;
  std::vector<Program::Log> logs;
  for (std::size_t step = 0; step < options_.walk; ++step) {
    std::vector<std::vector<Match>> matches;  // by rule, so that rules that match everywhere do not dominate
    std::map<const RewriteRule*, std::size_t> places;
    for (const ComputationId root : program.computations()) {
      if (store[root].op == nullptr) continue;
      for (const RewriteRule* rule : by_kind_[store[root].kind()])
        find_matches(program, *rule, root, [&](Match match) {
          const auto [place, fresh] = places.emplace(rule, matches.size());
          if (fresh) matches.emplace_back();
          if (matches[place->second].size() < 20) matches[place->second].push_back(std::move(match));
          tally_.matched.insert(rule->name());
        });
    }
    random.shuffle(matches);
    // Rules that were never applied come first.
    std::stable_partition(matches.begin(), matches.end(), [&](const std::vector<Match>& list) {
      return !tally_.applied.contains(list[0].rule->name());
    });
    bool moved = false;
    for (std::size_t i = 0; i < matches.size() && !moved; ++i) {
      const Match& match = random.pick(matches[i]);
      Program::Log log;
      if (!rewrite(program, match, log)) continue;
      moved = true;
      ++tally_.rewrites;
      tally_.applied.insert(match.rule->name());
      Graph next = extractor.graph();
      std::string difference;
      if (is_wrong(here, next, seed, &difference)) {
        if (goes_wrong(here, *match.rule, seed)) return told(here, *match.rule, seed, difference);
        return fmt::format("seed {}: {} after {}, in a walk only\n{}became\n{}", seed, difference, match.rule->name(),
                           ops::text_of(here), ops::text_of(next));
      }
      logs.push_back(std::move(log));
      here = std::move(next);
    }
    if (!moved) break;
  }
  for (auto log = logs.rbegin(); log != logs.rend(); ++log) program.undo(*log);
  if (program.hash() != first || extractor.graph().outputs != start.outputs)
    return fmt::format("seed {}: a walk is not undone\n{}", seed, ops::text_of(graph));
  for (const Program::Log& log : logs) program.redo(log);
  if (extractor.graph().outputs != here.outputs)
    return fmt::format("seed {}: a walk is not gone again\n{}", seed, ops::text_of(graph));
  return {};
}

std::string Campaign::search(std::uint64_t seed) {
  const Graph graph = graphs_.make(seed, options_.makeup);
  ++tally_.graphs;
  try {
    return search(graph, seed);
  } catch (const std::exception& error) {
    return fmt::format("seed {}: {}\n{}", seed, error.what(), ops::text_of(graph));
  }
}

std::string Campaign::search(const Graph& graph, std::uint64_t seed) {
  const SearchResult result = search::search(graph, graphs_.rules(), *options_.prices, options_.search);
  ++tally_.searches;
  tally_.changed += !result.steps.empty();
  tally_.steps += result.steps.size();
  for (const rules::RewriteStep& step : result.steps) tally_.in_results.insert(step.rule);
  if (result.cost_after > result.cost_before)
    return fmt::format("seed {}: cost {} became {}\n{}", seed, result.cost_before, result.cost_after,
                       ops::text_of(graph));
  if (const auto& time = options_.search.time_of_run) {
    const bool is_told =
        result.run_before == time(graph, result.layout) && result.run_after == time(result.graph, result.layout);
    const bool is_longer = result.run_after.concurrent > result.run_before.concurrent ||
                           result.run_after.sequential > result.run_before.sequential;
    const auto told = [](const RunTime& one) {
      return fmt::format("{} ({} sequential)", one.concurrent, one.sequential);
    };
    if (!is_told || is_longer)
      return fmt::format("seed {}: {} became {} as it runs, which is {} and {}\n{}", seed, told(result.run_before),
                         told(result.run_after), told(time(graph, result.layout)),
                         told(time(result.graph, result.layout)), ops::text_of(graph));
  }
  if (const std::string flaw = flaw_of(graph, result); !flaw.empty())
    return fmt::format("seed {}: {}\n{}", seed, flaw, ops::text_of(graph));
  std::string difference;
  if (!is_wrong(graph, result.graph, seed, &difference)) return {};
  std::set<std::string> names;
  for (const rules::RewriteStep& step : result.steps) names.insert(step.rule);
  std::vector<rules::Rule> rules = graphs_.rules();
  std::vector<rules::Rule> of_steps = rules;
  std::erase_if(of_steps, [&](const rules::Rule& rule) { return !names.contains(rule.name); });
  if (goes_wrong(graph, of_steps, seed)) rules = std::move(of_steps);
  rules = reduce(std::move(rules), [&](const auto& fewer) { return goes_wrong(graph, fewer, seed); });
  const Graph small = reduce(graph, [&](const Graph& smaller) { return goes_wrong(smaller, rules, seed); });
  // Most likely it fails without a search.
  for (const rules::Rule& rule : rules)
    for (const std::size_t place : by_name_.at(rule.name))
      if (goes_wrong(small, *compiled_[place], seed)) return told(small, *compiled_[place], seed, difference);
  std::string text = fmt::format("seed {}: {}, after a search by\n", seed, difference);
  for (const rules::Rule& rule : rules) text += rules::print(rule);
  return text + fmt::format("reduced from {} nodes to\n{}", graph.nodes().size(), ops::text_of(small));
}

std::vector<std::string> Campaign::missing() const {
  std::vector<std::string> names;
  for (const rules::Rule& rule : graphs_.rules())
    if (!tally_.applied.contains(rule.name) && by_name_.contains(rule.name)) names.push_back(rule.name);
  return names;
}

std::string Campaign::summary() const {
  return fmt::format(
      "{} graphs, {} rewrites, {} searches of which {} changed the graph, in {} steps\n"
      "of {} rules {} can be looked for, {} were planted, {} matched, {} applied, {} part of a result\n"
      "{} comparisons without numbers in float64, {} that differ over the field alone\n",
      tally_.graphs, tally_.rewrites, tally_.searches, tally_.changed, tally_.steps, rules(), by_name_.size(),
      tally_.planted.size(), tally_.matched.size(), tally_.applied.size(), tally_.in_results.size(), tally_.no_number,
      tally_.unlike_field);
}

}  // namespace taso::test
