#include "generator/generate.h"

#include <algorithm>
#include <array>
#include <set>

#include "generator/prune.h"
#include "generator/rule_writer.h"
#include "generator/select.h"
#include "generator/workers.h"
#include "rules/canonical.h"

namespace taso {
namespace {

/// A candidate rule, as it was found and as it may be generalised.
struct Candidate {
  std::size_t operators = 0;
  std::size_t inputs = 0;
  std::string text;  ///< canonical
  Rule rule;
};

Rule turned_round(const Rule& rule) {
  Rule result = rule;
  std::swap(result.source, result.target);
  return result;
}

/// Whether the source says what all inputs and variables of the target are, and is more than an input.
bool may_be_source(const Rule& rule) {
  std::set<std::string> bound, needed;
  const std::function<void(const Term&, std::set<std::string>&)> names = [&](const Term& term,
                                                                             std::set<std::string>& to) {
    if (term.kind == Term::Kind::variable) to.insert(term.name);
    for (const TermPtr& operand : term.operands) names(*operand, to);
  };
  const std::function<void(const Pattern&, bool)> look = [&](const Pattern& pattern, bool source) {
    if (pattern.is_input()) {
      (source ? bound : needed).insert(pattern.input);
      return;
    }
    for (const auto& [field, term] : pattern.attributes) {
      if (source && term->kind == Term::Kind::variable) bound.insert(term->name);
      names(*term, needed);
    }
    for (const PatternPtr& operand : pattern.operands) look(*operand, source);
  };
  for (const PatternPtr& pattern : rule.source) look(*pattern, true);
  for (const PatternPtr& pattern : rule.target) look(*pattern, false);
  const bool is_bare = std::all_of(rule.source.begin(), rule.source.end(), [](const auto& p) { return p->is_input(); });
  return !is_bare && std::includes(bound.begin(), bound.end(), needed.begin(), needed.end());
}

class Generator {
 public:
  explicit Generator(const GenerateOptions& options) : options_(options), workers_(options.jobs) {}

  GenerateReport run() {
    find_candidates();
    prove_what_is_new();
    std::sort(report_.rules.begin(), report_.rules.end(), [](const Rule& a, const Rule& b) { return a.name < b.name; });
    report_.complete = !options_.stop.stop_requested();
    return std::move(report_);
  }

 private:
  void say(const std::string& phase, std::size_t done, std::size_t total, std::uint64_t values_here = 0) {
    if (!options_.watch) return;
    GenerateProgress progress{phase, done, total, report_.proved, derived_};
    progress.refuted = report_.refuted.size();
    progress.unknown = report_.unknown.size();
    progress.values = values_here;
    for (const FamilyReport& family : report_.families) {
      progress.values += family.values;
      progress.graphs += family.graphs;
    }
    progress.candidates = candidates_.size();
    options_.watch(progress);
  }

