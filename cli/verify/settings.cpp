#include "cli/verify/settings.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/console/command_line.h"
#include "cli/console/exit_code.h"
#include "cli/console/option_values.h"
#include "cli/files/places.h"

namespace taso::cli {
namespace {

/// The options as text. CLI11 only splits the command line; resolve() interprets the values.
struct Raw {
  std::vector<std::string> files, rules, extra_rules;
  std::string properties, time_limit, jobs, seed, second_prover;
  std::string certificate, report, junit, certificates, record, cache, log_file, color, explain;
  bool agreement = false, no_cache = false, print = false, version = false;
  int verbose = 0, quiet = 0;
};

void declare(CLI::App& app, Raw& raw, VerifySettings& settings) {
  const auto one = [&](const std::string& flag, std::string& value, const std::string& about, const std::string& type,
                       const std::string& group) { app.add_option(flag, value, about)->type_name(type)->group(group); };
  app.add_option("files", raw.files,
                 "Rule files, as text or TASO's (.pb); - is the standard input. With --certificate: the two models")
      ->type_name("FILE");
  one("--jobs", raw.jobs, "Threads; 0: one for each processor (default 0)", "N", "Options");
  app.add_flag("--print", raw.print, "Print the rules as text and exit")->configurable(false);
  app.add_flag("--agreement", raw.agreement,
               "Print where the two sides of each rule are equal, true or not: i2 is the index along axis 2");

  one("--explain", raw.explain,
      "Print why one rule is true or false, step by step: a rule of the files or, without any, one that comes with "
      "taso; with --certificate, without RULE: what each rewrite does",
      "RULE", "Options");

  const std::string proving = "Proofs";
  one("--time-limit", raw.time_limit,
      fmt::format("Time limit for one rule in seconds, besides its step limit; 0: none (default {:g})",
                  settings.proving.time_limit),
      "S", proving);
  one("--seed", raw.seed, fmt::format("Seed for the shapes and values to try (default {})", settings.proving.seed), "N",
      proving);
  one("--second-prover", raw.second_prover, "Check every proof with cvc5 too: its name or path", "cvc5", proving);
  one("--dump-smt", raw.certificates, "Write every proof to a folder, as SMT-LIB", "DIR", proving);
  one("--cache", raw.cache, "Folder of known proofs (default $XDG_CACHE_HOME/taso/proofs)", "DIR", proving);
  app.add_flag("--no-cache", raw.no_cache,
               "Prove everything again and keep nothing; with --certificate, the rules of its steps")
      ->group(proving);

  const std::string replaying = "Certificates";
  one("--certificate", raw.certificate,
      "Replay the certificate that taso-opt wrote; the files are its input and its output", "FILE", replaying);
  app.add_option("--rules", raw.rules,
                 "With --certificate: the rules that were used, if not the shipped ones; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(replaying);

  app.add_option("--extra-rules", raw.extra_rules, "With --certificate: the rules that were added; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(replaying);

  const std::string properties = "Properties";
  one("--properties", raw.properties, "Properties of operators to prove from, instead of the shipped ones", "FILE",
      properties);
  app.add_flag("--properties-only", settings.properties_only, "Validate the properties only")->group(properties);
  app.add_flag("--redundant", settings.redundant, "With --properties-only: also show which follow from the others")
      ->group(properties);

  const std::string saying = "Output";
  one("--report", raw.report, "Write all verdicts, as JSON; - is the standard output", "FILE", saying);
  one("--record", raw.record, "If all rules are proved: record the files, for programs that trust the record", "FILE",
      saying);
  one("--junit", raw.junit, "Write all verdicts as a JUnit report, for build servers", "FILE", saying);
  app.add_flag("-v,--verbose", raw.verbose, "Print more; may be repeated")->group(saying);
  app.add_flag("-q,--quiet", raw.quiet, "Print less; may be repeated")->group(saying);
  one("--log-file", raw.log_file, "Append all messages, at every verbosity, to FILE", "FILE", saying);
  one("--color", raw.color, "Colour of messages (default auto)", "auto|always|never", saying);
  app.add_flag("--version", raw.version, "Print versions and exit")->group(saying)->configurable(false);
}

void resolve_files(const Raw& raw, VerifySettings& settings) {
  const auto file = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::filesystem::path>(text);
  };
  settings.files.assign(raw.files.begin(), raw.files.end());
  settings.properties = file(raw.properties);
  settings.report = file(raw.report);
  settings.junit = file(raw.junit);
  settings.certificates = named_file("--dump-smt", raw.certificates);
  settings.record = file(raw.record);
  settings.cache = named_file("--cache", raw.cache);
  settings.console.log_file = named_file("--log-file", raw.log_file);
  settings.certificate = file(raw.certificate);
  settings.rules.assign(raw.rules.begin(), raw.rules.end());
  settings.extra_rules.assign(raw.extra_rules.begin(), raw.extra_rules.end());
  if (settings.certificate) {
    if (settings.files.size() != 2) throw UsageError("--certificate needs two models: the input and the output");
    const bool about_proofs = settings.properties || settings.junit || settings.certificates || settings.record ||
                              settings.cache || settings.properties_only || settings.redundant || raw.print ||
                              raw.agreement || !raw.second_prover.empty() || !raw.time_limit.empty() ||
                              !raw.seed.empty();
    if (about_proofs)
      throw UsageError(
          "--certificate can only be combined with --rules, --extra-rules, --no-cache, --jobs, --report and --explain");
  }
  const std::vector<const std::vector<std::filesystem::path>*> lists{&settings.files, &settings.rules,
                                                                     &settings.extra_rules};
  std::ptrdiff_t standard = settings.certificate == "-" ? 1 : 0;
  for (const auto* list : lists) standard += std::count(list->begin(), list->end(), "-");
  if (standard + (settings.properties == "-" ? 1 : 0) > 1) throw UsageError("the standard input can be read only once");
  if (settings.certificate) {
    if (!raw.explain.empty()) settings.explained = raw.explain;
    return;
  }
  if (!settings.rules.empty() || !settings.extra_rules.empty())
    throw UsageError("--rules and --extra-rules need --certificate; name rule files without an option");
  if (!raw.explain.empty()) {
    settings.explained = raw.explain;
    if (raw.agreement || raw.print || settings.properties_only || settings.report || settings.junit ||
        settings.certificates || settings.record || settings.cache || !raw.second_prover.empty())
      throw UsageError("--explain can only be combined with --properties, --time-limit and --seed");
  }
  if (raw.agreement &&
      (settings.properties || settings.junit || settings.certificates || settings.record || settings.cache ||
       settings.properties_only || raw.print || raw.no_cache || !raw.second_prover.empty()))
    throw UsageError("--agreement can only be combined with --jobs, --seed, --time-limit and --report");
  if (settings.properties_only && !settings.files.empty())
    throw UsageError("--properties-only takes no rule files; name the properties with --properties");
  if (!settings.properties_only && settings.files.empty() && !settings.explained)
    throw UsageError("no rule file is given");
  if (settings.redundant && !settings.properties_only) throw UsageError("--redundant needs --properties-only");
  if (settings.properties_only && settings.record)
    throw UsageError("--record cannot be combined with --properties-only");
  if (settings.properties_only && (settings.certificates || !raw.second_prover.empty()))
    throw UsageError("--properties-only cannot be combined with --dump-smt or --second-prover");
}

void resolve(const Raw& raw, VerifySettings& settings) {
  resolve_files(raw, settings);
  if (!raw.jobs.empty()) settings.jobs = static_cast<unsigned>(whole_number("--jobs", raw.jobs, 4096));
  if (!raw.seed.empty())
    settings.proving.seed = whole_number("--seed", raw.seed, std::numeric_limits<std::uint64_t>::max());
  if (!raw.time_limit.empty()) settings.proving.time_limit = number_from_zero("--time-limit", raw.time_limit);
  if (!raw.second_prover.empty()) settings.second_prover = raw.second_prover;
  if (raw.no_cache && settings.cache) throw UsageError("--cache and --no-cache cannot be combined");
  settings.use_cache = !raw.no_cache;
  settings.proving.keep_certificates = settings.keeps_certificates();
}

/// With --certificate, --explain takes no rule: what follows is a model.
std::vector<const char*> with_explained_certificate(int argc, const char* const* argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  const auto is_certificate = [](std::string_view one) {
    return one == "--certificate" || one.starts_with("--certificate=");
  };
  if (std::any_of(arguments.begin(), arguments.end(), is_certificate))
    for (const char*& one : arguments)
      if (std::string_view(one) == "--explain") one = "--explain=all";
  return arguments;
}

}  // namespace

VerifyCommand parse_verify_command(int argc, const char* const* argv) {
  VerifyCommand command;
  Raw raw;
  CLI::App app("Proves or refutes rewrite rules of tensor programs, for all shapes.", "taso-verify");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(
      "Examples:\n"
      "  taso-verify my.rules --report report.json\n"
      "  taso-verify my.rules --explain my-rule\n"
      "  taso-verify --certificate fast.onnx.cert model.onnx fast.onnx");
  declare(app, raw, command.settings);
  const std::vector<const char*> arguments = with_explained_certificate(argc, argv);
  if (auto help = take_apart(app, argc, arguments.data())) {
    command.kind = VerifyCommand::Kind::help;
    command.help = std::move(*help);
    return command;
  }
  command.settings.console.program = "taso-verify";
  command.settings.console.verbosity = raw.verbose - raw.quiet;
  command.settings.console.color = color_named(raw.color);
  if (raw.version) {
    command.kind = VerifyCommand::Kind::version;
    return command;
  }
  if (raw.agreement) command.kind = VerifyCommand::Kind::agreement;
  if (!raw.explain.empty()) command.kind = VerifyCommand::Kind::explain;
  if (raw.print) command.kind = VerifyCommand::Kind::print;
  if (!raw.certificate.empty()) command.kind = VerifyCommand::Kind::certificate;
  resolve(raw, command.settings);
  return command;
}

void check_places(const VerifySettings& settings) {
  std::vector<Place> read, written;
  if (settings.certificate) read.push_back({"the certificate", *settings.certificate});
  for (const auto* list : {&settings.rules, &settings.extra_rules})
    for (const auto& file : *list) read.push_back({"the rule file", file});
  for (const auto& file : settings.files) read.push_back({settings.certificate ? "the model" : "the rule file", file});
  if (settings.properties) read.push_back({"the properties", *settings.properties});
  if (settings.report) written.push_back({"the report", *settings.report});
  if (settings.junit) written.push_back({"the JUnit report", *settings.junit});
  if (settings.record) written.push_back({"the record", *settings.record});
  if (settings.console.log_file) written.push_back({"the log", *settings.console.log_file});
  check_apart(read, written);
}

}  // namespace taso::cli
