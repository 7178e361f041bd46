#include "cli/opt/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/interrupt.h"
#include "cli/console/progress_line.h"
#include "cli/console/table.h"
#include "cli/opt/search_rounds.h"
#include "cli/opt/selection.h"
#include "cost/plan/plan.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "ops/support/threads.h"
#include "runtime/gpu/execution.h"
#include "runtime/pricing/figures.h"
#include "search/exact/bound.h"
#include "search/exact/saturation.h"
#include "search/prices.h"

namespace taso::cli {
namespace {

class Progress {
 public:
  using Time = std::optional<SearchRounds::Seconds>;
  Progress(Console& console, const OptSettings& options, const Time& time)
      : shown_(console), options_(options), time_(time) {}
  void operator()(const search::SearchProgress& now) {
    shown_.show([&] { return line(now); });
  }

 private:
  std::string line(const search::SearchProgress& now) const {
    std::string text = fmt::format("searching: {:.0f} s", shown_.seconds());
    if (time_) text += fmt::format(" of {:.0f} s", time_->count());
    const auto before = static_cast<double>(std::max<cost::Cost>(now.before, 1)), best = static_cast<double>(now.best);
    return text + fmt::format(", {} of {} graphs; best {}, {:.1f} % less", with_commas(now.expanded),
                              with_commas(options_.budget),
                              cost::text_of_cost(options_.objective, cost::in_units(options_.objective, now.best)),
                              100 * (1 - best / before));
  }

  ProgressLine shown_;
  const OptSettings& options_;
  Time time_;
};

/// Records the course of the search, without moments that add nothing.
class Course {
 public:
  explicit Course(SearchSummary& summary) : summary_(summary) {}
  void operator()(const search::SearchProgress& now) {
    const double best = cost::in_units(summary_.objective, now.best);
    std::vector<SearchSummary::Moment>& course = summary_.course;
    if (now.expanded < expanded_) earlier_ += expanded_;  // another round
    expanded_ = now.expanded;
    if (course.empty()) course.push_back({0, 0, cost::in_units(summary_.objective, now.before)});
    const SearchSummary::Moment moment{std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(),
                                       earlier_ + now.expanded, best};
    const bool is_level = course.size() > 1 && course.back().best == best && course[course.size() - 2].best == best;
    if (is_level)
      course.back() = moment;
    else
      course.push_back(moment);
    if (course.size() <= most_moments) return;
    for (std::size_t i = 1; 2 * i < course.size(); ++i) course[i] = course[2 * i];  // the first stays
    course.resize((course.size() + 1) / 2);
  }

