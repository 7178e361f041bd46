#include "search/search.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_set>

#include "cost/plan/plan.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "search/pieces.h"
#include "search/program/applied_steps.h"
#include "search/program/extract.h"
#include "search/program/paying_steps.h"
#include "search/region_solver.h"
#include "search/rewriting/rewrite.h"
#include "search/run_choice.h"

namespace taso::search {
namespace {

/// The rules of a search, without those that can never match, because they contain an operator that neither the graph
/// has nor a rule makes.
struct UsableRules {
  std::vector<std::unique_ptr<RewriteRule>> compiled;
  std::vector<const RewriteRule*> all;   // includes those used only for steps in the whole graph
  std::vector<const RewriteRule*> deep;  // used to search regions
};

UsableRules usable_rules(const Program& program, const std::vector<rules::Rule>& rules,
                         const std::vector<rules::Rule>& direct) {
  UsableRules result;
  std::vector<bool> there(all_operators().size(), false);
  for (const ComputationId id : program.computations())
    if (program.store()[id].op != nullptr) there[program.store()[id].kind()] = true;
  auto compiled = compile(rules);
  const std::size_t deep = compiled.size();
  for (auto& rule : compile(direct)) compiled.push_back(std::move(rule));
  std::vector<bool> used(compiled.size(), false);
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      if (used[i]) continue;
      const auto& kinds = compiled[i]->kinds();
      if (!std::all_of(kinds.begin(), kinds.end(), [&](std::uint32_t kind) { return there[kind]; })) continue;
      used[i] = grown = true;
      const std::function<void(const std::vector<rules::PatternPtr>&)> note =
          [&](const std::vector<rules::PatternPtr>& patterns) {
            for (const rules::PatternPtr& pattern : patterns) {
              if (!pattern->is_input()) there[*rules::kind_named(pattern->op)] = true;
              note(pattern->operands);
            }
          };
      note(compiled[i]->rule().target);
    }
  }
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    if (!used[i]) continue;
    result.all.push_back(compiled[i].get());
    if (i < deep) result.deep.push_back(compiled[i].get());
  }
  result.compiled = std::move(compiled);
  return result;
}

/// How many graphs the last choice times: some, plus this many operators' worth of graphs for each expanded graph. This
/// takes a tenth of the time, and a third for networks with many kernels.
constexpr std::size_t least_tried = 100, operators_tried = 12;
/// The share of a time limit for everything before that choice.
constexpr double share_before_choice = 0.9;

