#include "generator/generate.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "generator/decision_text.h"
#include "generator/family_findings.h"
#include "generator/selection/abstraction.h"
#include "generator/selection/law_name.h"
#include "generator/selection/prune.h"
#include "generator/selection/rule_writer.h"
#include "ops/cluster/bytes.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_size.h"

namespace taso::generator {
namespace {

/// An equality as a rule, and again with stated ranks where these may matter.
struct Written {
  rules::Rule rule;
  std::optional<rules::Rule> ranked;
};

struct Candidate {
  std::size_t size = 0;       ///< see size_of()
  std::size_t operators = 0;  ///< in both sides, as trees
  std::size_t inputs = 0;
  std::string text;  ///< canonical
  Written law;
  /// If one side concatenates two results: the rule that computes both by one operator and a split.
  std::optional<Written> merging;
};

std::optional<Written> written(const Equality& equality, const Family& family) {
  auto rule = write_rule(equality, family);
  if (!rule) return std::nullopt;
  Written result{std::move(*rule), std::nullopt};
  if (!meets_literal_axes(equality, family)) return result;
  auto ranked = write_rule(equality, family, Ranks::stated);
  if (ranked && ranked->conditions.size() > result.rule.conditions.size()) result.ranked = std::move(ranked);
  return result;
}

std::size_t tree_size(const Equality& equality) {
  std::size_t size = 0;
  for (const auto* side : {&equality.left, &equality.right})
    for (const SmallTerm& term : *side) size += tree_size(term);
  return size;
}

/// The subterm rooted at a node.
SmallTerm part_of(const SmallTerm& term, std::uint8_t root) {
  std::vector<bool> needed(term.nodes.size(), false);
  needed[root] = true;
  for (std::size_t i = root + std::size_t{1}; i-- > 0;)
    if (needed[i])
      for (const std::uint8_t operand : term.nodes[i].operands) needed[operand] = true;
  SmallTerm part;
  std::vector<std::uint8_t> places(term.nodes.size(), 0);
  for (std::size_t i = 0; i <= root; ++i) {
    if (!needed[i]) continue;
    places[i] = static_cast<std::uint8_t>(part.nodes.size());
    part.nodes.push_back(term.nodes[i]);
    for (std::uint8_t& operand : part.nodes.back().operands) operand = places[operand];
  }
  return part;
}

/// "concat(a, b) = t" says that a and b are the parts of t. If one operator does the work of two, this deserves a rule
/// of its own, because a graph need not contain the concat.
std::optional<Equality> merge_rule_of(const Equality& equality, const Family& family) {
  if (equality.left.size() != 1) return std::nullopt;
  for (const bool turned : {false, true}) {
    const SmallTerm &joined = (turned ? equality.right : equality.left)[0],
                    &whole = (turned ? equality.left : equality.right)[0];
    const SmallTerm::Node &root = joined.nodes.back(), &other = whole.nodes.back();
    if (root.schema == SmallTerm::Node::input || other.schema == root.schema) continue;
    const auto* concat = std::get_if<op::Concat>(&family.schemas[root.schema].op);
    if (!concat || other.schema == SmallTerm::Node::input) continue;
    for (std::size_t s = 0; s < family.schemas.size(); ++s) {
      const auto* split = std::get_if<op::Split>(&family.schemas[s].op);
      if (!split || split->axis != concat->axis) continue;
      Equality result;
      for (const std::uint8_t output : {std::uint8_t{0}, std::uint8_t{1}}) {
        result.left.push_back(part_of(joined, root.operands[output]));
        SmallTerm part = whole;
        part.nodes.push_back(
            {static_cast<std::uint16_t>(s), output, {static_cast<std::uint8_t>(whole.nodes.size() - 1)}, 0});
        result.right.push_back(std::move(part));
      }
      return result;
    }
  }
  return std::nullopt;
}

rules::Rule turned_round(const rules::Rule& rule) {
  rules::Rule result = rule;
  std::swap(result.source, result.target);
  return result;
}
Written turned_round(const Written& written) {
  return {turned_round(written.rule), written.ranked ? std::optional(turned_round(*written.ranked)) : std::nullopt};
}

/// Whether the source binds all inputs and variables of the target, and is more than an input.
bool may_be_source(const rules::Rule& rule) {
  std::set<std::string> bound, needed;
  const std::function<void(const rules::Term&, std::set<std::string>&)> names = [&](const rules::Term& term,
                                                                                    std::set<std::string>& to) {
    if (term.kind == rules::Term::Kind::variable) to.insert(term.name);
    for (const rules::TermPtr& operand : term.operands) names(*operand, to);
  };
  const std::function<void(const rules::Pattern&, bool)> look = [&](const rules::Pattern& pattern, bool source) {
    if (pattern.is_input()) {
      (source ? bound : needed).insert(pattern.input);
      return;
    }
    for (const auto& [field, term] : pattern.attributes) {
      if (source && term->kind == rules::Term::Kind::variable) bound.insert(term->name);
      names(*term, needed);
    }
    for (const rules::PatternPtr& operand : pattern.operands) look(*operand, source);
  };
  for (const rules::PatternPtr& pattern : rule.source) look(*pattern, true);
  for (const rules::PatternPtr& pattern : rule.target) look(*pattern, false);
  const bool is_bare = std::all_of(rule.source.begin(), rule.source.end(), [](const auto& p) { return p->is_input(); });
  return !is_bare && std::includes(bound.begin(), bound.end(), needed.begin(), needed.end());
}

class Generator {
 public:
  explicit Generator(const GenerateOptions& options)
      : options_(options), ranks_(options.ranks ? *options.ranks : alone_) {}