 private:
  static constexpr std::size_t most_moments = 1000;  // even: when every second of one more is dropped, the last stays
  SearchSummary& summary_;
  std::size_t expanded_ = 0, earlier_ = 0;  // in this round, and in the rounds before
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void count_applied(const std::vector<rules::RewriteStep>& steps, SearchSummary& summary) {
  for (const rules::RewriteStep& step : steps) {
    auto found = std::find_if(summary.applied.begin(), summary.applied.end(),
                              [&](const SearchSummary::Applied& one) { return one.rule == step.rule; });
    if (found == summary.applied.end()) found = summary.applied.insert(found, {step.rule, 0, 0});
    ++found->count;
    found->saved +=
        cost::in_units(summary.objective, step.cost_before) - cost::in_units(summary.objective, step.cost_after);
  }
}

/// The model's names of the values that the steps mention; if a value has several, the first in order.
std::vector<std::pair<rules::ValueNumber, std::string>> names_of(const onnx::ImportedModel& imported,
                                                                 const std::vector<rules::RewriteStep>& steps) {
  std::unordered_map<Value, rules::ValueNumber, HashValue> numbers;
  for (const Node* node : imported.graph.nodes())
    for (std::size_t i = 0; i < node->outputs().size(); ++i) numbers.emplace(node->output(i), numbers.size());
  std::vector<bool> is_mentioned(numbers.size(), false);
  const auto mention = [&](rules::ValueNumber value) {
    if (value < is_mentioned.size()) is_mentioned[value] = true;  // others are made by steps
  };
  for (const rules::RewriteStep& step : steps) {
    for (const auto& [input, value] : step.inputs) mention(value);
    for (const rules::ValueNumber value : step.replaced) mention(value);
  }
  std::vector<const std::string*> first(numbers.size(), nullptr);
  for (const auto& [name, value] : imported.values) {
    const auto number = numbers.find(value);
    if (number == numbers.end() || !is_mentioned[number->second]) continue;
    const std::string*& known = first[number->second];
    if (known == nullptr || name < *known) known = &name;
  }
  std::vector<std::pair<rules::ValueNumber, std::string>> names;
  for (rules::ValueNumber number = 0; number < first.size(); ++number)
    if (first[number] != nullptr) names.emplace_back(number, *first[number]);
  return names;
}

/// Named dimensions that several inputs share, and those inputs: ONNX defines them as equal, and rewrites rely on it.
std::string shared_dimensions(const Graph& graph) {
  std::map<std::string, std::set<std::string>> inputs;
  for (const Value& input : graph.inputs)
    if (input.type().shape)
      for (const Dim& dim : *input.type().shape)
        for (const std::string& name : dim.symbols()) inputs[name].insert(input.node->as_input()->name);
  constexpr std::size_t most = 8;  // inputs listed for each dimension
  std::string text;
  for (const auto& [name, those] : inputs) {
    if (those.size() < 2) continue;
    std::vector<std::string> told(those.begin(),
                                  std::next(those.begin(), static_cast<std::ptrdiff_t>(std::min(those.size(), most))));
    if (those.size() > most) told.push_back(fmt::format("{} more", with_commas(those.size() - most)));
    text += fmt::format("{}{} of {}", text.empty() ? "" : "; ", name, fmt::join(told, ", "));
  }
  return text.empty() ? "" : on_one_line(text);
}

bool has_float16(const Graph& graph) {
  for (const Node* node : graph.nodes())
    for (std::size_t i = 0; i < node->outputs().size(); ++i)
      if (node->outputs()[i].element == ElementType::float16) return true;
  return false;
}

/// The rules that --float allows on a model.
struct AdmittedRules {
  std::vector<rules::Rule> rules;
  std::size_t extra = 0;  ///< how many of them, at the end, the user added
};

/// Each rule is judged by itself, so the result does not depend on the number of threads.
AdmittedRules admitted_rules(const Graph& graph, const SearchRules& given, const OptSettings& options) {
  const std::vector<rules::Rule>& rules = given.rules;
  const bool in_float16 = has_float16(graph);
  const auto is_admitted_here = [&](const rules::Rule& rule) {
    const auto known = given.float_classes.find(rule.name);
    return known == given.float_classes.end() ? rules::is_admitted(rule, options.float_mode, in_float16)
                                              : rules::is_admitted(known->second, options.float_mode, in_float16);
  };
  std::vector<char> is_in(rules.size());
  parallel_for(thread_count(options.jobs), static_cast<std::int64_t>(rules.size()), [&](std::int64_t task) {
    const auto i = static_cast<std::size_t>(task);
    is_in[i] = is_admitted_here(rules[i]) ? 1 : 0;
  });
  AdmittedRules admitted;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (is_in[i] == 0) continue;
    admitted.rules.push_back(rules[i]);
    if (i + given.extra >= rules.size()) ++admitted.extra;
  }
  return admitted;
}

/// The simulated run time of a graph; empty if another objective decides.
std::function<search::RunTime(const Graph&, cost::Layout)> time_of_run(const Graph& graph,
                                                                       const cost::DimensionSizes& sizes,
                                                                       const OptSettings& options,
                                                                       const pricing::Pricing& pricing) {
  if (options.objective != cost::Objective::time || pricing.is_for_onnxruntime()) return {};
  // The input graph is priced more than once; its time changes when more kernels are measured.
  struct Given {
    std::vector<Value> outputs;
    std::mutex guard;
    std::map<std::tuple<std::size_t, double, cost::Layout>, search::RunTime> times;
  };
  const auto given = std::make_shared<Given>();
  given->outputs = graph.outputs;
  const auto compute = [&pricing, sizes](const Graph& one, cost::Layout layout) {
    const cost::WholeGraph view(one, sizes, layout);
    const cost::RecordedPrices& prices = pricing.times();
    const gpu::Outlook outlook =
        gpu::look_ahead(view, one, cost::plan(view, prices), prices.precision(), pricing.lanes());
    return search::RunTime{outlook.cost, outlook.sequential};
  };
  return [&pricing, given, compute](const Graph& one, cost::Layout layout) {
    if (one.outputs != given->outputs) return compute(one, layout);
    const std::lock_guard lock(given->guard);
    const std::tuple key(pricing.measured(), pricing.times().caution(), layout);
    const auto found = given->times.find(key);
    return found != given->times.end() ? found->second : given->times.emplace(key, compute(one, layout)).first->second;
  };
}

/// What the applied rules say of themselves, such as where a corrected program is right by itself.
std::string what_was_applied(const SearchRules& rules, const SearchSummary& summary) {
  std::string text = "applied rules:";
  for (const SearchSummary::Applied& one : summary.applied) {
    const auto rule = std::find_if(rules.rules.begin(), rules.rules.end(),
                                   [&](const rules::Rule& known) { return known.name == one.rule; });
    text += fmt::format("\n  {}, {} time{}", one.rule, one.count, one.count == 1 ? "" : "s");
    if (rule != rules.rules.end() && !rule->comments.empty())
      text += fmt::format(": {}", fmt::join(rule->comments, " "));
  }
  return text;
}

/// How much of the predicted time corrects partly right programs; empty if nothing does.
std::string share_of_corrections(const cost::WholeGraph& view, const cost::Plan& plan) {
  const cost::Corrections corrections = cost::corrections_of(view, plan);
  if (corrections.steps.empty() || plan.cost == 0) return "";
  return fmt::format("corrections: {} of {} kernels, {:.1f} % of their time", corrections.steps.size(),
                     plan.steps.size(), 100 * static_cast<double>(corrections.cost) / static_cast<double>(plan.cost));
}

/// How far from the best the result is at most: all rules are applied everywhere to both graphs, once.
SearchSummary::Gap gap_of(const Graph& graph, const search::SearchResult& found, const RuleSelection& selection,
                          const cost::KernelPrices& prices, const search::SearchOptions& searching,
                          cost::Objective objective) {
  auto compiled = search::compile(selection.choice.rules);
  for (auto& rule : search::compile(selection.choice.others)) compiled.push_back(std::move(rule));
  std::vector<const search::RewriteRule*> rules;
  for (const auto& rule : compiled) rules.push_back(rule.get());
  search::BoundOptions bounding;
  bounding.choosing.pricing = {searching.sizes, found.layout};
  bounding.choosing.should_end = bounding.saturation.should_end = [] { return interrupted(); };
  const search::Bound bound = search::bound_of(graph, found.graph, rules, prices, bounding);
  SearchSummary::Gap gap;
  gap.cost = cost::in_units(objective, found.cost_after);
  gap.given = cost::in_units(objective, found.cost_before);
  gap.least = cost::in_units(objective, bound.least);
  gap.computations = bound.computations;
  gap.rounds = bound.saturation.rounds;
  gap.is_saturated = bound.saturation.is_saturated;
  gap.is_exact = bound.is_exact;
  gap.solved = found.counts.solved;
  gap.improved = found.counts.improved;
  gap.unsolved = found.counts.unsolved;
  gap.regions = found.gaps;
  return gap;
}

}  // namespace

void SearchSummary::give_up(const std::string& reason) {
  if (!applied.empty()) given_up = std::move(applied);
  applied.clear();
  steps.clear();
  names.clear();
  corrections.clear();
  if (gap) {  // the bound holds for the given graph too, but regions were those of the result
    gap->cost = gap->given;
    gap->regions.clear();
  }
  after = before;
  if (in_lanes) in_lanes->after = in_lanes->before;
  note = reason;
}

SearchSummary search_model(onnx::GraphEdit& edit, const SearchRules& rules,
                           const std::map<std::string, Extents>& shapes, const OptSettings& options,
                           pricing::Pricing& pricing, Console& console) {
  SearchSummary summary;
  summary.objective = options.objective;
  summary.method = name_of_search(options.search);
  summary.max_growth = options.max_growth;
  summary.rules = rules.rules.size();
  summary.rules_hash = rules.hash;
  const std::shared_ptr<const onnx::ImportedModel> shared = edit.imported();  // the state before the result is written
  const onnx::ImportedModel& imported = *shared;
  std::unordered_set<Value, HashValue> named;
  for (const auto& [name, value] : imported.values) named.insert(value);
  const AdmittedRules admitted = admitted_rules(imported.graph, rules, options);
  summary.float_mode = options.float_mode;
  summary.not_admitted = rules.rules.size() - admitted.rules.size();
  const RuleSelection selection = select_rules(imported.graph, admitted.rules, admitted.extra, options, console);
  summary.architecture = selection.architecture;
  summary.all_rules = selection.choice.reason;
  summary.chosen = selection.choice.rules.size();
  summary.selection = explain(selection);
  summary.selected = list_of(selection);
  if (!options.explain) {  // else the story of the model comes first
    console.say(Console::Level::detail, summary.selection);
    if (!summary.selected.empty()) console.say(Console::Level::detail, summary.selected);
  }
  search::SearchOptions searching;
  searching.alpha = options.alpha;
  searching.budget = options.budget;
  searching.jobs = thread_count(options.jobs);
  searching.sizes = pricing::sizes_from(imported.graph, shapes);
  searching.time_of_run = time_of_run(imported.graph, searching.sizes, options, pricing);
  searching.keeps_way = pricing.gpu() != nullptr && pricing.measures();
  if (options.objective == cost::Objective::time) searching.price_of_weight_byte = search::price_of_weight_byte;
  searching.most_growth = options.max_growth / 100;
  if (options.max_growth > 0) searching.least_growth = static_cast<std::int64_t>(options.fold_limit);
  onnx::FoldedConstants folded;
  searching.is_usable = [&](const Value& value) { return folded.is_usable(value); };
  searching.direct_rules = selection.choice.others;
  searching.is_named = [&](const Value& value) { return named.contains(value); };
  const search::Saturation saturation;
  if (options.search != OptSettings::Search::backtracking) searching.solver = &saturation;
  searching.explores = options.search != OptSettings::Search::saturation;
  std::stop_source stop;
  if (interrupted()) stop.request_stop();
  const cost::KernelPrices& prices = pricing.of(options.objective);
  SearchRounds rounds;
  Course course(summary);
  bool is_hopeful = false;
  rounds.look = [&](const std::optional<SearchRounds::Seconds>& time) {
    searching.time_budget = time;
    Progress progress(console, options, time);  // one per round: measuring between rounds does not count as searching
    return search::search(imported.graph, selection.choice.rules, prices, searching, stop.get_token(),
                          [&](const search::SearchProgress& now) {
                            if (interrupted()) stop.request_stop();
                            if (!is_hopeful) course(now);
                            progress(now);
                          });
  };
  rounds.measure = [&](const Graph& graph) { return pricing.measure_kernels(graph, searching.sizes); };
  rounds.price = [&](search::SearchResult& found) { search::reprice(found, imported.graph, prices, searching); };
  if (pricing.can_hope() && options.objective == cost::Objective::time)
    rounds.be_hopeful = [&](bool is_on) {
      is_hopeful = is_on;
      pricing.set_hopeful(is_on);
    };
  rounds.may_hope = [&] { return !pricing.is_late(); };
  rounds.interrupted = interrupted;
  rounds.measure(imported.graph);
  std::optional<SearchRounds::Seconds> time;
  if (options.time_budget) time.emplace(*options.time_budget);
  const search::SearchResult found = search_in_rounds(time, rounds);
  if (searching.solver != nullptr && found.end != search::SearchResult::End::stopped) {
    console.draw("telling how far from the best the result is");
    summary.gap = gap_of(imported.graph, found, selection, prices, searching, options.objective);
    if (interrupted()) summary.gap.reset();  // the solver did not come far
    if (summary.gap && summary.gap->least > summary.gap->cost) {
      console.warning(
          "no gap is told: the result is better than the limit for all graphs, a mistake of taso; please report it");
      summary.gap.reset();
    }
  }
  console.draw({});
  summary.end = std::string(search::text_of(found.end));
  summary.usable = found.counts.rules;
  summary.expanded = found.counts.expanded;
  summary.matched = found.counts.matched;
  summary.kept = found.counts.kept;
  summary.before = cost::in_units(options.objective, found.cost_before);
  summary.after = cost::in_units(options.objective, found.cost_after);
  summary.tried = found.counts.tried;
  for (const search::SearchResult::Trial& one : found.trials)
    summary.trials.push_back({one.rule, one.matched, cost::in_units(options.objective, one.saved)});
  if (found.run_before.concurrent > 0 && pricing.lanes() > 1)
    summary.in_lanes = {cost::in_units(options.objective, found.run_before.concurrent),
                        cost::in_units(options.objective, found.run_after.concurrent)};
  count_applied(found.steps, summary);
  if (found.steps.empty()) return summary;
  console.say(Console::Level::detail, what_was_applied(rules, summary));
  summary.steps = found.steps;
  summary.names = names_of(imported, found.steps);
  if (found.cost_after > found.cost_before) {  // a certificate must not contain steps that make the graph slower
    summary.give_up("the result is slower than the original now that its kernels are measured");
    return summary;
  }
  if (!found.replacements.complete) {
    summary.give_up("the optimised graph cannot be expressed with the model's value names");
    return summary;
  }
  try {
    onnx::export_values(imported, {found.replacements.rewritten, found.replacements.merged}, edit, folded);
    // Price the written graph: for example, a Concat of many operands may be read back in another order.
    const Graph& written = edit.imported()->graph;
    const cost::WholeGraph view(written, pricing::sizes_from(written, shapes), found.layout);
    const cost::Plan plan = cost::plan(view, prices);
    summary.after = cost::in_units(options.objective, std::max(plan.cost, found.cost_after));
    summary.corrections = share_of_corrections(view, plan);
    if (!summary.corrections.empty() && !options.explain) console.say(Console::Level::detail, summary.corrections);
  } catch (const InputError& error) {
    summary.give_up(fmt::format("the optimised graph cannot be written: {}", error.what()));
    return summary;
  }
  if (const std::string dimensions = shared_dimensions(imported.graph); !dimensions.empty())
    console.say(Console::Level::result,
                fmt::format("dimensions of the same name are assumed equal, as ONNX specifies: {}", dimensions));
  return summary;
}

}  // namespace taso::cli
