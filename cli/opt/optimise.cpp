#include "cli/opt/optimise.h"

#include <unistd.h>

#include <fmt/format.h>

#include "cli/console/interrupt.h"
#include "cli/console/measuring.h"
#include "cli/console/version.h"
#include "cli/details/page.h"
#include "cli/details/story.h"
#include "cli/files/places.h"
#include "cli/files/rule_set.h"
#include "cli/opt/annotate.h"
#include "cli/opt/certificate.h"
#include "cli/opt/coverage.h"
#include "cli/opt/phases.h"
#include "cli/opt/steps/steps.h"
#include "cli/opt/summary.h"
#include "cli/target/onnxruntime.h"
#include "cli/target/processor.h"
#include "cli/target/recorded_machine.h"
#include "cli/target/runtime_prices.h"
#include "onnx/check/compare.h"
#include "onnx/import/view.h"
#include "onnx/model/model_hash.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/threads.h"
#include "runtime/session/session.h"
#include "search/exact/integer_program.h"

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

/// The check is as strict as the choice of rules.
onnx::SpecialValues demanded_of_special_values(rules::FloatMode mode) {
  switch (mode) {
    case rules::FloatMode::strict: return onnx::SpecialValues::strict;
    case rules::FloatMode::usual: return onnx::SpecialValues::usual;
    case rules::FloatMode::fast: break;
  }
  return onnx::SpecialValues::reported;
}

