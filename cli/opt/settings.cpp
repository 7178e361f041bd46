#include "cli/opt/settings.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/console/command_line.h"
#include "cli/console/exit_code.h"
#include "cli/console/option_values.h"
#include "cli/console/streams.h"
#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "ops/support/threads.h"
#include "ops/text/spelling.h"

namespace taso::cli {

std::string_view name_of_search(OptSettings::Search search) {
  switch (search) {
    case OptSettings::Search::backtracking: return "backtracking";
    case OptSettings::Search::saturation: return "saturation";
    case OptSettings::Search::both: return "both";
  }
  return "";
}

namespace {

/// The options as text. take_apart() splits the command line and lets only declared choices through; resolve()
/// interprets the values.
struct Raw {
  std::string model, second;
  std::string output, engine, budget, objective, device, prices, precision, lanes, alpha, min_gain, max_growth,
      time_budget, check, rtol, atol, seed, jobs, fold_limit, report, html, log_file, color, float_mode, bisect,
      reduce_with, search, target, python, runtime_threads, runtime_patience, prices_of;
  std::vector<std::string> input_data, test_shapes, new_shapes, disabled, rules, extra_rules, disabled_rules;
  bool external = false, embed = false, no_certificate = false, version = false, list_passes = false,
       list_rules = false, no_partial = false, no_measuring = false;
  int verbose = 0, quiet = 0;
};

/// "1e-3 for float32, …"
std::string text_of_tolerances(bool relative) {
  std::vector<std::string> parts;
  for (const ElementType type : {ElementType::float64, ElementType::float32, ElementType::float16}) {
    const onnx::Tolerance tolerance = onnx::Tolerance::of(type);
    parts.push_back(fmt::format("{:g} for {}", relative ? tolerance.rtol : tolerance.atol, ops::name_of(type)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void declare(CLI::App& app, Raw& raw, OptSettings& options) {
  // A flag takes one value at a time, so that it does not swallow the model that follows it.
  const auto many = [&](const std::string& flag, std::vector<std::string>& values, const std::string& about,
                        const std::string& type) {
    app.add_option(flag, values, about)
        ->type_name(type)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  const auto one = [&](const std::string& flag, std::string& value, const std::string& about, const std::string& type,
                       const std::string& group) { app.add_option(flag, value, about)->type_name(type)->group(group); };
  app.add_option("model", raw.model, "The ONNX model to read; - is the standard input")->type_name("FILE");
  app.add_option("result", raw.second, "The output, as with -o")->type_name("FILE");
  one("-o,--output", raw.output, "The model to write; - is the standard output", "FILE", "Options");
  one("--engine", raw.engine,
      "Write an engine file, which libtaso loads quickly: the model, and all that is known about running it on this "
      "machine",
      "FILE", "Options");
  app.add_flag("--dry-run", options.dry_run, "Do everything except writing the model");
  app.add_flag("--force", options.force,
               "Let the output replace the input, its weights, or a file in the place of the certificate");

  const std::string searching = "The search";
  one("--budget", raw.budget,
      fmt::format("Graphs that the search expands; 0: clean-ups only (default {})", options.budget), "N", searching);
  one("--time-budget", raw.time_budget,
      "Seconds after which the search ends, not counting measurements (default: no limit)", "S", searching);
  one("--search", raw.search,
      "How regions of the graph are improved: backtracking (tries rewrites one after the other), saturation (applies "
      "all rules, then chooses by integer programs, and tells how far from the best the result is at most) or both "
      "(default backtracking)",
      "backtracking|saturation|both", searching);
  one("--objective", raw.objective,
      "What to minimise: time (predicted), memory (peak of activations) or launches (of kernels) (default time)",
      "time|memory|launches", searching);
  one("--alpha", raw.alpha, "Keep graphs that cost less than X times the best (default 1.05)", "X", searching);
  one("--min-gain", raw.min_gain,
      "Percent that the result must save (default 1 with measured prices, 2 with predicted ones, else 0)", "P",
      searching);
  one("--max-growth", raw.max_growth,
      fmt::format("Percent by which the search may enlarge the weights (default {})", options.max_growth), "P",
      searching);

  const std::string ruling = "Rules";
  many("--rules", raw.rules,
       "Rules to use instead of those that come with taso; they are proved first; may be repeated", "FILE");
  many("--extra-rules", raw.extra_rules,
       "Rules to use in addition to the others; they are proved first; may be repeated", "FILE");
  many("--disable-rule", raw.disabled_rules, "Leave a rule out; may be repeated", "NAME");
  app.add_flag("--no-partial", raw.no_partial,
               "Leave out the rules that taso-gen --partial found (rules/partial.rules)");
  app.add_flag("--all-rules", options.all_rules,
               "Use all rules everywhere, not only those that paid off for this kind of network");
  for (const char* flag : {"--rules", "--extra-rules", "--disable-rule", "--no-partial", "--all-rules"})
    app.get_option(flag)->group(ruling);
  one("--float", raw.float_mode,
      "Rules to use, by their class in --list-rules, and strictness of the check: strict (results stay the same to the "
      "bit), usual (ordinary finite results stay finite) or fast (all rules) (default usual)",
      "strict|usual|fast", ruling);
  app.add_flag("--list-rules", raw.list_rules, "Print the rules and exit")->group(ruling)->configurable(false);

  const std::string pricing = "Prices";
  one("--device", raw.device,
      "cuda: measure kernels on this machine's GPU; auto: use what was measured before (default auto)", "cuda|auto",
      pricing);
  one("--prices", raw.prices,
      "File of measured prices; created by --device cuda (default $XDG_CACHE_HOME/taso/measured.prices)", "FILE",
      pricing);
  one("--precision", raw.precision, "How float32 is computed on the GPU (default tf32)", "tf32|fp32|fp16|bf16",
      pricing);
  one("--lanes", raw.lanes,
      fmt::format("Streams for concurrent kernels on a GPU; 1: sequential (default {})", gpu::usual_lanes), "N",
      pricing);
  app.add_flag("--confirm", options.confirm,
               "Run both models on the GPU; keep the rewrites only if they are faster there")
      ->group(pricing);

  const std::string elsewhere = "For ONNX Runtime";
  one("--target", raw.target,
      "Where the model will run: plan (our runtime; prices of a GPU), onnxruntime or onnxruntime:cuda (on this "
      "machine's CPU or GPU: prices are measured there, and the result is kept only if it is faster) (default plan)",
      "plan|onnxruntime|onnxruntime:cuda", elsewhere);
  one("--python", raw.python, "A Python that can import onnxruntime (default $TASO_PYTHON, or python3)", "FILE",
      elsewhere);
  one("--runtime-threads", raw.runtime_threads,
      "Threads of ONNX Runtime for an operator; 0: one for each processor (default 0)", "N", elsewhere);
  one("--runtime-patience", raw.runtime_patience,
      "Seconds without an answer after which ONNX Runtime counts as hanging (default 300)", "S", elsewhere);
  app.add_flag(
         "--no-measuring", raw.no_measuring,
         "Do not run ONNX Runtime: use the prices of --prices, or those that come with taso, and do not confirm the "
         "result")
      ->group(elsewhere);
  one("--prices-of", raw.prices_of,
      "For --no-measuring: use the prices of the machine whose name contains TEXT (default: this processor)", "TEXT",
      elsewhere);
  app.add_flag("--allow-onnxruntime-operators", options.allow_onnxruntime_operators,
               "May use operators that only ONNX Runtime has, where they are faster; other runtimes cannot run the "
               "result")
      ->group(elsewhere);

  const std::string checking = "The check";
  one("--check", raw.check, "Compare both models on N sets of random inputs; 0: do not compare (default 1)", "N",
      checking);
  one("--rtol", raw.rtol, fmt::format("Relative tolerance (default {})", text_of_tolerances(true)), "X", checking);
  one("--atol", raw.atol, fmt::format("Absolute tolerance (default {})", text_of_tolerances(false)), "X", checking);
  one("--seed", raw.seed, "Seed for the random inputs (default 0)", "N", checking);
  many("--input-data", raw.input_data, "Data for an input, instead of random values; may be repeated", "NAME:FILE.npy");
  many("--test-input-shape", raw.test_shapes, "Shape of an input, for the check and for prices only; may be repeated",
       "NAME:1,3,224,224");
  for (const char* flag : {"--input-data", "--test-input-shape"}) app.get_option(flag)->group(checking);

  const std::string changing = "The model";
  many("--overwrite-input-shape", raw.new_shapes,
       "Set the shape of an input in the model: unknown dimensions and the batch; may be repeated", "NAME:1,3,224,224");
  many("--disable-pass", raw.disabled, "Leave a clean-up out (--list-passes names them); may be repeated", "NAME");
  for (const char* flag : {"--overwrite-input-shape", "--disable-pass"}) app.get_option(flag)->group(changing);
  app.add_flag("--list-passes", raw.list_passes, "Print the clean-ups and exit")->group(changing)->configurable(false);
  one("--fold-limit", raw.fold_limit, "Largest constant to fold where that makes the file larger (default 1024)",
      "BYTES", changing);
  app.add_flag("--external-data", raw.external, "Put the weights into OUTPUT.data (default: where the input has them)")
      ->group(changing);
  app.add_flag("--embed", raw.embed, "Put all weights into the model file")->group(changing);

  app.add_flag("--no-certificate", raw.no_certificate,
               "Do not write OUTPUT.cert, by which taso-verify can check the result")
      ->group(changing);

  app.add_flag(
         "--annotate", options.annotate,
         "Note in each new node which rule made it of which nodes (taso.rule, taso.from), as metadata or, below IR "
         "version 10, documentation")
      ->group(changing);

  const std::string faults = "Finding faults";
  one("--bisect", raw.bisect,
      "Write nothing; replay the certificate of the output of an earlier run, and find the first rewrite after which "
      "an output differs by more than X of its largest magnitude",
      "X", faults);
  app.add_flag("--reduce", options.reduce,
               "Write a part of the model, as small as possible, on which taso-opt with the other options still fails "
               "(exit 1 or 4, or a crash)")
      ->group(faults);
  one("--reduce-with", raw.reduce_with,
      "The same for a shell command that fails; {} in it is the model, else the model is its last argument", "COMMAND",
      faults);

  const std::string saying = "Output";
  one("--report", raw.report, "Write a report, as JSON; - is the standard output", "FILE", saying);
  one("--html", raw.html, "Write a page about the run, which any browser shows: both graphs, times, rules", "FILE",
      saying);
  app.add_flag("--explain", options.explain,
               "Tell what changed where, by which rules and why, and which rules were chosen")
      ->group(saying);
  app.add_flag("--coverage", options.coverage_only,
               "Print what taso understands of the model, what runs on the host, and why; write no model")
      ->group(saying);
  app.add_flag("-v,--verbose", raw.verbose, "Print more; may be repeated")->group(saying);
  app.add_flag("-q,--quiet", raw.quiet, "Print less; may be repeated")->group(saying);
  one("--log-file", raw.log_file, "Append all messages, at every verbosity, to FILE", "FILE", saying);
  one("--color", raw.color, "Colour of messages (default auto)", "auto|always|never", saying);
  one("--jobs", raw.jobs, "Threads; 0: one for each processor (default 0)", "N", saying);
  app.get_option("--jobs")->group("Options");
  app.add_flag("--version", raw.version, "Print versions and exit")->group(saying)->configurable(false);
}

std::set<std::string, std::less<>> known_passes(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const onnx::CleanupPass& pass : onnx::cleanup_passes()) known.emplace_back(pass.name);
  for (const auto& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(fmt::format("unknown clean-up '{}'{}; known clean-ups: {}", on_one_line(name),
                                   did_you_mean(name, known), fmt::join(known, ", ")));
  return {names.begin(), names.end()};
}

void resolve_files(const Raw& raw, OptSettings& options) {
  if (raw.model.empty()) throw UsageError("no model is given");
  options.input = raw.model;
  if (!raw.output.empty() && !raw.second.empty())
    throw UsageError("the output is given twice, by -o and as second file");
  options.output = raw.output.empty() ? raw.second : raw.output;
  options.engine = named_file("--engine", raw.engine);
  if (options.engine && options.dry_run) throw UsageError("--dry-run writes nothing: leave out --engine");
  if (options.engine && options.output.empty()) options.dry_run = true;  // no model
  if (options.coverage_only && (!options.output.empty() || options.engine || !raw.html.empty()))
    throw UsageError("--coverage writes no model and no page: leave out the output, --engine and --html");
  if (options.coverage_only) options.dry_run = true;
  if (options.output.empty() && !options.dry_run)
    throw UsageError("no output is given: add -o FILE, --engine FILE or --dry-run");
  if (!raw.report.empty()) options.report = raw.report;
  if (!raw.html.empty()) options.html = raw.html;
  options.console.log_file = named_file("--log-file", raw.log_file);
  if (options.output != "-") return;
  if (raw.external) throw UsageError("--external-data needs a named output file: the weights are written beside it");
  options.weights = onnx::SaveOptions::Weights::embedded;
}

OptSettings::Search search_named(const std::string& name) {
  for (const auto search : {OptSettings::Search::backtracking, OptSettings::Search::saturation})
    if (name_of_search(search) == name) return search;
  return OptSettings::Search::both;
}

void resolve_search(const Raw& raw, OptSettings& options) {
  if (!raw.search.empty()) options.search = search_named(raw.search);
  if (!raw.budget.empty()) options.budget = whole_number("--budget", raw.budget, 1'000'000'000);
  if (!raw.objective.empty()) options.objective = cost::objective_named(raw.objective).value();
  if (options.search != OptSettings::Search::backtracking && options.objective == cost::Objective::memory)
    throw UsageError("--search saturation and both need --objective time or launches: memory has no bound");
  if (!raw.alpha.empty()) options.alpha = number_between("--alpha", raw.alpha, 1, 100);
  if (!raw.min_gain.empty()) options.min_gain = number_between("--min-gain", raw.min_gain, 0, 100);
  if (!raw.max_growth.empty()) options.max_growth = number_between("--max-growth", raw.max_growth, 0, 1'000'000);
  if (!raw.time_budget.empty()) options.time_budget = number_from_zero("--time-budget", raw.time_budget);
  options.pricing.on_gpu = raw.device == "cuda";
  if (options.confirm && !options.pricing.on_gpu) throw UsageError("--confirm needs --device cuda");
  options.pricing.file = named_file("--prices", raw.prices);
  if (!raw.precision.empty()) options.pricing.precision = cost::precision_named(raw.precision).value();
  if (!raw.lanes.empty())
    options.pricing.lanes = static_cast<std::uint32_t>(whole_number("--lanes", raw.lanes, gpu::usual_lanes, 1));
  if (!raw.float_mode.empty()) options.float_mode = rules::float_mode_named(raw.float_mode).value();
  const bool speaks_of_it = options.all_rules || options.explain || !raw.search.empty() || !raw.objective.empty() ||
                            !raw.alpha.empty() || !raw.min_gain.empty() || !raw.max_growth.empty() ||
                            !raw.time_budget.empty() || !raw.rules.empty() || !raw.extra_rules.empty() ||
                            !raw.disabled_rules.empty() || raw.no_partial || !raw.float_mode.empty();
  if (speaks_of_it && options.budget == 0) throw UsageError("--budget 0 cannot be combined with search options");
}

void resolve_target(const Raw& raw, OptSettings& options) {
  const bool is_cpu = raw.target == "onnxruntime", is_cuda = raw.target == "onnxruntime:cuda";
  const bool speaks_of_it = raw.no_measuring || !raw.python.empty() || !raw.runtime_threads.empty() ||
                            !raw.runtime_patience.empty() || !raw.prices_of.empty() ||
                            options.allow_onnxruntime_operators;
  if (!is_cpu && !is_cuda) {
    if (speaks_of_it)
      throw UsageError(
          "--python, --runtime-threads, --runtime-patience, --no-measuring, --prices-of and "
          "--allow-onnxruntime-operators need --target onnxruntime");
    return;
  }
  options.target = is_cuda ? OptSettings::Target::onnxruntime_cuda : OptSettings::Target::onnxruntime;
  if (!raw.device.empty() || !raw.precision.empty() || !raw.lanes.empty() || options.engine)
    throw UsageError("--device, --precision, --lanes and --engine are about our own plan, not --target onnxruntime");
  if (options.objective != cost::Objective::time) throw UsageError("--target onnxruntime minimises time only");
  if (options.allow_onnxruntime_operators && raw.no_measuring)
    throw UsageError("--allow-onnxruntime-operators measures where they are faster, which --no-measuring forbids");
  if (!raw.prices_of.empty() && !raw.no_measuring)
    throw UsageError("--prices-of needs --no-measuring: measured prices are those of this machine");
  options.python = raw.python;
  options.prices_of = raw.prices_of;
  options.pricing.for_onnxruntime = true;
  options.pricing.on_processor = options.target == OptSettings::Target::onnxruntime;
  options.pricing.with_own = true;
  // What is measured is not mixed with what others measured, nor is a file of the user's own.
  options.pricing.with_shipped = raw.no_measuring && raw.prices.empty();
  options.pricing.precision = cost::Precision::fp32;
  options.pricing.lanes = 1;
  options.pricing.measures = !raw.no_measuring;
  if (!raw.runtime_threads.empty())
    options.runtime_threads = static_cast<unsigned>(whole_number("--runtime-threads", raw.runtime_threads, 4096));
  if (options.runtime_threads == 0u) options.runtime_threads.reset();  // the default
  if (!raw.runtime_patience.empty())
    options.runtime_patience = number_from_zero("--runtime-patience", raw.runtime_patience);
}

void resolve_rules(const Raw& raw, OptSettings& options) {
  for (const auto& file : raw.rules) options.rule_files.emplace_back(file);
  for (const auto& file : raw.extra_rules) options.extra_rules.emplace_back(file);
  std::ptrdiff_t standard = raw.model == "-" ? 1 : 0;
  for (const auto* list : {&raw.rules, &raw.extra_rules}) standard += std::count(list->begin(), list->end(), "-");
  if (standard > 1) throw UsageError("the standard input can be read only once");
  options.disabled_rules = raw.disabled_rules;
  if (raw.no_partial && !raw.rules.empty())
    throw UsageError("--no-partial cannot be combined with --rules, which replaces the rules that come with taso");
  options.has_partial_rules = !raw.no_partial;
}

void resolve(const Raw& raw, OptSettings& options) {
  constexpr auto large = std::numeric_limits<std::uint64_t>::max();
  resolve_files(raw, options);
  resolve_search(raw, options);
  resolve_target(raw, options);
  resolve_rules(raw, options);
  if (!raw.check.empty()) options.samples = static_cast<unsigned>(whole_number("--check", raw.check, 1'000'000));
  if (!raw.rtol.empty()) options.rtol = number_from_zero("--rtol", raw.rtol);
  if (!raw.atol.empty()) options.atol = number_from_zero("--atol", raw.atol);
  if (!raw.seed.empty()) options.seed = whole_number("--seed", raw.seed, large);
  if (!raw.jobs.empty()) options.jobs = static_cast<unsigned>(whole_number("--jobs", raw.jobs, 4096));
  options.pricing.threads = thread_count(options.jobs);
  if (!raw.fold_limit.empty())
    options.fold_limit = static_cast<std::size_t>(whole_number("--fold-limit", raw.fold_limit, std::size_t{1} << 40));
  for (const auto& text : raw.test_shapes) options.test_shapes.push_back(parse_input_shape(text));
  for (const auto& text : raw.new_shapes) options.new_shapes.push_back(parse_input_shape(text));
  options.input_data = raw.input_data;
  options.disabled_passes = known_passes(raw.disabled);
  if (raw.float_mode == rules::name_of(rules::FloatMode::strict))
    options.disabled_passes.insert({"batch-norm", "neutral-operand"});  // rounding; -0 + 0 is 0
  options.certificate = !raw.no_certificate;
  if (raw.external && raw.embed) throw UsageError("--external-data and --embed cannot be combined");
  if (raw.external) options.weights = onnx::SaveOptions::Weights::external;
  if (raw.embed) options.weights = onnx::SaveOptions::Weights::embedded;
}

/// The requests beside optimising: they read or write the output in their own way.
OptCommand::Kind resolve_faults(const Raw& raw, const CLI::App& app, OptSettings& options) {
  if (!raw.reduce_with.empty()) {
    options.reduce = true;
    options.reduce_command = raw.reduce_with;
  }
  if (raw.bisect.empty() && !options.reduce) return OptCommand::Kind::optimise;
  if (!raw.bisect.empty() && options.reduce) throw UsageError("--bisect and --reduce cannot be combined");
  const char* const flag = options.reduce ? "--reduce" : "--bisect";
  if (options.dry_run || options.engine || options.report || options.html || options.annotate || options.coverage_only)
    throw UsageError(fmt::format(
        "{} cannot be combined with --dry-run, --engine, --report, --html, --annotate or --coverage", flag));
  if (!options.reduce) {
    options.bisect = number_from_zero("--bisect", raw.bisect);
    if (is_standard_stream(options.output) || is_standard_stream(options.input))
      throw UsageError("--bisect needs named files: the model, and the output of an earlier run");
    options.dry_run = true;  // nothing is written
    return OptCommand::Kind::bisect;
  }
  static const std::set<std::string, std::less<>> own{"output",  "reduce",   "reduce-with", "force",  "quiet",
                                                      "verbose", "log-file", "color",       "config", "no-certificate"};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || own.contains(option->get_lnames().front())) continue;
    const std::string name = "--" + option->get_lnames().front();
    for (const std::string& value : option->results())
      options.passed_on.push_back(option->get_items_expected_max() == 0 ? name : name + "=" + value);
  }
  options.certificate = false;
  return OptCommand::Kind::reduce;
}

}  // namespace

OptCommand parse_opt_command(int argc, const char* const* argv) {
  OptCommand command;
  Raw raw;
  CLI::App app("Rewrites an ONNX model into a faster one that computes the same.", "taso-opt");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(
      "Examples:\n"
      "  taso-opt model.onnx -o fast.onnx\n"
      "  taso-opt model.onnx -o fast.onnx --html report.html\n"
      "  taso-opt model.onnx -o fast.onnx --test-input-shape input:1,3,224,224\n"
      "  taso-opt model.onnx fast.onnx --bisect 1e-4");
  declare(app, raw, command.options);
  if (auto help = take_apart(app, argc, argv)) {
    command.kind = OptCommand::Kind::help;
    command.help = std::move(*help);
    return command;
  }
  command.options.console.program = "taso-opt";
  command.options.console.verbosity = raw.verbose - raw.quiet;
  command.options.console.color = color_named(raw.color);
  if (raw.version || raw.list_passes) {
    command.kind = raw.version ? OptCommand::Kind::version : OptCommand::Kind::list_passes;
    return command;
  }
  if (raw.list_rules) {
    command.kind = OptCommand::Kind::list_rules;
    resolve_rules(raw, command.options);
    return command;
  }
  resolve(raw, command.options);
  command.kind = resolve_faults(raw, app, command.options);
  return command;
}

}  // namespace taso::cli
