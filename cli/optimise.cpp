#include "cli/optimise.h"

#include <chrono>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/opt_search.h"
#include "cli/places.h"
#include "cli/rule_set.h"
#include "cli/summary.h"
#include "cli/version.h"
#include "ops/error.h"
#include "ops/onnx/atomic_file.h"
#include "ops/onnx/cleanup.h"
#include "ops/onnx/compare.h"
#include "ops/onnx/edit.h"
#include "ops/onnx/proto.h"

namespace taso {
namespace {

using std::filesystem::path;
using Level = Console::Level;

/// Trouble that would only show after the work: better now. Leaves nothing behind.
void check_writable(const path& file) { const AtomicFile trial(file); }

void set_metadata(Model& model, const std::string& key, const std::string& value) {
  auto& entries = *model.mutable_proto().mutable_metadata_props();
  onnx::StringStringEntryProto* ours = nullptr;
  for (int i = 0; i < entries.size(); ++i) {
    if (entries.Get(i).key() != key) continue;
    if (ours == nullptr) {
      ours = entries.Mutable(i);
    } else {
      entries.DeleteSubrange(i--, 1);
    }
  }
  if (ours == nullptr) {
    ours = entries.Add();
    ours->set_key(key);
  }
  ours->set_value(value);
}

/// Tells a phase, and keeps its time for the report.
class Phases {
 public:
  Phases(Console& console, Summary& summary) : console_(console), summary_(summary) {}
  ~Phases() { end(); }
  void begin(std::string name, std::string_view text) {
    end();
    name_ = std::move(name);
    start_ = std::chrono::steady_clock::now();
    console_.say(Level::detail, text);
  }
  void end() {
    if (name_.empty()) return;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
    summary_.seconds.emplace_back(std::move(name_), time.count());
    name_.clear();
  }