onnx::CheckOptions check_options(const OptSettings& options, const proto::ModelProto& model) {
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

/// The size of the written files. It may differ from the message's size if weights moved.
std::uint64_t save(const onnx::Model& model, const OptSettings& options) {
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

/// Plans the model for this machine and writes everything into one file.
std::string write_engine_of(onnx::Model model, const OptSettings& options, Console& console) {
  runtime::SessionOptions planned;
  planned.precision = options.pricing.precision;
  planned.prices = options.pricing.file;
  planned.measures = options.pricing.on_gpu;
  planned.lanes = options.pricing.lanes;
  planned.threads = options.jobs;
  planned.log = [&](runtime::LogLevel level, const std::string& text) {
    if (level == runtime::LogLevel::warning)
      console.warning(text);
    else
      console.say(Level::detail, text);
  };
  runtime::Session session(std::move(model), planned);
  runtime::write_engine(session.engine(), *options.engine);
  return fmt::format("{}, for {}", options.engine->string(), session.device());
}

bool measures_in_runtime(const OptSettings& options) {
  return options.is_for_onnxruntime() && options.pricing.measures;
}

/// Finds errors that are visible before the model is read.
void check_places_first(const OptSettings& options, bool is_certified) {
  if (options.search != OptSettings::Search::backtracking && !search::has_cbc())
    throw EnvironmentError(fmt::format("--search saturation and both cannot be used: {}", search::no_cbc));
  // All later errors go to the log.
  if (options.console.log_file)
    check_weights_are_kept(std::vector{options.input}, {{"the log", *options.console.log_file}});
  if (options.pricing.file && !options.pricing.on_gpu && !measures_in_runtime(options))
    pricing::require_prices(*options.pricing.file);
  if (!options.dry_run) check_writable(options.output);
  if (!options.dry_run && is_standard_stream(options.output) && ::isatty(STDOUT_FILENO) == 1)
    throw UsageError("the standard output is a terminal: redirect it to a file or another program");
  if (options.engine) check_writable(*options.engine);
  if (options.report) check_writable(*options.report);
  if (options.html) check_writable(*options.html);
  if (is_certified) check_writable(certificate_file_of(options.output));
  if (is_certified && !options.force) check_certificate_place(options.output);
}

/// Reads the rules and proves those that are not known to be proved. `failures` lists rules that could not be proved.
SearchRules rules_for(const OptSettings& options, Console& console) {
  const RuleSet set =
      read_rule_set(options.rule_files, options.disabled_rules, options.extra_rules, options.has_partial_rules);
  for (std::size_t i = 0; i + set.extra < set.files.size() && options.rule_files.empty(); ++i)
    if (!set.proved[i])
      console.warning(
          fmt::format("{} has changed since it was proved; proving it again", on_one_line(set.files[i].source.name())));
  SearchRules rules = prove(set, options.jobs, console);
  for (const std::string& failure : rules.failures) console.error(failure);
  return rules;
}

/// The GPU that the options ask for, if there is one.
std::shared_ptr<gpu::Accelerator> gpu_for(const OptSettings& options, std::shared_ptr<gpu::Accelerator> given,
                                          Console& console) {
  if (!options.pricing.on_gpu || given) return given;
  std::string trouble;
  std::shared_ptr<gpu::Accelerator> gpu = gpu::open_accelerator(trouble);
  const std::string said = fmt::format("no GPU can be used: {}", trouble);
  if (!gpu && options.confirm) throw EnvironmentError(said);
  if (!gpu) console.warning(said + "; using earlier measurements");
  return gpu;
}

OnnxRuntime::Provider provider_of(const OptSettings& options) {
  return options.target == OptSettings::Target::onnxruntime_cuda ? OnnxRuntime::Provider::cuda
                                                                 : OnnxRuntime::Provider::cpu;
}

/// ONNX Runtime, if the model is to run there.
std::unique_ptr<OnnxRuntime> runtime_for(const OptSettings& options) {
  if (!measures_in_runtime(options) || options.coverage_only) return nullptr;
  OnnxRuntime::Options of_runtime;
  of_runtime.python = python_of(options.python);
  of_runtime.provider = provider_of(options);
  of_runtime.threads = thread_count(options.runtime_threads.value_or(0));
  of_runtime.patience = options.runtime_patience;
  return std::make_unique<OnnxRuntime>(of_runtime);
}

/// With --no-measuring: the machine whose recorded prices of ONNX Runtime count. Throws if none fits.
std::string machine_for(const OptSettings& options, std::int64_t opset, const cost::PriceDatabase& prices,
                        Console& console) {
  WantedPrices wanted;
  wanted.provider = name_of(provider_of(options));
  wanted.part_of_name = options.prices_of;
  if (!options.pricing.file)
    wanted.processor =
        options.target == OptSettings::Target::onnxruntime_cuda ? processor_with_gpu() : processor_name();
  if (options.runtime_threads) wanted.threads = thread_count(*options.runtime_threads);
  wanted.opset = opset;
  try {
    const RecordedMachine machine = choose_machine(prices, wanted);
    if (!options.runtime_threads && machine.threads != thread_count(0))
      console.warning(fmt::format("the prices are those of {} thread{}, not of one for each processor", machine.threads,
                                  machine.threads == 1 ? "" : "s"));
    if (machine.opset != opset)
      console.warning(fmt::format("the prices are those of opset {}, not of the model's {}", machine.opset, opset));
    return machine.name;
  } catch (const PricesMissing& missing) {
    if (options.coverage_only) return "";
    if (options.pricing.file)
      throw InputError(fmt::format("--no-measuring: {}: {}", options.pricing.file->string(), missing.reason));
    throw EnvironmentError(
        fmt::format("--no-measuring: {}; leave it out to measure, or name a file with --prices or a "
                    "machine with --prices-of",
                    missing.reason));
  }
}

/// Records in the model's metadata how it was made.
void describe_in(onnx::Model& model, const std::optional<SearchSummary>& search, bool is_certified) {
  set_metadata(model, "taso.version", std::string(program_version()));
  if (is_certified)  // the certificate's name is the model's name plus this
    set_metadata(model, "taso.certificate", ".cert");
  else
    remove_metadata(model, "taso.certificate");
  if (search) {
    set_metadata(model, "taso.rules", search->rules_hash);
    set_metadata(model, "taso.cost.before", fmt::format("{:.9g}", search->before));
    set_metadata(model, "taso.cost.after", fmt::format("{:.9g}", search->after));
  } else {  // metadata of an earlier run does not hold for this one
    for (const char* key : {"taso.rules", "taso.cost.before", "taso.cost.after"}) remove_metadata(model, key);
  }
}

/// From the first clean-up to a checked and certified model.
Candidate rewritten(const OptRun& run) {
  const OptSettings& options = run.options;
  Candidate candidate = with_file_name(options.input, [&] {
    run.phases.begin("clean-up", "cleaning up");
    Candidate found = clean(run);
    if (found.cleaned) {
      const Graph& graph = found.cleaned->graph;
      run.pricing.choose(graph, pricing::sizes_from(graph, run.shapes));
    }
    // The graphs of a training model refer to each other by name in ways that the main graph does not show.
    if (options.budget > 0 && run.model.proto().training_info_size() == 0) {
      run.phases.begin("search", "searching");
      found = improve(run, std::move(found), run.rules);
    }
    found = confirm(run, std::move(found));
    // From here on a result exists: an interrupt does not discard it.
    return check(run, std::move(found));
  });
  return certify(run, std::move(candidate));
}

/// Prints what is understood, and writes the report if one is wanted. Nothing is searched, checked or written.
ExitCode tell_coverage(const OptRun& run, Summary summary) {
  run.phases.begin("clean-up", "cleaning up");
  Candidate cleaned = with_file_name(run.options.input, [&] { return clean(run); });
  if (cleaned.cleaned) {
    const Graph& graph = cleaned.cleaned->graph;
    run.pricing.choose(graph, pricing::sizes_from(graph, run.shapes));
    summary.before.figures = summary.after.figures = figures_before(run, cleaned);
    summary.assumed = pricing::assumed_sizes(graph, run.shapes);
    add_work(*cleaned.coverage, *summary.before.figures);
  }
  run.phases.end();
  summary.coverage = std::move(cleaned.coverage);
  summary.passes = std::move(cleaned.passes);
  summary.prices = run.pricing.source();
  summary.seconds = run.phases.seconds();
  if (run.options.report) write_output(*run.options.report, report_of(summary));
  run.console.say(Level::warning, describe_coverage(summary));  // what was asked for: -q does not silence it
  return interrupted() ? ExitCode::interrupted : ExitCode::done;
}

/// This model's story, and then what holds for all models of its kind.
void explain(const Summary& summary, Console& console) {
  if (summary.details) console.say(Level::result, "\n" + story_of(*summary.details));
  if (!summary.search) return;
  const SearchSummary& search = *summary.search;
  if (!search.corrections.empty()) console.say(Level::result, search.corrections);
  console.say(Level::result, "\n" + search.selection);
  if (!search.selected.empty()) console.say(Level::detail, search.selected);
}

void conclude(const OptSettings& options, const Summary& summary, Console& console) {
  if (options.report) write_output(*options.report, report_of(summary));
  if (options.html) write_output(*options.html, page_of(report_of(summary), summary.details));
  console.say(Level::result, table_of(summary));
  if (options.html && !is_standard_stream(*options.html))
    console.say(Level::result, fmt::format("page: {}", on_one_line(options.html->string())));
  if (options.explain) explain(summary, console);
  console.verdict(!summary.failed(), summary.verdict());
}

}  // namespace

ExitCode optimise(const OptSettings& options, Console& console, std::shared_ptr<gpu::Accelerator> gpu,
                  const Spoil& spoil) {
  const bool is_certified = options.certificate && !options.dry_run && !is_standard_stream(options.output);
  check_places_first(options, is_certified);

  Summary summary;
  summary.input = options.input;
  summary.output = options.output;
  summary.samples = options.samples;
  summary.seed = options.seed;
  Phases phases(console);
  phases.begin("load", fmt::format("reading {}", options.input.string()));
  onnx::Model model = onnx::Model::load(options.input);
  model.validate();
  check_weights_are_kept(options, model);
  rules::RewriteCertificate certificate = begin_certificate(options);
  if (is_certified) certificate.input = onnx::hash_of_model(options.input, model);
  console.begin_log();
  summary.before = with_file_name(options.input, [&] { return count_model(model); });
  with_file_name(options.input, [&] { overwrite_input_shapes(model, options.new_shapes); });
  const onnx::CheckOptions checking = check_options(options, model.proto());

  const std::unique_ptr<OnnxRuntime> runtime = runtime_for(options);
  std::optional<RuntimeOperators> own_operators;
  if (runtime && options.allow_onnxruntime_operators) own_operators.emplace(*runtime);
  const bool searches = options.budget > 0 && !options.coverage_only;
  if (searches) phases.begin("rules", "reading the rules");
  const SearchRules rules = searches ? rules_for(options, console) : SearchRules{};
  if (!rules.failures.empty()) return ExitCode::unverified;
  if (interrupted()) {
    console.error("interrupted before there was anything to write");
    return ExitCode::interrupted;
  }

  const std::int64_t opset = onnx::opset_of(model.proto(), "");
  if (runtime) gpu = std::make_shared<RuntimePrices>(*runtime, opset);
  pricing::PricingOptions of_prices = options.pricing;
  if (options.is_for_onnxruntime() && !runtime)
    of_prices.machine = [&](const cost::PriceDatabase& prices) { return machine_for(options, opset, prices, console); };
  pricing::Pricing pricing(of_prices, gpu_for(options, std::move(gpu), console), measuring_on(console));
  OptRun run{model,   options, checking,    checking.shapes, rules,         pricing,
             console, phases,  certificate, spoil,           runtime.get(), own_operators ? &*own_operators : nullptr};
  for (const auto& [name, data] : checking.data) run.shapes[name] = data.extents();
  if (runtime) with_file_name(options.input, [&] { require_runs(run); });
  if (options.coverage_only) {
    summary.coverage_only = true;
    summary.after = summary.before;
    return tell_coverage(run, std::move(summary));
  }
  Candidate result = rewritten(run);

  phases.begin("save", options.dry_run ? "finishing" : fmt::format("writing {}", options.output.string()));
  describe_in(model, result.search, is_certified);
  if (options.annotate && result.draft->details) {
    const std::size_t count = annotate(model, *result.draft->details);
    console.say(Level::detail, fmt::format("{} nodes say where they come from", count));
  }
  try {
    model.validate();
  } catch (const InputError& error) {
    throw InternalError(fmt::format("the new model is invalid: {}", error.what()));
  }
  summary.after = count_model(model);
  summary.before.figures = result.draft->before;
  summary.after.figures = result.draft->after;
  summary.assumed = std::move(result.draft->assumed);
  summary.details = std::move(result.draft->details);
  summary.coverage = std::move(result.coverage);
  summary.passes = std::move(result.passes);
  summary.cleaned_nodes = result.cleaned_nodes;
  summary.search = std::move(result.search);
  summary.confirmed = result.confirmed;
  summary.in_runtime = std::move(result.in_runtime);
  summary.check = std::move(result.check);
  summary.prices = pricing.source();
  summary.measured = pricing.measured();
  summary.measuring = pricing.measuring();
  pricing.save();
  if (!options.dry_run && !summary.failed()) {
    if (!is_standard_stream(options.output)) remove_certificate(options.output);  // belongs to the replaced model
    summary.after.bytes = save(model, options);
    summary.written = true;
    if (is_certified) summary.certificate = write_certificate(std::move(result.draft->certificate), options);
  }
  if (options.engine && !summary.failed()) {
    phases.begin("engine", fmt::format("writing {}", options.engine->string()));
    summary.engine = write_engine_of(model.copy(), options, console);
  }
  phases.end();
  summary.seconds = phases.seconds();
  conclude(options, summary, console);
  if (summary.failed()) {
    console.error(fmt::format("{}: the check failed: {}; nothing is written", options.input.string(),
                              on_one_line(summary.check->reason)));
    return ExitCode::check_failed;
  }
  return interrupted() ? ExitCode::interrupted : ExitCode::done;
}

}  // namespace taso::cli