  void find_candidates() {
    const std::vector<Family> all = families(options_.schemas);
    for (const Family& family : all) {
      EnumerateOptions enumerate_options;
      enumerate_options.max_operators = options_.max_operators;
      enumerate_options.seed = options_.seed;
      enumerate_options.memory_limit = options_.memory_limit;
      enumerate_options.stop = options_.stop;
      enumerate_options.watch = [&](std::size_t level, std::size_t values) {
        say("enumerating " + family.name, level, options_.max_operators, values);
      };
      Enumeration enumeration = enumerate(family, enumerate_options, workers_);
      report_.families.push_back({family.name, enumeration.evaluations, enumeration.values, enumeration.equalities,
                                  enumeration.graphs, enumeration.memory});
      report_.equalities += enumeration.equalities;
      report_.renamed += enumeration.found.size();
      SelectOptions select_options;
      select_options.seed = options_.seed;
      select_options.stop = options_.stop;
      select_options.watch = [&](std::size_t done, std::size_t total) { say("pruning " + family.name, done, total); };
      const Selection selection = select(family, std::move(enumeration), select_options, workers_);
      report_.confirmed += selection.equalities.size() + selection.following;
      report_.not_following += selection.equalities.size();
      add_candidates(family, selection.equalities);
    }
    // The smallest first, and of these the most general: what follows from them need not be proved.
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::tie(a.operators, b.inputs, a.text) < std::tie(b.operators, a.inputs, b.text);
    });
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end(),
                                  [](const Candidate& a, const Candidate& b) { return a.text == b.text; }),
                      candidates_.end());
    report_.distinct = candidates_.size();
    if (!options_.begin || options_.stop.stop_requested()) return;
    std::string texts;
    for (const Candidate& candidate : candidates_) texts += candidate.text + "\n";
    options_.begin(hash_of_text(texts));
  }

  void add_candidates(const Family& family, const std::vector<Equality>& equalities) {
    const World world(family, false, options_.seed);
    std::vector<std::optional<Candidate>> found(equalities.size());
    std::vector<std::uint8_t> own(equalities.size());
    workers_.for_each(equalities.size(), options_.stop, [&](std::size_t i) {
      const Equality& equality = equalities[i];
      own[i] = !has_common_subgraph(equality, world);
      if (!own[i]) return;
      if (auto rule = write_rule(equality, family)) {
        Candidate candidate{equality.operators(), rule->inputs().size(), {}, std::move(*rule)};
        if (!may_be_source(candidate.rule)) candidate.rule = turned_round(candidate.rule);
        candidate.text = canonical_text(candidate.rule);
        found[i] = std::move(candidate);
      }
    });
    report_.without_common_subgraph += static_cast<std::size_t>(std::count(own.begin(), own.end(), 1));
    for (auto& candidate : found)
      if (candidate) candidates_.push_back(std::move(*candidate));
  }

  /// In batches, so that the result is the same at any number of jobs: what a batch finds is used from the next one on,
  /// and each batch is gone through once more, in order, with what it found itself.
  void prove_what_is_new() {
    constexpr std::size_t batch = 64;
    for (std::size_t begin = 0; begin < candidates_.size() && !options_.stop.stop_requested();) {
      // A batch holds candidates of one size only, and small ones go first.
      std::size_t end = begin;
      while (end < candidates_.size() && end - begin < batch &&
             candidates_[end].operators == candidates_[begin].operators)
        ++end;
      std::vector<Decision> decisions(end - begin);
      workers_.for_each(end - begin, options_.stop,
                        [&](std::size_t i) { decisions[i] = decision_on(candidates_[begin + i]); });
      if (options_.stop.stop_requested()) break;  // what was cut short is no decision
      const std::size_t known = known_.size();
      for (std::size_t i = begin; i < end; ++i) {
        auto& decision = decisions[i - begin];
        if (decision.derived || (known_.size() > known && is_derivable(candidates_[i].rule, known_)))
          ++derived_;
        else
          accept(candidates_[i].rule, std::move(decision));
      }
      begin = end;
      say("proving", begin, candidates_.size());
    }
    report_.not_derived = report_.distinct - derived_;
  }

  Decision decision_on(const Candidate& candidate) const {
    if (options_.recall)
      if (auto known = options_.recall(candidate.text)) return std::move(*known);
    Decision decision;
    decision.derived = is_derivable(candidate.rule, known_);
    if (!decision.derived) decision = decide(candidate.rule);
    if (options_.remember && !options_.stop.stop_requested()) options_.remember(candidate.text, decision);
    return decision;
  }

  Decision decide(const Rule& found) const {
    Decision decision;
    for (const Rule& rule : generalisations(found)) {
      for (const Rule& direction : {rule, turned_round(rule)}) {
        if (!may_be_source(direction)) continue;
        const ProofOutcome outcome = options_.prove(direction);
        if (outcome.kind == ProofOutcome::Kind::proved || outcome.kind == ProofOutcome::Kind::conditional) {
          Rule proved = direction;
          proved.conditions.insert(proved.conditions.end(), outcome.condition.begin(), outcome.condition.end());
          proved.by = outcome.by;
          decision.proved.push_back(std::move(proved));
        }
        decision.last = outcome;
      }
      if (!decision.proved.empty()) break;
    }
    return decision;
  }

  void accept(const Rule& found, Decision decision) {
    if (decision.proved.empty()) {
      auto& list = decision.last.kind == ProofOutcome::Kind::refuted ? report_.refuted : report_.unknown;
      list.push_back({found, decision.last.reason});
      return;
    }
    Rule equation = decision.proved.front();
    equation.kind = Rule::Kind::axiom;
    known_.add(std::move(equation));
    for (Rule& rule : decision.proved) add_rule(std::move(rule));
    ++report_.proved;
  }

  void add_rule(Rule rule) {
    const auto name = generated_name(rule);
    const std::vector<std::string> by = rule.by;
    rule = canonical(rule);
    rule.kind = Rule::Kind::rule;
    rule.name = name;
    rule.by = by;
    if (names_.insert(name).second) report_.rules.push_back(std::move(rule));
  }

  const GenerateOptions& options_;
  Workers workers_;
  GenerateReport report_;
  std::vector<Candidate> candidates_;
  Properties known_{{}};
  std::set<std::string> names_;
  std::size_t derived_ = 0;
};

}  // namespace

GenerateReport generate(const GenerateOptions& options) { return Generator(options).run(); }

}  // namespace taso