 private:
  Console& console_;
  Summary& summary_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

CheckOptions check_options(const OptOptions& options, const onnx::ModelProto& model) {
  CheckOptions check;
  check.samples = options.samples;
  check.seed = options.seed;
  check.shapes = test_shapes(model, options.test_shapes);
  check.data = read_input_data(model, options.input_data);
  check.rtol = options.rtol;
  check.atol = options.atol;
  check.threads = options.jobs;
  return check;
}

/// The bytes that the files written have, which may differ from the message's where weights moved.
std::uint64_t save(const Model& model, const OptOptions& options) {
  const auto written_at = [](const path& file) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error);
    return error ? std::filesystem::file_time_type::min() : time;
  };
  const path data = data_file_of(options.output);
  const auto before = written_at(data);
  SaveOptions saving;
  saving.weights = options.weights;
  model.save(options.output, saving);
  std::uint64_t bytes = std::filesystem::file_size(options.output);
  if (written_at(data) != before) bytes += std::filesystem::file_size(data);
  return bytes;
}

void write_report(const OptOptions& options, const Summary& summary) {
  if (!options.report) return;
  const std::string text = report_of(summary);
  AtomicFile file(*options.report);
  file.write(text.data(), text.size());
  file.sync();
  file.rename();
}

void conclude(const OptOptions& options, const Summary& summary, Console& console) {
  write_report(options, summary);
  console.say(Level::result, table_of(summary));
  console.verdict(!summary.failed(), summary.verdict());
}

/// Every line about an input names its file; inside the model nobody knows it.
template <class Work>
auto about(const path& file, Work&& work) {
  try {
    return work();
  } catch (const Uncheckable&) {
    throw;  // not a fault of the file
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

void add(std::vector<CleanupCount>& sum, const std::vector<CleanupCount>& more) {
  for (std::size_t i = 0; i < sum.size() && i < more.size(); ++i) sum[i].count += more[i].count;
}

/// Cleans up, searches, cleans up what that left behind. The edit is one of the model's, made anew where need be.
std::unique_ptr<GraphEdit> rewrite(const Model& model, const OptOptions& options, const SearchRules& rules,
                                   Phases& phases, Summary& summary, Console& console) {
  auto edit = std::make_unique<GraphEdit>(model);
  CleanupOptions cleaning;
  cleaning.disabled = options.disabled_passes;
  cleaning.fold_limit = options.fold_limit;
  summary.passes = clean_up(*edit, cleaning);
  // The graphs of a training model refer to one another by name in ways that the main graph does not show.
  if (options.budget == 0 || model.proto().training_info_size() > 0) return edit;
  phases.begin("search", "searching");
  summary.search = search_model(*edit, rules.rules, options, console);
  if (summary.search->changed()) {
    add(summary.passes, clean_up(*edit, cleaning));
  } else if (!summary.search->note.empty()) {
    edit = std::make_unique<GraphEdit>(model);
    clean_up(*edit, cleaning);
  }
  return edit;
}

}  // namespace

Ending optimise(const OptOptions& options, Console& console) {
  if (!options.dry_run) check_writable(options.output);
  if (options.report) check_writable(*options.report);

  Summary summary;
  Phases phases(console, summary);
  phases.begin("load", fmt::format("reading {}", options.input.string()));
  Model model = Model::load(options.input);
  model.validate();
  check_weights_are_kept(options, model);
  console.begin_log();
  summary.input = options.input;
  summary.output = options.output;
  summary.before = about(options.input, [&] { return count_model(model); });
  about(options.input, [&] { overwrite_input_shapes(model, options.new_shapes); });
  const CheckOptions checking = check_options(options, model.proto());
  summary.samples = options.samples;
  summary.seed = options.seed;
  SearchRules rules;
  if (options.budget > 0) {
    phases.begin("rules", "reading the rules");
    const RuleSet set = read_rule_set(options.rule_files, options.disabled_rules);
    for (std::size_t i = 0; i < set.files.size() && options.rule_files.empty(); ++i)
      if (!set.proved[i])
        console.warning(fmt::format("{} is not as it was when it was proved", on_one_line(set.files[i].source.name())));
    rules = prove(set, options.jobs, console);
    for (const std::string& failure : rules.failures) console.error(failure);
    if (!rules.failures.empty()) return Ending::unverified;
  }
  if (interrupted()) return Ending::interrupted;

  phases.begin("clean-up", "cleaning up");
  auto edit = about(options.input, [&] { return rewrite(model, options, rules, phases, summary, console); });

  // From here on there is something worth writing, once it is checked: an interrupt does not throw it away.
  if (options.samples > 0) {
    phases.begin("check", "comparing both models");
    try {
      summary.check = about(options.input, [&] { return compare(view_of(model), edit->view(), checking); });
    } catch (const Uncheckable& error) {
      // What cannot be checked is not done: the model goes through as it came.
      edit = std::make_unique<GraphEdit>(model);
      for (CleanupCount& pass : summary.passes) pass.count = 0;
      if (summary.search) summary.search->give_up("it cannot be checked");
      summary.check = CheckResult{true, CheckResult::Scope::unchanged, 0, 0,
                                  fmt::format("no clean-up was kept, for {}", error.what())};
    }
  }
  phases.begin("save", options.dry_run ? "finishing" : fmt::format("writing {}", options.output.string()));
  model = GraphEdit::commit(std::move(edit), std::move(model));
  set_metadata(model, "taso.version", std::string(program_version()));
  if (summary.search) {
    set_metadata(model, "taso.rules", rules.hash);
    set_metadata(model, "taso.cost.before", fmt::format("{:.9g}", summary.search->before));
    set_metadata(model, "taso.cost.after", fmt::format("{:.9g}", summary.search->after));
  }
  try {
    model.validate();
  } catch (const InputError& error) {
    throw InternalError(fmt::format("the new model is invalid: {}", error.what()));
  }
  summary.after = count_model(model);
  if (!options.dry_run && !summary.failed()) {
    summary.after.bytes = save(model, options);
    summary.written = true;
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

}  // namespace taso