  GenerateReport run() {
    find_candidates();
    prove_what_is_new();
    if (ranks_.is_first()) {
      write_rules();
      if (options_.selects) name_laws(report_.rules);
      std::sort(report_.rules.begin(), report_.rules.end(),
                [](const rules::Rule& a, const rules::Rule& b) { return a.name < b.name; });
    }
    report_.complete = !over_ && !options_.stop.stop_requested();
    return std::move(report_);
  }

 private:
  void say(const std::string& phase, std::size_t done, std::size_t total) {
    if (!options_.watch) return;
    GenerateProgress progress{phase, done, total, accepted_.size(), derived_};
    progress.refuted = report_.refuted.size();
    progress.unknown = report_.unknown.size();
    progress.values = values_here_;
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
      find_candidates(family, Contents::field, options_.max_operators);
      if (needs_order(family))
        find_candidates(family, Contents::integers, std::min(options_.max_operators, most_operators_in_order));
    }
    // The smallest first, and among these the most general: what follows from them need not be proved.
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      // Among equal candidates, prefer one that merges.
      const auto merging = [](const Candidate& one) {
        return one.merging ? rules::canonical_text(one.merging->rule) : "~";
      };
      const auto key = [](const Candidate& one, const Candidate& other) {
        return std::tie(one.size, one.operators, other.inputs, one.text);
      };
      if (key(a, b) != key(b, a)) return key(a, b) < key(b, a);
      return merging(a) < merging(b);
    });
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end(),
                                  [](const Candidate& a, const Candidate& b) { return a.text == b.text; }),
                      candidates_.end());
    report_.distinct = candidates_.size();
    if (options_.selects) drop_coincidences();
    over_ = any(ranks_, options_.stop.stop_requested());
    if (!over_) begin_proofs();
  }

  void begin_proofs() {
    std::string texts;
    for (const Candidate& candidate : candidates_) texts += candidate.text + "\n";
    const std::string hash = rules::hash_of_text(texts);
    for (const std::string& other : ranks_.gather(hash))
      if (other != hash)
        throw EnvironmentError("the ranks found different candidates: do all run the same program and files?");
    if (options_.begin) options_.begin(hash);
  }

  /// Laws that are not worth a rule must not make others redundant, so they go before anything is decided. A law larger
  /// than the enumerated programs exists only because a result is used twice.
  void drop_coincidences() {
    std::erase_if(candidates_, [&](const Candidate& candidate) {
      const rules::Rule& law = candidate.law.rule;
      return candidate.size > options_.max_operators || is_coincidence(law) || only_permutes_inputs(law);
    });
    report_.general = candidates_.size();
    for (rules::Rule& rule : commutativity_axioms()) {
      known_.add(std::move(rule));
      ++known_before_;
    }
  }

  void find_candidates(const Family& family, Contents contents, std::size_t operators) {
    const std::string name = family.name + (contents == Contents::integers ? " in order" : "");
    EnumerateOptions enumerate_options;
    enumerate_options.max_operators = operators;
    enumerate_options.seed = options_.seed;
    enumerate_options.contents = contents;
    enumerate_options.memory_limit = options_.memory_limit;
    enumerate_options.jobs = options_.jobs;
    enumerate_options.ranks = options_.ranks;
    enumerate_options.stop = options_.stop;
    enumerate_options.watch = [&](std::size_t level, std::size_t values) {
      values_here_ = values;
      say("enumerating " + name, level, operators);
    };
    SelectOptions select_options;
    select_options.seed = options_.seed;
    select_options.contents = contents;
    select_options.jobs = options_.jobs;
    select_options.ranks = options_.ranks;
    select_options.stop = options_.stop;
    select_options.watch = [&](std::size_t done, std::size_t total) { say("pruning " + name, done, total); };
    const FamilyFindings findings = find_in(family, enumerate_options, select_options, options_.stages, name);
    report_.families.push_back(findings.report);
    values_here_ = 0;
    report_.equalities += findings.report.equalities;
    report_.renamed += findings.renamed;
    report_.confirmed += findings.equalities.size() + findings.following;
    report_.not_following += findings.equalities.size();
    add_candidates(family, findings.equalities);
  }

  void add_candidates(const Family& family, const std::vector<Equality>& equalities) {
    const SampleInputs world(family, false, options_.seed);
    std::vector<std::optional<Candidate>> found(equalities.size());
    std::vector<std::uint8_t> own(equalities.size());
    parallel_for(options_.jobs, equalities.size(), options_.stop, [&](std::size_t i) {
      const Equality& equality = equalities[i];
      own[i] = !has_common_subgraph(equality, world);
      if (!own[i]) return;
      if (auto law = written(equality, family)) {
        const std::size_t size = rules::size_of(law->rule), inputs = law->rule.inputs().size();
        Candidate candidate{size, tree_size(equality), inputs, {}, std::move(*law), {}};
        if (!may_be_source(candidate.law.rule)) candidate.law = turned_round(candidate.law);
        if (const auto merging = merge_rule_of(equality, family)) candidate.merging = written(*merging, family);
        candidate.text = rules::canonical_text(candidate.law.rule);
        found[i] = std::move(candidate);
      }
    });
    report_.without_common_subgraph += static_cast<std::size_t>(std::count(own.begin(), own.end(), 1));
    for (auto& candidate : found)
      if (candidate) candidates_.push_back(std::move(*candidate));
  }

  /// Works in batches, so that the result does not depend on the number of jobs and ranks: what a batch proves is used
  /// from the next batch on, and afterwards each batch is checked again, in order, against its own results.
  void prove_what_is_new() {
    constexpr std::size_t batch = 64;
    for (std::size_t begin = 0; begin < candidates_.size() && !over_;) {
      // A batch holds candidates of one size only; small ones come first.
      std::size_t end = begin;
      while (end < candidates_.size() && end - begin < batch && candidates_[end].size == candidates_[begin].size &&
             candidates_[end].operators == candidates_[begin].operators)
        ++end;
      std::vector<Decision> decisions = decisions_on(std::span(candidates_).subspan(begin, end - begin));
      if (over_) break;  // an interrupted batch decides nothing
      const std::size_t known = known_.size();
      for (std::size_t i = begin; i < end; ++i) {
        auto& decision = decisions[i - begin];
        const rules::Rule& rule = decision.proved.empty() ? candidates_[i].law.rule : decision.proved.front();
        if (decision.derived || (known_.size() > known && is_derivable(rule, known_)))
          ++derived_;
        else
          accept(candidates_[i].law.rule, std::move(decision));
      }
      if (end == candidates_.size() || candidates_[end].size != candidates_[begin].size) drop_special_cases();
      begin = end;
      say("proving", begin, candidates_.size());
    }
    report_.not_derived = candidates_.size() - derived_;
  }

  /// Decides a batch on all ranks. The first rank recalls and remembers.
  std::vector<Decision> decisions_on(std::span<const Candidate> batch) {
    std::vector<Decision> decisions(batch.size());
    const std::vector<std::size_t> open = recall(batch, decisions);
    const Dealt dealt = deal(ranks_, options_.jobs, open.size(), options_.stop, [&](std::size_t i) {
      const Candidate& candidate = batch[open[i]];
      const Decision decision = decision_on(candidate);
      if (options_.stop.stop_requested()) return std::string();
      if (options_.remember) options_.remember(candidate.text, decision);
      return text_of(decision);
    });
    over_ = !dealt.complete;
    for (std::size_t i = 0; i < open.size(); ++i) {
      // An interrupted proof says nothing.
      if (dealt.results[i].empty()) continue;
      auto decision = decision_from(dealt.results[i]);
      check(decision.has_value(), "a decision can be read again");
      const bool is_from_elsewhere = i % ranks_.size() != ranks_.rank();
      if (options_.remember && is_from_elsewhere) options_.remember(batch[open[i]].text, *decision);
      decisions[open[i]] = std::move(*decision);
    }
    return decisions;
  }

  /// Fills in the decisions of an earlier run. Returns the places of the others.
  std::vector<std::size_t> recall(std::span<const Candidate> batch, std::vector<Decision>& decisions) {
    std::string message;
    if (options_.recall)
      for (const Candidate& candidate : batch) {
        const auto known = options_.recall(candidate.text);
        put_text(message, known ? text_of(*known) : "");
      }
    message = from_first(ranks_, std::move(message));
    ByteReader reader(message);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto known = reader.is_at_end() ? std::nullopt : decision_from(reader.get_text());
      if (known)
        decisions[i] = std::move(*known);
      else
        open.push_back(i);
    }
    return open;
  }

  Decision decision_on(const Candidate& candidate) const {
    Decision decision;
    decision.derived = is_derivable(candidate.law.rule, known_);
    return decision.derived ? decision : decide(candidate);
  }

  Decision decide(const Candidate& candidate) const {
    Decision decision = prove(candidate.law, true);
    // With its added condition, the law may follow from others.
    if (!decision.proved.empty() && decision.proved.front().conditions.size() > candidate.law.rule.conditions.size())
      decision.derived = is_derivable(decision.proved.front(), known_);
    if (decision.proved.empty() || decision.derived || !candidate.merging) return decision;
    for (rules::Rule& rule : prove(*candidate.merging, false).proved) decision.proved.push_back(std::move(rule));
    return decision;
  }

  /// Proves both directions, each in the most general form that is true; the more general direction comes first. States
  /// the ranks if that takes fewer conditions.
  Decision prove(const Written& written, bool both_ways) const {
    Decision decision;
    // If both directions are the same rule, it is not written twice with different conditions.
    const bool is_symmetric = rules::canonical_text(written.rule) == rules::canonical_text(turned_round(written.rule));
    std::array<std::optional<rules::Rule>, 2> proved;
    std::vector<std::size_t> order;
    const std::vector<rules::Rule> forms = generalisations(written.rule);
    const auto is_wanted = [&](std::size_t way) { return way == 0 || (both_ways && !(is_symmetric && proved[0])); };
    for (const rules::Rule& form : forms)
      for (const std::size_t way : {std::size_t{0}, std::size_t{1}}) {
        if (proved[way] || !is_wanted(way)) continue;
        proved[way] = prove(way == 0 ? form : turned_round(form), decision.last);
        if (proved[way]) order.push_back(way);
      }
    for (const std::size_t way : {std::size_t{0}, std::size_t{1}}) {
      if (!written.ranked || !is_wanted(way)) continue;
      const auto found = [](const rules::Rule& one, const rules::Rule& before) {
        return one.conditions.size() - std::min(one.conditions.size(), before.conditions.size());
      };
      const std::size_t conditions =
          proved[way] ? found(*proved[way], written.rule) : std::numeric_limits<std::size_t>::max();
      if (conditions == 0) continue;
      ProofOutcome of_ranked;  // says nothing about the rule at all ranks
      auto ranked = prove(way == 0 ? *written.ranked : turned_round(*written.ranked), of_ranked);
      if (!ranked || found(*ranked, *written.ranked) >= conditions) continue;
      drop_needless_conditions(*ranked, 0, written.ranked->conditions.size());
      if (!proved[way]) order.push_back(way);
      proved[way] = std::move(ranked);
    }
    for (const std::size_t way : order)
      decision.proved.push_back(options_.selects ? abstracted(std::move(*proved[way])) : std::move(*proved[way]));
    return decision;
  }

  /// The most general form that is also true and still implies the given rule.
  rules::Rule abstracted(rules::Rule rule) const {
    for (rules::Rule& form : abstractions(rule)) {
      if (!may_be_source(form)) continue;
      ProofOutcome outcome = options_.prove(form);
      if (outcome.kind != ProofOutcome::Kind::proved) continue;
      form.by = std::move(outcome.by);
      drop_needless_conditions(form, 0, form.conditions.size());
      rules::Rule equation = form;
      equation.kind = rules::Rule::Kind::axiom;
      if (is_instance(rule, rules::Properties({std::move(equation)}), [](std::size_t) { return true; }))
        return std::move(form);
    }
    return rule;
  }

  std::optional<rules::Rule> prove(const rules::Rule& rule, ProofOutcome& last) const {
    if (!may_be_source(rule)) return std::nullopt;
    last = options_.prove(rule);
    if (last.kind != ProofOutcome::Kind::proved && last.kind != ProofOutcome::Kind::conditional) return std::nullopt;
    rules::Rule proved = rule;
    proved.conditions.insert(proved.conditions.end(), last.condition.begin(), last.condition.end());
    proved.by = last.by;
    if (last.condition.size() > 1) drop_needless_conditions(proved, rule.conditions.size(), proved.conditions.size());
    return proved;
  }

  /// Conditions that were found or stated together may be more than needed: tries to drop each of those from `first` to
  /// `end`.
  void drop_needless_conditions(rules::Rule& rule, std::size_t first, std::size_t end) const {
    for (std::size_t i = end; i-- > first;) {
      // A broadcast condition makes a rule more general, not less.
      if (rule.conditions[i].relation == rules::Condition::Relation::broadcast) continue;
      rules::Rule weaker = rule;
      weaker.conditions.erase(weaker.conditions.begin() + static_cast<std::ptrdiff_t>(i));
      weaker.by.clear();
      const ProofOutcome outcome = options_.prove(weaker);
      if (outcome.kind != ProofOutcome::Kind::proved) continue;
      rule = std::move(weaker);
      rule.by = outcome.by;
    }
  }

  void accept(const rules::Rule& found, Decision decision) {
    if (decision.proved.empty()) {
      auto& list = decision.last.kind == ProofOutcome::Kind::refuted ? report_.refuted : report_.unknown;
      list.push_back({found, decision.last.reason});
      return;
    }
    rules::Rule equation = decision.proved.front();
    equation.kind = rules::Rule::Kind::axiom;
    known_.add(std::move(equation));
    accepted_.push_back(std::move(decision.proved));
  }

  /// A special case may be found before its law. Drops such cases among laws of one size.
  void drop_special_cases() {
    kept_.resize(accepted_.size(), 1);
    const std::size_t first = judged_, count = accepted_.size() - first;
    judged_ = accepted_.size();
    const auto is_special = [&](std::size_t i) {
      return is_instance(accepted_[i].front(), known_, [&](std::size_t property) {
        const std::size_t other = property - known_before_;
        return property < known_before_ || (other != i && kept_[other]);
      });
    };
    const Dealt may_go = deal(ranks_, options_.jobs, count, options_.stop,
                              [&](std::size_t i) { return std::string(is_special(first + i) ? "1" : ""); });
    over_ = !may_go.complete;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i)
      if (!may_go.results[i].empty()) order.push_back(first + i);
    // If two laws imply each other, the more general one stays.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return accepted_[a].front().inputs().size() < accepted_[b].front().inputs().size();
    });
    for (const std::size_t i : order)
      if (is_special(i)) kept_[i] = 0;
  }

  void write_rules() {
    kept_.resize(accepted_.size(), 1);  // laws of an interrupted run are kept unchecked
    std::vector<Law> laws;
    for (std::size_t i = 0; i < accepted_.size(); ++i)
      if (kept_[i]) laws.push_back(std::move(accepted_[i]));
    report_.proved = laws.size();
    report_.special = accepted_.size() - report_.proved;
    if (options_.selects) {
      say("selecting", 0, laws.size());
      report_.worth = worth_of(std::move(laws), options_.stated, options_.stop);
      laws = std::exchange(report_.worth->laws, {});
    }
    for (Law& law : laws)
      for (rules::Rule& rule : law) add_rule(std::move(rule));
  }

  void add_rule(rules::Rule rule) {
    const auto name = rules::generated_name(rule);
    const std::vector<std::string> by = rule.by;
    rule = rules::canonical(rule);
    rule.kind = rules::Rule::Kind::rule;
    rule.name = name;
    rule.by = by;
    if (names_.insert(name).second) report_.rules.push_back(std::move(rule));
  }

  const GenerateOptions& options_;
  OneRank alone_;
  Communicator& ranks_;
  bool over_ = false;              ///< some rank was asked to stop, and all know
  std::uint64_t values_here_ = 0;  ///< in the family that is being enumerated
  GenerateReport report_;
  std::vector<Candidate> candidates_;
  std::vector<Law> accepted_;       ///< the proved rules of each accepted candidate
  std::vector<std::uint8_t> kept_;  ///< whether it is not a special case of another
  std::size_t judged_ = 0;          ///< how many of them were checked for that
  rules::Properties known_{{}};     ///< laws that need no rule, then the first rule of each accepted law
  std::size_t known_before_ = 0;    ///< how many need no rule
  std::set<std::string> names_;
  std::size_t derived_ = 0;
};

}  // namespace

GenerateReport generate(const GenerateOptions& options) { return Generator(options).run(); }

}  // namespace taso::generator
