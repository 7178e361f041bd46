#include "cli/opt/optimise.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/bench/gpu_model.h"
#include "cli/console/interrupt.h"
#include "cli/console/version.h"
#include "cli/files/places.h"
#include "cli/files/rule_set.h"
#include "cli/opt/certificate.h"
#include "cli/opt/coverage.h"
#include "cli/opt/phases.h"
#include "cli/opt/replay.h"
#include "cli/opt/search.h"
#include "cli/opt/summary.h"
#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/export/edit.h"
#include "onnx/model/model_hash.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "search/run_time.h"

namespace taso::cli {
namespace {

using std::filesystem::path;
using Level = Console::Level;

void remove_metadata(onnx::Model& model, const std::string& key) {
  auto& entries = *model.mutable_proto().mutable_metadata_props();
  for (int i = entries.size(); i-- > 0;)
    if (entries.Get(i).key() == key) entries.DeleteSubrange(i, 1);
}

void set_metadata(onnx::Model& model, const std::string& key, const std::string& value) {
  remove_metadata(model, key);
  proto::StringStringEntryProto& entry = *model.mutable_proto().add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

/// What was chosen for the rules holds for the check as well.
onnx::SpecialValues demanded_of_special_values(rules::FloatMode mode) {
  switch (mode) {
    case rules::FloatMode::strict: return onnx::SpecialValues::strict;
    case rules::FloatMode::usual: return onnx::SpecialValues::usual;
    case rules::FloatMode::fast: break;
  }
  return onnx::SpecialValues::reported;
}

onnx::CheckOptions check_options(const OptOptions& options, const proto::ModelProto& model) {
  onnx::CheckOptions check;
  check.samples = options.samples;
  check.seed = options.seed;
  check.shapes = test_shapes(model, options.test_shapes);
  check.data = read_input_data(model, options.input_data);
  check.rtol = options.rtol;
  check.atol = options.atol;
  check.threads = options.jobs;
  check.special = demanded_of_special_values(options.float_mode);
  return check;
}

/// The bytes that the files written have, which may differ from the message's where weights moved.
std::uint64_t save(const onnx::Model& model, const OptOptions& options) {
  if (is_standard_stream(options.output)) {
    const std::string bytes = model.serialise_whole();
    write_output(options.output, bytes);
    return bytes.size();
  }
  const auto written_at = [](const path& file) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error);
    return error ? std::filesystem::file_time_type::min() : time;
  };
  const path data = data_file_of(options.output);
  const auto before = written_at(data);
  onnx::SaveOptions saving;
  saving.weights = options.weights;
  model.save(options.output, saving);
  std::uint64_t bytes = std::filesystem::file_size(options.output);
  if (written_at(data) != before) bytes += std::filesystem::file_size(data);
  return bytes;
}

void conclude(const OptOptions& options, const Summary& summary, Console& console) {
  if (options.report) write_output(*options.report, report_of(summary));
  console.say(Level::result, table_of(summary));
  console.verdict(!summary.failed(), summary.verdict());
}

/// Every line about an input names its file; inside the model nobody knows it.
template <class Work>
auto about(const path& file, Work&& work) {
  try {
    return work();
  } catch (const onnx::Uncheckable&) {
    throw;  // not a fault of the file
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

/// One run on one model: the edit that is worked on, and what becomes of it.
class Optimiser {
 public:
  Optimiser(const onnx::Model& model, const OptOptions& options, const onnx::CheckOptions& checking, Console& console,
            Phases& phases, Summary& summary, rules::RewriteCertificate& certificate, Pricing& pricing)
      : model_(model),
        options_(options),
        checking_(checking),
        console_(console),
        phases_(phases),
        summary_(summary),
        certificate_(certificate),
        pricing_(pricing),
        shapes_(checking.shapes) {
    for (const auto& [name, data] : checking.data) shapes_[name] = data.extents();
  }

  /// Of what there is to compare with: clean-ups are no gain, for whoever runs a model does them first. With the prices
  /// of now: a search may measure more.
  std::optional<Figures> figures_before() {
    if (!cleaned_) return std::nullopt;
    return remembered(before_, [&] { return figures_of(*cleaned_, sizes_from(*cleaned_, shapes_), pricing_); });
  }
  /// Of the edit, as long as it is not committed. Nothing if it cannot be imported.
  std::optional<Figures> figures_after() {
    if (cleaned_ && !untouched_ && !(summary_.search && summary_.search->changed())) return figures_before();
    return remembered(after_, [&]() -> std::optional<Figures> {
      const auto graph = graph_now();
      return graph ? std::optional(figures_of(*graph, sizes_from(*graph, shapes_), pricing_)) : std::nullopt;
    });
  }

  void clean() {
    phases_.begin("clean-up", "cleaning up");
    clean_only();
    std::shared_ptr<const onnx::Imported> imported;
    try {
      imported = edit_->imported();
      pricing_.choose(imported->graph, sizes_from(imported->graph, shapes_));
    } catch (const InputError&) {
      if (!imported) return;  // there will be no figures either
    }
    cleaned_ = imported->graph;
    summary_.coverage = coverage_of(edit_->view(), *imported);
  }

  /// Searches, and cleans up what that left behind.
  void search(const SearchRules& rules) {
    // The graphs of a training model refer to one another by name in ways that the main graph does not show.
    if (options_.budget == 0 || model_.proto().training_info_size() > 0) return;
    phases_.begin("search", "searching");
    rules_ = &rules;
    search_with(rules);
  }

  /// Runs both on the GPU. What is not faster there, or cannot be run, is not done; what was interrupted before it was known is.
  void confirm() {
    if (!options_.confirm || !summary_.search || !summary_.search->changed()) return;
    phases_.begin("confirm", "running both models on the GPU");
    onnx::GraphEdit plain(model_);
    onnx::clean_up(plain, cleaning());
    const Graph before = plain.imported()->graph, after = edit_->imported()->graph;
    std::vector<std::vector<double>> times(2);
    try {
      if (!interrupted()) times = run_in_turn(before, after);
    } catch (const InputError& error) {
      summary_.search->give_up(fmt::format("whether it is faster cannot be confirmed: {}", error.what()));
      clean_only();
      return;
    }
    if (times[0].empty() || times[1].empty()) {
      summary_.search->unconfirmed = "it was interrupted";
      return;
    }
    const Ratio ratio = ratio_of(times[0], times[1]);
    summary_.confirmed = ratio;
    if (ratio.is_faster()) return;
    if (interrupted()) {
      summary_.confirmed.reset();
      summary_.search->unconfirmed = "it was interrupted before that was certain";
      return;
    }
    summary_.search->give_up(fmt::format("on the GPU it is {:.3f} times as fast ({:.3f} to {:.3f}), so not faster",
                                         ratio.value, ratio.low, ratio.high));
    clean_only();
  }

  /// Compares both models. Rules that make what does not agree, or cannot be checked, are left out; clean-ups that cannot be
  /// checked are not done.
  void check() {
    if (options_.samples == 0) return;
    phases_.begin("check", "comparing both models");
    Objection objection = compare_edit();
    if (objection && summary_.search && summary_.search->changed()) {
      objection = do_without(*objection);
      if (!objection && options_.confirm && summary_.search->changed()) {
        confirm();
        if (!summary_.search->changed()) objection = compare_edit();
      }
    }
    if (!objection || !objection->is_uncheckable) return;
    do_nothing(objection->text);
  }

  /// Goes back to what is left once the certificate of what was done is rejected, with the model as it was: clean-ups
  /// only, or nothing at all. Says whether anything was taken back.
  bool fall_back(const std::string& rejection) {
    const std::string reason = fmt::format("its certificate is rejected: {}", rejection);
    if (summary_.search && summary_.search->changed()) {
      summary_.search->give_up(reason);
      clean_only();
      check();
      return true;
    }
    if (untouched_) return false;
    do_nothing(reason);
    return true;
  }

  AssumedSizes assumed() const { return cleaned_ ? assumed_sizes(*cleaned_, shapes_) : AssumedSizes(); }
  std::unique_ptr<onnx::GraphEdit> take_edit() { return std::move(edit_); }

 private:
  /// Figures of one graph, as long as no kernel was measured since: a graph of a hundred thousand operators takes a
  /// second each time.
  struct Remembered {
    std::optional<Figures> figures;
    std::optional<std::size_t> measured;  // by then; nothing before figures are known
  };
  template <class Find>
  std::optional<Figures> remembered(Remembered& known, const Find& find) {
    if (known.measured != pricing_.measured()) known = {find(), pricing_.measured()};
    return known.figures;
  }

  void do_nothing(const std::string& reason) {
    edit_ = std::make_unique<onnx::GraphEdit>(model_);
    before_ = after_ = {};
    if (cleaned_) cleaned_ = graph_now();
    for (onnx::CleanupCount& pass : summary_.passes) pass.count = 0;
    take_back(certificate_);
    untouched_ = true;
    summary_.check = onnx::CheckResult{true, onnx::CheckResult::Scope::unchanged, 0, 0,
                                       fmt::format("no clean-up was kept, for {}", reason)};
  }

  /// What the check has against an edit.
  struct Found {
    std::string text;
    bool is_uncheckable = false;  ///< nothing is known against it, and nothing for it
  };
  using Objection = std::optional<Found>;

  void search_with(const SearchRules& rules) {
    const std::size_t nodes = edit_->view().nodes.size();
    summary_.search = search_model(*edit_, rules, shapes_, options_, pricing_, console_);
    summary_.search->min_gain = 100 * least_gain();
    if (!summary_.search->changed()) {
      if (!summary_.search->note.empty()) clean_only();
      return;
    }
    std::vector<onnx::CleanupAction> actions;
    const std::vector<onnx::CleanupCount> more = onnx::clean_up(*edit_, exact(cleaning()), &actions);
    certificate_.after = steps_of(actions);
    for (std::size_t i = 0; i < more.size(); ++i) summary_.passes[i].count += more[i].count;
    // Nothing is to be compared that one was measured for and the other was not.
    if (const auto graph = graph_now()) measure(*graph);
    if (cleaned_) measure(*cleaned_);
    after_ = {};
    const auto before = figures_before(), after = figures_after();
    const bool shrank = edit_->view().nodes.size() < nodes;
    if (!before || !after || !is_kept(*before, *after, shrank)) {
      summary_.search->give_up("the model would not be better in the end");
      clean_only();
      return;
    }
    const double gain = gain_of(*before, *after);
    if (gain >= least_gain()) return;
    summary_.search->give_up(fmt::format("no {} graph found, for the best saves {:.2g} %, and --min-gain is {:.3g} %",
                                         options_.objective == Objective::time ? "faster" : "better",
                                         100 * std::max(gain, 0.0), 100 * least_gain()));
    clean_only();
  }

  std::vector<std::vector<double>> run_in_turn(const Graph& before, const Graph& after) {
    constexpr std::size_t runs = 200;
    GpuModel first(before, pricing_, sizes_from(before, shapes_)), second(after, pricing_, sizes_from(after, shapes_));
    for (GpuModel* const model : {&first, &second}) {
      if (interrupted()) return std::vector<std::vector<double>>(2);
      model->prepare(options_.pricing.lanes);
    }
    return time_in_turn({&first, &second}, runs);
  }

  /// Searches again without the rules that the check objects to. First without all that were used, to have something that
  /// passes; then with one of them after the other, those first that saved most. What the check has against the clean-ups
  /// alone, if it has anything: then no rule is to blame.
  Objection do_without(const Found& objection) {
    constexpr std::size_t most_tried = 6;
    std::vector<SearchSummary::Applied> used = summary_.search->applied;
    std::stable_sort(used.begin(), used.end(), [](const auto& a, const auto& b) { return a.saved > b.saved; });
    summary_.search->give_up(objection.text);
    clean_only();
    if (const Objection alone = compare_edit()) return alone;
    if (interrupted()) return std::nullopt;
    std::set<std::string> without;
    for (const SearchSummary::Applied& one : used) without.insert(one.rule);
    if (search_again(without, objection)) {  // others are no better
      summary_.search->give_up(objection.text);
      clean_only();
      return compare_edit();
    }
    // With a limit on time there is none for more searches.
    const std::size_t tried = options_.time_budget || used.size() == 1 ? 0 : std::min(used.size(), most_tried);
    bool is_last_kept = true;
    for (std::size_t i = 0; i < tried && !interrupted(); ++i) {
      std::set<std::string> fewer = without;
      fewer.erase(used[i].rule);
      is_last_kept = !search_again(fewer, objection);
      if (is_last_kept) without = fewer;
    }
    return is_last_kept ? std::nullopt : search_again(without, objection);
  }

  Objection search_again(const std::set<std::string>& without, const Found& objection) {
    clean_only();
    SearchRules fewer = *rules_;
    std::erase_if(fewer.rules, [&](const rules::Rule& rule) { return without.contains(rule.name); });
    search_with(fewer);
    summary_.search->rules = rules_->rules.size();
    summary_.search->left_out.assign(without.begin(), without.end());
    summary_.search->objection = objection.text;
    if (!summary_.search->changed() && summary_.search->note.empty()) summary_.search->note = objection.text;
    return compare_edit();
  }

  /// Nothing if it cannot be imported.
  std::optional<Graph> graph_now() const {
    try {
      return edit_->imported()->graph;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  void measure(const Graph& graph) { pricing_.measure_kernels(graph, sizes_from(graph, shapes_)); }

  onnx::CleanupOptions cleaning() const {
    onnx::CleanupOptions cleaning;
    cleaning.disabled = options_.disabled_passes;
    cleaning.fold_limit = options_.fold_limit;
    return cleaning;
  }

  void clean_only() {
    std::vector<onnx::CleanupAction> actions;
    edit_ = std::make_unique<onnx::GraphEdit>(model_);
    summary_.passes = onnx::clean_up(*edit_, cleaning(), &actions);
    certificate_.before = steps_of(actions);
    certificate_.after.clear();
    before_ = after_ = {};
    if (cleaned_) cleaned_ = graph_now();  // the one before spoke of nodes of the edit that is gone
  }

  /// What the search adds up is not the whole truth: operators may be written in other ways, and what memory is needed at
  /// a time is no sum.
  bool is_kept(const Figures& before, const Figures& after, bool shrank) const {
    const Objective objective = options_.objective;
    if (after.work_on_weights > before.work_on_weights) return false;
    if (objective == Objective::memory && before.peak_bytes == after.peak_bytes) return after.seconds < before.seconds;
    // Neither one kernel after the other nor side by side may it take longer.
    const bool is_the_same = after.seconds_in_lanes == before.seconds_in_lanes && after.seconds == before.seconds;
    if (objective == Objective::time && !is_the_same) {
      const double in_lanes = search::believed_in_lanes(after.seconds_in_lanes, after.seconds);
      if (after.seconds_in_lanes > 0 && in_lanes > before.seconds_in_lanes) return false;
      if (after.seconds_in_lanes < before.seconds_in_lanes) return after.seconds <= before.seconds;
    }
    // Nodes more or as many have to save something: work on weights that cannot be done ahead is free in a plan, and
    // other words for what the model has already are none of its gains.
    return shrank ? after.of(objective) <= before.of(objective) : after.of(objective) < before.of(objective);
  }

  /// The share of the cost that has to be saved. Measured prices of one kernel repeat to 0.4 % in the median, and one
  /// plan that is loaded twice to 1 % (cost/README.md); predicted ones are less sure. What is counted has no noise.
  double least_gain() const {
    if (options_.min_gain) return *options_.min_gain / 100;
    if (options_.objective != Objective::time) return 0;
    return pricing_.is_measured() ? 0.01 : 0.02;
  }

  /// The share of the cost that is saved, weighed as the search does it.
  double gain_of(const Figures& before, const Figures& after) const {
    const auto cost = [&](const Figures& one) {
      if (options_.objective != Objective::time || one.seconds_in_lanes <= 0) return one.of(options_.objective);
      return one.seconds_in_lanes + one.seconds / 5;
    };
    return cost(before) > 0 ? 1 - cost(after) / cost(before) : 0;
  }

  Objection compare_edit() {
    try {
      summary_.check = onnx::compare(onnx::view_of(model_), edit_->view(), checking_);
      if (summary_.check->passed) return std::nullopt;
      return Found{summary_.check->reason, false};
    } catch (const onnx::Uncheckable& error) {
      console_.say(Level::detail, error.what());
      return Found{error.what(), true};
    }
  }

  const onnx::Model& model_;
  const OptOptions& options_;
  const onnx::CheckOptions& checking_;
  Console& console_;
  Phases& phases_;
  Summary& summary_;
  rules::RewriteCertificate& certificate_;
  Pricing& pricing_;
  std::map<std::string, Extents> shapes_;  // of inputs, for prices
  std::unique_ptr<onnx::GraphEdit> edit_;
  std::optional<Graph> cleaned_;  // as the clean-ups left it
  Remembered before_, after_;
  const SearchRules* rules_ = nullptr;
  bool untouched_ = false;  // nothing was kept, not even clean-ups
};

}  // namespace

Ending optimise(const OptOptions& options, Console& console, std::unique_ptr<gpu::Accelerator> gpu,
                const std::function<void(rules::RewriteCertificate&)>& spoil) {
  // Whatever else goes wrong is told to the log.
  if (options.console.log_file)
    check_weights_are_kept(std::vector{options.input}, {{"the log", *options.console.log_file}});
  if (options.pricing.file && !options.pricing.on_gpu) require_prices(*options.pricing.file);
  if (!options.dry_run) check_writable(options.output);
  if (!options.dry_run && is_standard_stream(options.output) && ::isatty(STDOUT_FILENO) == 1)
    throw UsageError("the standard output is a terminal: a model goes to a file or to another program");
  if (options.report) check_writable(*options.report);
  // A certificate lies beside the model, under its name.
  const bool certified = options.certificate && !options.dry_run && !is_standard_stream(options.output);
  if (certified) check_writable(certificate_file_of(options.output));
  if (certified && !options.force) check_certificate_place(options.output);

  Summary summary;
  Phases phases(console, summary);
  phases.begin("load", fmt::format("reading {}", options.input.string()));
  onnx::Model model = onnx::Model::load(options.input);
  model.validate();
  check_weights_are_kept(options, model);
  rules::RewriteCertificate certificate = begin_certificate(options);
  if (certified) certificate.input = onnx::hash_of_model(options.input, model);
  console.begin_log();
  summary.input = options.input;
  summary.output = options.output;
  summary.before = about(options.input, [&] { return count_model(model); });
  about(options.input, [&] { overwrite_input_shapes(model, options.new_shapes); });
  const onnx::CheckOptions checking = check_options(options, model.proto());
  summary.samples = options.samples;
  summary.seed = options.seed;
  SearchRules rules;
  if (options.budget > 0) {
    phases.begin("rules", "reading the rules");
    const RuleSet set = read_rule_set(options.rule_files, options.disabled_rules, options.extra_rules);
    for (std::size_t i = 0; i + set.extra < set.files.size() && options.rule_files.empty(); ++i)
      if (!set.proved[i])
        console.warning(fmt::format("{} has changed since it was proved; proving it again",
                                    on_one_line(set.files[i].source.name())));
    rules = prove(set, options.jobs, console);
    for (const std::string& failure : rules.failures) console.error(failure);
    if (!rules.failures.empty()) return Ending::unverified;
  }
  if (interrupted()) {
    console.error("interrupted before there was anything to write");
    return Ending::interrupted;
  }

  if (options.pricing.on_gpu && !gpu) {
    std::string trouble;
    gpu = gpu::open_accelerator(trouble);
    const std::string said = fmt::format("no GPU can be used: {}", trouble);
    if (!gpu && options.confirm) throw EnvironmentError(said);
    if (!gpu) console.warning(said + "; what was measured before has to do");
  }
  Pricing pricing(options.pricing, std::move(gpu), console);
  Optimiser optimiser(model, options, checking, console, phases, summary, certificate, pricing);
  about(options.input, [&] {
    optimiser.clean();
    optimiser.search(rules);
    optimiser.confirm();
    // From here on there is something worth writing, once it is checked: an interrupt does not throw it away.
    optimiser.check();
  });
  // Nothing is said to be right that taso-verify would not say so of: a rejected certificate is a fault of ours,
  // somewhere.
  std::optional<Figures> figures_after;
  for (;;) {
    phases.begin("replay", "following the certificate");
    // As long as the nodes are there that these are about.
    summary.before.figures = optimiser.figures_before();
    figures_after = optimiser.figures_after();
    summary.assumed = optimiser.assumed();
    complete(certificate, summary.search ? &*summary.search : nullptr);
    if (spoil) spoil(certificate);
    const bool says_something = !certificate.steps.empty() || !certificate.before.empty() || !certificate.after.empty();
    if (says_something && !can_replay())
      console.warning(
          "the certificate is not followed, for this build has no prover: taso-verify --certificate of another one "
          "does so");
    if (!says_something || !can_replay()) {
      model = onnx::GraphEdit::commit(optimiser.take_edit(), std::move(model));
      break;
    }
    onnx::Model original = model.copy();
    model = onnx::GraphEdit::commit(optimiser.take_edit(), std::move(model));
    const std::string rejection = summary.failed() ? "" : rejection_of(certificate, original, model, rules.rules);
    if (rejection.empty()) break;
    console.warning(
        fmt::format("what was done to {} is taken back, for its certificate is rejected ({}); this is a bug of "
                    "taso, please report it",
                    on_one_line(options.input.string()), on_one_line(rejection)));
    model = std::move(original);
    const bool done = about(options.input, [&] { return optimiser.fall_back(rejection); });
    if (!done) throw InternalError(fmt::format("the certificate of a model as it came is rejected: {}", rejection));
  }
  phases.begin("save", options.dry_run ? "finishing" : fmt::format("writing {}", options.output.string()));
  set_metadata(model, "taso.version", std::string(program_version()));
  if (certified)  // beside the model, under its name, which is not part of the model
    set_metadata(model, "taso.certificate", ".cert");
  else
    remove_metadata(model, "taso.certificate");
  if (summary.search) {
    set_metadata(model, "taso.rules", summary.search->rules_hash);
    set_metadata(model, "taso.cost.before", fmt::format("{:.9g}", summary.search->before));
    set_metadata(model, "taso.cost.after", fmt::format("{:.9g}", summary.search->after));
  } else {  // what an earlier run said of itself is not true of this one
    for (const char* key : {"taso.rules", "taso.cost.before", "taso.cost.after"}) remove_metadata(model, key);
  }
  try {
    model.validate();
  } catch (const InputError& error) {
    throw InternalError(fmt::format("the new model is invalid: {}", error.what()));
  }
  summary.after = count_model(model);
  summary.after.figures = figures_after;
  summary.prices = pricing.source();
  summary.measured = pricing.measured();
  summary.measuring = pricing.measuring();
  pricing.save();
  if (!options.dry_run && !summary.failed()) {
    if (!is_standard_stream(options.output)) remove_certificate(options.output);  // of the model that is replaced now
    summary.after.bytes = save(model, options);
    summary.written = true;
    if (certified) summary.certificate = write_certificate(std::move(certificate), options);
  }
  phases.end();
  conclude(options, summary, console);
  if (summary.failed()) {
    console.error(fmt::format("{}: the check failed: {}; nothing is written", options.input.string(),
                              on_one_line(summary.check->reason)));
    return Ending::check_failed;
  }
  return interrupted() ? Ending::interrupted : Ending::done;
}

}  // namespace taso::cli