/// The run time of the input graph; nothing if it cannot be predicted.
std::optional<RunTime> time_of_input(const Graph& graph, cost::Layout layout, const SearchOptions& options) {
  try {
    return options.time_of_run ? std::optional(options.time_of_run(graph, layout)) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

class Search {
 public:
  Search(const Graph& graph, const std::vector<rules::Rule>& rules, const cost::KernelPrices& kernels,
         const SearchOptions& options, const std::stop_token& stop,
         const std::function<void(const SearchProgress&)>& watch)
      : graph_(graph),
        kernels_(kernels),
        options_(options),
        stop_(stop),
        watch_(watch),
        program_(store_, graph),
        rules_(usable_rules(program_, rules, options.direct_rules)),
        layout_(options.layout ? *options.layout : cost::best_layout(graph, kernels, options.sizes, options.jobs)),
        growth_(growth_of(program_, kernels, options)),
        prices_(program_, kernels, {options.sizes, layout_}, growth_),
        candidates_(program_, rules_.all, prices_, [this] { return should_end(); }) {
    prices_.set_cuts(cuts());
    before_ = cost_ = prices_.total();
    is_one_ = options_.piece == 0 || pieces_of(program_, options_.piece).size() <= 3;
    is_large_ = options_.piece > 0 && cost_.operators > options_.most_operators;
    if (!is_large_) run_before_ = time_of_input(graph_, layout_, options_);
    if (chooses_by_run()) share_of_time_ = share_before_choice;
    descends_ = !is_large_ && (!is_one_ || rules_.all.size() > rules_.deep.size());
    if (descends_) candidates_.leave_alone({});  // otherwise the only region has them all
  }

  SearchResult run() {
    using End = SearchResult::End;
    std::optional<End> end;
    if (!options_.explores) {
      descend();
      end = stop_.stop_requested() ? End::stopped : is_late() ? End::time : End::solved;
    }
    while (!end) {
      const GraphCost before = cost_;
      const std::size_t explored = explored_;
      descend();
      // Pieces with their successors, then the pairs in between: what crosses a border in one round is inside a pair in
      // the other.
      for (std::size_t first = 0; first < 2 && !end; ++first) {
        const bool all_tried = search_pairs(first);
        if (stop_.stop_requested())
          end = End::stopped;
        else if (is_late())
          end = End::time;
        else if (expanded_ >= options_.budget)
          end = End::budget;
        else if (all_tried)
          end = End::exhausted;
      }
      if (!end && cost_ == before && explored_ == explored) end = End::exhausted;
      if (!end && is_large_) end = End::size;
    }
    SearchResult result;
    solve_regions();
    if (chooses_by_run()) choose_by_run(result);
    keep_what_pays(result);
    find_gaps(result);
    if (result.counts.unsolved > 0) end = stop_.stop_requested() ? End::stopped : End::time;
    finish(*end, result);
    return result;
  }

 private:
  /// Kernels are cut where those of the input graph are cut, because values keep their names.
  std::vector<bool> cuts() const {
    const cost::WholeGraph whole(graph_, options_.sizes, layout_);
    std::vector<bool> cuts;
    for (std::uint32_t i = 0; i < whole.cuts().size(); ++i) {
      if (!whole.is_cut(cost::PlanValue{i})) continue;
      const ValueId value = program_.value_of(whole.value(cost::PlanValue{i}));
      if (place(value) >= cuts.size()) cuts.resize(place(value) + 1, false);
      cuts[place(value)] = true;
    }
    return cuts;
  }

  bool chooses_by_run() const { return run_before_.has_value(); }

  /// The search of a region, shared by all regions with the same key.
  struct Task {
    Graph graph;
    Surroundings surroundings;
    std::unique_ptr<Exploration> exploration;  // null until it starts
    std::size_t places = 0;                    // how many current regions have this key
    cost::Cost saved = 0;                      // in each of them, since they became current

    bool is_exhausted() const { return exploration && exploration->is_exhausted(); }
    /// What is worth applying to the whole graph.
    cost::Cost gain(const cost::KernelPrices& kernels) const {
      const GraphCost &before = exploration->cost_before(), &now = exploration->cost();
      return is_worth(before, now, kernels.noise()) ? before.price - now.price : 0;
    }
    bool found_something() const { return exploration && exploration->cost() < exploration->cost_before(); }
  };

  /// A region that the solver got.
  struct Solved {
    Graph graph;
    RegionSolver::Solution solution;
  };

  bool is_late() const {
    return options_.time_budget && std::chrono::steady_clock::now() - start_ > *options_.time_budget * share_of_time_;
  }

  /// Reports progress, so that the watcher can stop the search. Called from any thread.
  bool should_end() {
    tell();
    return stop_.stop_requested() || is_late();
  }

  /// Takes the best step in the whole graph as long as one improves it: nodes that share an input may be far apart.
  /// Steps that make the graph worse are left to the regions; in the whole graph there are too many places for them.
  void descend() {
    if (!descends_) return;
    for (bool goes_on = true; goes_on && expanded_ < options_.budget; goes_on = !should_end()) {
      candidates_.repair();  // if this is ended early, the best candidate so far is still taken
      ++expanded_;
      const PossibleRewrite* best = nullptr;
      for (const auto& [root, list] : candidates_.all())
        for (const PossibleRewrite& candidate : list)
          if (is_worth(GraphCost(), candidate.difference, kernels_.noise()) &&
              prices_.allows(cost_ + candidate.difference) &&
              (best == nullptr || candidate.difference < best->difference))
            best = &candidate;
      if (best == nullptr) return;
      Applied change;
      change.match = best->match;
      if (!rewrite(program_, *change.match, change.log, &change.made)) return;
      change.before = cost_;
      change.after = cost_ + prices_.difference(program_, change.log);
      // Rewrites far away that lead to an equal computation may have changed the result.
      if (!is_worth(change.before, change.after, kernels_.noise())) {
        program_.undo(change.log);
        return;
      }
      cost_ = change.after;
      prices_.moved();
      candidates_.touch(change.log);
      applied_.push_back(std::move(change));
      tell();
    }
  }

  /// Searches the regions concurrently, with equal shares of half of the remaining budget, and then applies the results
  /// to the program sequentially. True if everything is one region and nothing is left to try.
  bool search_pairs(std::size_t first) {
    std::vector<Region> regions;
    std::vector<Task*> tasks, active;
    for (auto& [key, task] : tasks_) {
      task.places = 0;
      task.saved = 0;
    }
    const Ranks ranks = ranks_of(program_);
    std::unordered_set<const Task*> is_active;
    for (const auto& computations : pairs_of_pieces(first)) {
      regions.push_back(region_of(program_, prices_, ranks, computations));
      Region& region = regions.back();
      const auto [found, is_new] = tasks_.try_emplace(region.key);
      Task& task = found->second;
      if (is_new) {
        task.graph = region.graph;
        task.surroundings = region.surroundings;
      }
      tasks.push_back(&task);
      ++task.places;
      if (!task.is_exhausted() && is_active.insert(&task).second) active.push_back(&task);
    }
    explore(active);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      Task& task = *tasks[i];
      foreseen_ -= task.saved;
      if (!task.found_something()) continue;
      apply(*task.exploration, task.graph, regions[i]);
    }
    return is_one_ && tasks.size() == 1 && tasks[0]->is_exhausted();
  }

  /// Applies what was found for a region, or for one with the same key, whose graph is given.
  void apply(SolvedRegion& solved, const Graph& graph, const Region& region) {
    const std::size_t made = applied_.size();
    transfer(solved, graph, region, is_large_ ? StepPrices::together : StepPrices::each, program_, prices_, cost_,
             applied_);
    for (std::size_t k = made; k < applied_.size(); ++k) candidates_.touch(applied_[k].log);
    tell();
  }

  void explore(const std::vector<Task*>& active) {
    if (active.empty() || expanded_ >= options_.budget) return;
    const std::size_t left = options_.budget - expanded_;
    const std::size_t given = is_one_ ? left : std::max((left + 1) / 2, std::min(left, active.size()));
    // The first ones get the remainder.
    const std::size_t most = is_large_ ? 2 * options_.piece : given;
    const auto share = [&](std::size_t i) {
      return std::min(most, given / active.size() + (i < given % active.size() ? 1 : 0));
    };
    std::vector<std::size_t> before;
    for (const Task* task : active) before.push_back(task->exploration ? task->exploration->expanded() : 0);
    parallel_for(options_.jobs, static_cast<std::int64_t>(active.size()), [&](std::int64_t index) {
      const auto i = static_cast<std::size_t>(index);
      Task& task = *active[i];
      if (share(i) == 0 || should_end()) return;
      if (!task.exploration) task.exploration = begin(task);
      std::size_t last = before[i];
      cost::Cost gain = task.gain(kernels_);
      const auto note = [&] {
        const std::size_t expanded = task.exploration->expanded() - last;
        const cost::Cost saved = task.gain(kernels_) - gain;
        last += expanded;
        gain += saved;
        task.saved += saved;
        if (expanded > 0 || saved > 0) tell(expanded, saved * static_cast<cost::Cost>(task.places));
      };
      task.exploration->run(share(i), [&] {
        note();
        return should_end();
      });
      note();
    });
    expanding_ = 0;
    std::size_t explored = 0;
    for (std::size_t i = 0; i < active.size(); ++i)
      if (active[i]->exploration) explored += active[i]->exploration->expanded() - before[i];
    explored_ += explored;
    expanded_ += explored;
  }

  /// Lets the solver improve regions, each once.
  void solve_regions() {
    if (options_.solver == nullptr) return;
    for (std::size_t first = 0; first < 2; ++first) {
      const std::vector<Region> regions = regions_of(first);
      solve(regions);
      for (const Region& region : regions) {
        const auto found = solutions_.find(region.key);
        if (found == solutions_.end()) continue;  // it was asked to end
        const Solved& solved = found->second;
        if (solved.solution.region->cost() < solved.solution.region->cost_before())
          apply(*solved.solution.region, solved.graph, region);
      }
    }
  }

  /// The gaps of the regions of the program as it is now.
  void find_gaps(SearchResult& result) {
    if (options_.solver == nullptr) return;
    const std::vector<Region> regions = regions_of(0);
    solve(regions);
    std::map<std::string, std::size_t> places;
    for (const Region& region : regions) {
      const auto found = solutions_.find(region.key);
      if (found == solutions_.end()) {  // it was asked to end
        ++result.counts.unsolved;
        continue;
      }
      const auto [place_in, is_new] = places.emplace(region.key, result.gaps.size());
      if (is_new) result.gaps.push_back(found->second.solution.gap);
      ++result.gaps[place_in->second].places;
    }
  }

  std::vector<Region> regions_of(std::size_t first) {
    const Ranks ranks = ranks_of(program_);
    std::vector<Region> regions;
    auto pieces = pieces_of(program_, options_.solver_piece);
    for (const auto& computations : pieces.size() <= 2 ? whole(first) : pairs(std::move(pieces), first))
      regions.push_back(region_of(program_, prices_, ranks, computations));
    return regions;
  }

  /// Solves those of these regions that are not solved yet, concurrently.
  void solve(const std::vector<Region>& regions) {
    std::vector<const Region*> open;
    std::unordered_set<std::string_view> keys;
    for (const Region& region : regions)
      if (!solutions_.contains(region.key) && keys.insert(region.key).second) open.push_back(&region);
    std::vector<RegionSolver::Solution> solved(open.size());
    parallel_for(options_.jobs, static_cast<std::int64_t>(open.size()), [&](std::int64_t index) {
      const auto i = static_cast<std::size_t>(index);
      if (should_end()) return;
      solved[i] = options_.solver->solve(open[i]->graph, open[i]->surroundings, rules_.all, kernels_, exploring());
    });
    for (std::size_t i = 0; i < open.size(); ++i)
      if (solved[i].region) solutions_.emplace(open[i]->key, Solved{open[i]->graph, std::move(solved[i])});
  }

  ExplorationOptions exploring() {
    ExplorationOptions options;
    options.alpha = options_.alpha;
    options.longest_queue = options_.longest_queue;
    options.pricing = {options_.sizes, layout_};
    options.growth = growth_;
    options.should_end = [this] { return should_end(); };
    return options;
  }

  std::unique_ptr<Exploration> begin(const Task& task) {
    return std::make_unique<Exploration>(task.graph, rules_.deep, kernels_, exploring(), task.surroundings);
  }

  /// Reports progress, from any thread; the arguments are the progress of that thread since its last report.
  void tell(std::size_t expanded = 0, cost::Cost saved = 0) {
    const std::lock_guard lock(watching_);
    expanding_ += expanded;
    foreseen_ += saved;
    if (watch_) watch_({expanded_ + expanding_, before_.price, cost_.price - foreseen_});
  }

  std::vector<std::vector<ComputationId>> pairs_of_pieces(std::size_t first) {
    return is_one_ ? whole(first) : pairs(pieces_of(program_, options_.piece), first);
  }

  /// Everything as one region, in the first round only.
  std::vector<std::vector<ComputationId>> whole(std::size_t first) const {
    std::vector<ComputationId> all;
    for (const ComputationId id : program_.computations())
      if (!program_.store()[id].is_leaf() && !program_.store()[id].weight_only) all.push_back(id);
    if (first > 0 || all.empty()) return {};
    return {std::move(all)};
  }

  static std::vector<std::vector<ComputationId>> pairs(std::vector<std::vector<ComputationId>> pieces,
                                                       std::size_t first) {
    std::vector<std::vector<ComputationId>> pairs;
    for (std::size_t i = first; i < pieces.size(); i += 2) {
      auto& pair = pairs.emplace_back(std::move(pieces[i]));
      if (i + 1 < pieces.size()) pair.insert(pair.end(), pieces[i + 1].begin(), pieces[i + 1].end());
    }
    return pairs;
  }

  /// Looks among variants of the result for one that runs faster.
  void choose_by_run(SearchResult& result) {
    share_of_time_ = 1;
    if (!descends_) candidates_.leave_alone({});
    RunChoiceOptions choosing;
    choosing.time_before = *run_before_;
    choosing.time_of = [this](const Graph& graph) { return options_.time_of_run(graph, layout_); };
    choosing.most_graphs = least_tried + operators_tried * expanded_ /
                                             static_cast<std::size_t>(std::max<std::int64_t>(cost_.operators, 1));
    choosing.jobs = options_.jobs;
    choosing.should_end = [this] { return should_end(); };
    RunChoice choice(graph_, program_, prices_, candidates_, before_, applied_, opaque_, choosing);
    choice.run();
    cost_ = choice.cost();
    result.run_before = *run_before_;
    result.run_after = choice.time();
    result.counts.tried = choice.tried();
  }

  /// Undoes the steps that the result does not need, and those that cannot stay.
  void keep_what_pays(SearchResult& result) {
    AppliedSteps steps(program_, prices_, before_, applied_);
    Extractor extractor(program_, graph_, &opaque_);
    PayingStepsOptions paying;
    paying.is_usable = options_.is_usable;
    paying.time_before = result.run_before;
    paying.time_after = result.run_after;
    if (chooses_by_run()) paying.time_now = [&] { return options_.time_of_run(extractor.graph(), layout_); };
    paying.should_end = [this] { return stop_.stop_requested(); };
    const std::size_t found = applied_.size();
    keep_paying_steps(steps, program_, prices_, extractor, paying);
    cost_ = steps.cost();
    if (applied_.size() == found || !chooses_by_run()) return;
    result.run_after = applied_.empty() ? result.run_before : paying.time_now();
  }

  static WeightGrowth growth_of(const Program& program, const cost::KernelPrices& kernels,
                                const SearchOptions& options) {
    WeightGrowth growth;
    growth.price_of_byte = options.price_of_weight_byte;
    if (!options.most_growth) return growth;
    const auto weights =
        static_cast<double>(Prices(program, kernels, {options.sizes, cost::Layout::channels_first}).weights());
    growth.most = std::max(options.least_growth, static_cast<std::int64_t>(weights * *options.most_growth));
    return growth;
  }

  void finish(SearchResult::End end, SearchResult& result) {
    result.end = end;
    result.cost_before = before_.price;
    result.cost_after = cost_.price;
    result.layout = layout_;
    result.counts.rules = rules_.deep.size();
    result.counts.expanded = expanded_;
    result.counts.regions = tasks_.size();
    result.counts.solved = solutions_.size();
    for (const auto& [key, one] : solutions_)
      result.counts.improved += one.solution.region->cost() < one.solution.region->cost_before() ? 1 : 0;
    result.counts.matched = candidates_.matched();
    Trials trials = candidates_.trials();
    for (const auto& [key, task] : tasks_) {
      if (!task.exploration) continue;
      result.counts.matched += task.exploration->matched();
      result.counts.kept += task.exploration->kept();
      add(trials, task.exploration->trials());
    }
    for (const auto& [rule, one] : trials) result.trials.push_back({rule, one.matched, one.saved});
    for (auto change = applied_.rbegin(); change != applied_.rend(); ++change) program_.undo(change->log);
    Extractor extractor(program_, graph_, &opaque_);
    for (const Applied& change : applied_) {
      rules::RewriteStep step = extractor.describe(*change.match, change.log, change.made);
      program_.redo(change.log);
      extractor.note(change.log);
      step.cost_before = change.before.price;
      step.cost_after = change.after.price;
      if (options_.keeps_way) result.way.push_back(extractor.graph());
      result.steps.push_back(std::move(step));
    }
    result.graph = extractor.graph();
    prices_.moved();
    check(prices_.total() == cost_, "the cost kept up to date is the total cost");
    result.replacements = extractor.replacements(options_.is_named);
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();  // set before any work
  const Graph& graph_;
  const cost::KernelPrices& kernels_;
  const SearchOptions& options_;
  std::stop_token stop_;
  const std::function<void(const SearchProgress&)>& watch_;
  std::mutex watching_;
  std::size_t expanding_ = 0;  // in regions being searched, not yet in expanded_
  cost::Cost foreseen_ = 0;    // found in regions, not yet applied to the program
  Store store_;
  Program program_;
  UsableRules rules_;
  cost::Layout layout_;
  WeightGrowth growth_;
  Prices prices_;
  PossibleRewrites candidates_;
  GraphCost before_, cost_;
  std::vector<Applied> applied_;
  OpaqueNodes opaque_;
  std::map<std::string, Task> tasks_;        // by key
  std::map<std::string, Solved> solutions_;  // by key
  std::size_t expanded_ = 0, explored_ = 0;  // in total; in regions
  bool is_one_ = false;                      // too small to be cut into pieces
  bool is_large_ = false;                    // searched in pieces only, each once
  std::optional<RunTime> run_before_;        // of the input graph, if the last choice is by run time
  double share_of_time_ = 1;                 // of the time limit, for the current stage
  bool descends_ = false;                    // takes steps in the whole graph
};

}  // namespace

std::string_view text_of(SearchResult::End end) {
  switch (end) {
    case SearchResult::End::budget: return "the budget is spent";
    case SearchResult::End::time: return "the time is up";
    case SearchResult::End::exhausted: return "nothing is left to try";
    case SearchResult::End::stopped: return "stopped";
    case SearchResult::End::solved: return "every part was solved by itself";
    case SearchResult::End::size: return "the graph is large, so each part was searched once";
  }
  return "";
}

void reprice(SearchResult& found, const Graph& graph, const cost::KernelPrices& prices, const SearchOptions& options) {
  check(found.way.size() == found.steps.size(), "the intermediate graphs were kept");
  const cost::Plan before = cost::best_plan(graph, prices, options.sizes);
  found.layout = before.layout;
  found.cost_before = found.cost_after = before.cost;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    found.steps[i].cost_before = found.cost_after;
    found.steps[i].cost_after = found.cost_after = cost::plan(found.way[i], prices, {options.sizes, found.layout}).cost;
  }
  const std::optional<RunTime> time = time_of_input(graph, found.layout, options);
  if (!time) return;
  found.run_before = *time;
  found.run_after = found.steps.empty() ? found.run_before : options.time_of_run(found.graph, found.layout);
}

SearchResult search(const Graph& graph, const std::vector<rules::Rule>& rules, const cost::KernelPrices& prices,
                    const SearchOptions& options, const std::stop_token& stop,
                    const std::function<void(const SearchProgress&)>& watch) {
  return Search(graph, rules, prices, options, stop, watch).run();
}

}  // namespace taso::search
