#include "generator/partial/partial.h"

#include <algorithm>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "rules/language/rule_text.h"

namespace taso::generator {

namespace {

/// "2d-height": the number of axes and, unless all change, which one does.
std::string lift_name(const Lift& lift) {
  if (lift.axes == 0) return "";
  static const char* const two[] = {"height", "width"};
  static const char* const three[] = {"depth", "height", "width"};
  std::string name = fmt::format("-{}d", lift.axes);
  if (lift.axes > 1 && lift.changed.size() < lift.axes)
    name += fmt::format("-{}", (lift.axes == 2 ? two : three)[lift.changed[0]]);
  return name;
}

/// A program for a kind of operator, stated for all shapes.
struct Statement {
  Source source;
  Recipe recipe;
  Lift lift;
  bool has_bias = false;
  std::string kind;       ///< "dilated-conv-space-to-batch"
  bool is_usual = false;  ///< it assumes WrittenSource::usual_conditions

  std::string name() const { return fmt::format("{}{}{}", kind, lift_name(lift), has_bias ? "-biased" : ""); }
};

/// An operator and the program that replaces it, with what their sizes assume.
struct Target {
  WrittenSource source;
  Expression program;
  std::set<std::string> conditions;
};

rules::Rule rule_of(const Statement& statement, const Target& target) {
  std::string text =
      fmt::format("candidate {}\n  {}\n    => {}", statement.name(), target.source.result.text, target.program.text);
  if (!target.conditions.empty()) text += fmt::format("\n  where {}", fmt::join(target.conditions, ", "));
  return rules::parse_rule(text);
}

/// Nothing if the program cannot be stated for this lift. With `right`, it is corrected elsewhere.
std::optional<Target> written(const Statement& statement, const std::vector<Span>* right) {
  const Writer writer(false);
  Target target{generator::written(statement.source, statement.lift, writer, statement.has_bias), {}, {}};
  const std::optional<Expression> program =
      written(statement.recipe, statement.source, target.source, statement.lift, writer);
  if (!program) return std::nullopt;
  target.program = *program;
  target.conditions = target.source.conditions;
  if (statement.is_usual)
    target.conditions.insert(target.source.usual_conditions.begin(), target.source.usual_conditions.end());
  if (right != nullptr)
    target.program =
        corrected(statement.source, target.source, *program, *right, statement.lift, writer, target.conditions);
  target.conditions.insert(writer.conditions().begin(), writer.conditions().end());
  return target;
}

/// A program with all of its statements: for one to three axes, with and without a bias.
struct Kind {
  Mutant mutant;
  std::vector<Statement> statements;  ///< the first has the fewest axes
};

/// Decides kinds one by one, on several threads.
class Decisions {
 public:
  Decisions(const PartialOptions& options, PartialReport& report) : options_(options), report_(report) {}

  void decide(const Kind& kind) {
    if (kind.mutant.share == 1) {
      for (const Statement& statement : kind.statements) decide(statement, nullptr, 1);
      return;
    }
    if (!corrects(kind, false) && !options_.stop.stop_requested()) corrects(kind, true);
  }

 private:
  /// Finds where the program is right, and decides its statements with corrections elsewhere. False if that is not
  /// known; it is then rejected if there is nothing more to assume.
  bool corrects(const Kind& kind, bool is_usual) {
    Statement first = kind.statements.front();
    first.is_usual = is_usual;
    const std::optional<Target> target = written(first, nullptr);
    if (!target) return true;
    const rules::Rule rule = rule_of(first, *target);
    const Region region = options_.agree(rule);
    if (options_.stop.stop_requested()) return false;
    const auto right = right_along(region, 2);
    if (!region.obstacle.empty() || !right) {
      if (is_usual) reject(rule, region.obstacle.empty() ? "no region along one axis is proved" : region.obstacle);
      return false;
    }
    const double share = ordinary_share(*right, first.source);
    // A search corrects several axes one after the other.
    for (Statement statement : kind.statements) {
      statement.is_usual = is_usual;
      if (statement.lift.changed.size() == 1) decide(statement, &*right, share);
    }
    return true;
  }

  void decide(const Statement& statement, const std::vector<Span>* right, double share) {
    if (options_.stop.stop_requested()) return;
    const std::optional<Target> target = written(statement, right);
    if (!target) return;
    count(right == nullptr ? report_.everywhere : report_.partly);
    const rules::Rule rule = rule_of(statement, *target);
    if (share < options_.least_share) {
      reject(rule, fmt::format("right on {:.1f} % of the output", 100 * share));
      return;
    }
    const ProofOutcome outcome = prove(rule);
    if (outcome.kind != ProofOutcome::Kind::proved)
      reject(rule, outcome.reason, outcome.kind == ProofOutcome::Kind::refuted);
    else if (right == nullptr)
      keep(statement, rule, outcome, 1, {"Right everywhere."});
    else
      keep(statement, rule, outcome, share,
           {fmt::format("Right where {}; {:.1f} % of an image of 56, with a window of 3.",
                        text_of(*right, statement.lift), 100 * share)});
  }

  void count(std::size_t& number) {
    const std::lock_guard lock(mutex_);
    ++number;
  }

  /// With the conditions that the prover asks for.
  ProofOutcome prove(const rules::Rule& rule) const {
    ProofOutcome outcome = options_.prove(rule);
    if (outcome.kind != ProofOutcome::Kind::conditional) return outcome;
    rules::Rule stronger = rule;
    stronger.conditions.insert(stronger.conditions.end(), outcome.condition.begin(), outcome.condition.end());
    ProofOutcome again = options_.prove(stronger);
    again.condition = outcome.condition;
    return again;
  }

  void keep(const Statement& statement, rules::Rule rule, const ProofOutcome& outcome, double share,
            std::vector<std::string> comments) {
    rule.kind = rules::Rule::Kind::rule;
    rule.conditions.insert(rule.conditions.end(), outcome.condition.begin(), outcome.condition.end());
    rule.by = outcome.by;
    rule.comments = std::move(comments);
    const std::lock_guard lock(mutex_);
    report_.rules.push_back({std::move(rule), statement.kind, share, share < 1});
  }

  void reject(const rules::Rule& rule, const std::string& reason, bool is_refuted = false) {
    const std::lock_guard lock(mutex_);
    (is_refuted ? report_.refuted : report_.unknown).push_back({rule, reason});
  }

  const PartialOptions& options_;
  PartialReport& report_;
  std::mutex mutex_;
};

std::vector<Kind> all_kinds(const PartialOptions& options, PartialReport& report) {
  std::vector<Kind> kinds;
  std::set<std::string> names;
  const std::vector<Source> sources = all_sources();
  for (std::size_t i = 0; i < sources.size() && !options.stop.stop_requested(); ++i) {
    const Source& source = sources[i];
    if (options.watch) options.watch("trying programs", i, sources.size());
    PartialReport::OfSource of_source{source.name, {}};
    const bool is_convolution = source.operation == Source::Operation::convolution;
    for (const bool drops : {false, true}) {
      if (drops && !(is_convolution && source.has_fixed_kernel)) continue;
      const std::vector<Lift> lifts = lifts_of(source, drops);
      for (const Mutant& mutant :
           mutants_of(source, lifts.front(), drops, options.least_share, of_source.counts, options.stop)) {
        std::string kind = name_of(mutant.recipe, source);
        if (drops) kind += "-without-axis";
        std::string name = source.name + "-" + kind;
        for (int copy = 2; !names.insert(name).second; ++copy) name = fmt::format("{}-{}-{}", source.name, kind, copy);
        report.kinds.push_back(name);
        const bool is_wanted =
            options.kinds.empty() || std::find(options.kinds.begin(), options.kinds.end(), name) != options.kinds.end();
        if (!is_wanted) continue;
        Kind of_mutant{mutant, {}};
        for (const Lift& lift : lifts)
          for (const bool has_bias : {false, true})
            if (!has_bias || source.takes_bias())
              of_mutant.statements.push_back({source, mutant.recipe, lift, has_bias, name});
        kinds.push_back(std::move(of_mutant));
      }
    }
    report.sources.push_back(std::move(of_source));
  }
  return kinds;
}

}  // namespace

PartialReport generate_partial(const PartialOptions& options) {
  PartialReport report;
  const std::vector<Kind> kinds = all_kinds(options, report);
  std::sort(report.kinds.begin(), report.kinds.end());
  const auto is_known = [&](const std::string& kind) {
    return std::binary_search(report.kinds.begin(), report.kinds.end(), kind);
  };
  if (!std::all_of(options.kinds.begin(), options.kinds.end(), is_known)) return report;
  Decisions decisions(options, report);
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(options.jobs, static_cast<std::int64_t>(kinds.size()), options.stop, [&](std::int64_t i) {
    decisions.decide(kinds[static_cast<std::size_t>(i)]);
    const std::lock_guard lock(mutex);
    if (options.watch) options.watch("proving", ++done, kinds.size());
  });
  report.complete = !options.stop.stop_requested();
  const auto by_name = [](const auto& a, const auto& b) { return a.rule.name < b.rule.name; };
  std::sort(report.rules.begin(), report.rules.end(), by_name);
  std::sort(report.refuted.begin(), report.refuted.end(), by_name);
  std::sort(report.unknown.begin(), report.unknown.end(), by_name);
  return report;
}

}  // namespace taso::generator
