#include "cli/gen/settings.h"

#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/console/command_line.h"
#include "cli/console/exit_code.h"
#include "cli/console/option_values.h"
#include "cli/files/places.h"
#include "cli/files/property_file.h"
#include "cli/gen/operator_sets.h"
#include "ops/support/data_files.h"

namespace taso::cli {
namespace {

/// The limit of the enumeration: indices in a term are bytes.
constexpr std::size_t most_operators = 8;

// The step limit is the one that counts: the clock of a busy machine must not decide what is found. But with five
// operators so many candidates stay open that two minutes for each would take too long.
constexpr double limit_of_few = 120, limit_of_many = 10;
// What is written must be proved again on slower machines, in the usual 10 s.
constexpr double limit_of_partial = 2;

/// The options as text. CLI11 only splits the command line; resolve() interprets the values.
struct Raw {
  std::string output, operators, operator_sets, max_operators, properties, seed, jobs, memory_limit, time_limit;
  std::string report, rejected, checkpoint, stated, log_file, color;
  std::string least_share, kinds, show;
  std::vector<std::string> shown_files;
  bool all = false, partial = false, resume = false, list_operators = false, version = false;
  int verbose = 0, quiet = 0;
};

void declare(CLI::App& app, Raw& raw, const GenSettings& settings) {
  const auto one = [&](const std::string& flag, std::string& value, const std::string& about, const std::string& type,
                       const std::string& group) {
    app.add_option(flag, value, about)
        ->type_name(type)
        ->group(group)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  app.add_option("files", raw.shown_files, "With --show: the rule files (default: the shipped ones)")
      ->type_name("FILE");
  one("-o,--output", raw.output, "The rule file to write; with --show, the picture (default: standard output)", "FILE",
      "Options");
  one("--show", raw.show, "Draw a rule, by its name or number, as an SVG picture, and exit", "RULE", "Options");
  app.get_option("--show")->configurable(false);
  one("--jobs", raw.jobs, "Threads; 0: one for each processor (default 0)", "N", "Options");
  one("--memory-limit", raw.memory_limit, "Memory to use, such as 512M (default 4G)", "SIZE", "Options");

  const std::string programs = "Programs to compare";
  one("--operators", raw.operators,
      fmt::format("Sets and operators, separated by commas; --list-operators names them (default {})",
                  settings.operators),
      "NAMES", programs);
  one("--operator-sets", raw.operator_sets, "Named sets of operators, instead of the shipped ones", "FILE", programs);
  app.add_flag("--list-operators", raw.list_operators, "Print the sets and all operators, and exit")
      ->group(programs)
      ->configurable(false);
  one("--max-ops", raw.max_operators,
      fmt::format("The largest number of operators in a program (default {})", settings.max_operators), "N", programs);
  one("--seed", raw.seed, fmt::format("Seed for the inputs of fingerprints (default {})", settings.seed), "N",
      programs);

  const std::string proving = "Proofs";
  one("--properties", raw.properties, "Operator properties, instead of the shipped ones", "FILE", proving);
  one("--time-limit", raw.time_limit,
      fmt::format("Time limit for one proof in seconds, besides its step limit; 0: none (default {:g}, {:g} above four "
                  "operators, {:g} with --partial)",
                  limit_of_few, limit_of_many, limit_of_partial),
      "S", proving);

  const std::string choosing = "Selection";
  app.add_flag("--all", raw.all,
               "Write all proved rules, even those that searches cannot use or that follow from others")
      ->group(choosing);
  one("--stated", raw.stated, "Rules that need not be found again, instead of the shipped ones written by hand", "FILE",
      choosing);

  const std::string partly = "Partly right programs";
  app.add_flag("--partial", raw.partial,
               "Find programs that compute most of an operator's output faster, with the rest corrected")
      ->group(partly);
  one("--least-share", raw.least_share, "The least part of the output on which a program is right (default 0.5)", "S",
      partly);
  one("--kinds", raw.kinds, "The kinds of programs to write, separated by commas (default all); --report lists them",
      "NAMES", partly);

  const std::string again = "Resuming";
  one("--checkpoint", raw.checkpoint, "Where to keep decisions until the end (default OUTPUT.checkpoint)", "FILE",
      again);
  app.add_flag("--resume", raw.resume, "Continue the run that left the checkpoint")->group(again);

  const std::string saying = "Output";
  one("--report", raw.report, "Write a report, as JSON; - is the standard output", "FILE", saying);
  one("--rejected", raw.rejected, "Write the candidates that are refuted or not proved, with reasons", "FILE", saying);
  app.add_flag("-v,--verbose", raw.verbose, "Print more; may be repeated")->group(saying);
  app.add_flag("-q,--quiet", raw.quiet, "Print less; may be repeated")->group(saying);
  one("--log-file", raw.log_file, "Append all messages, at every verbosity, to FILE", "FILE", saying);
  one("--color", raw.color, "Colour of messages (default auto)", "auto|always|never", saying);
  app.add_flag("--version", raw.version, "Print versions and exit")->group(saying)->configurable(false);
}

std::optional<std::filesystem::path> file_named(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::filesystem::path>(text);
}

/// What only a search for partly right programs has, and what it has not.
void resolve_partial(const Raw& raw, GenSettings& settings) {
  const auto refuse = [](const std::string& value, const char* option, const char* reason) {
    if (!value.empty()) throw UsageError(fmt::format("{} {}", option, reason));
  };
  if (!raw.partial) {
    refuse(raw.least_share, "--least-share", "needs --partial");
    refuse(raw.kinds, "--kinds", "needs --partial");
    return;
  }
  const char* const reason = "cannot be combined with --partial, which has operators and samples of its own";
  refuse(raw.operators, "--operators", reason);
  refuse(raw.operator_sets, "--operator-sets", reason);
  refuse(raw.max_operators, "--max-ops", reason);
  refuse(raw.seed, "--seed", reason);
  refuse(raw.stated, "--stated", reason);
  refuse(raw.checkpoint, "--checkpoint", "cannot be combined with --partial, which takes minutes");
  if (raw.resume) throw UsageError("--resume cannot be combined with --partial, which takes minutes");
  if (raw.all) throw UsageError("--all cannot be combined with --partial, which leaves nothing out");
  settings.is_partial = true;
  if (!raw.least_share.empty()) settings.least_share = number_from_zero("--least-share", raw.least_share);
  if (settings.least_share > 1)
    throw UsageError(fmt::format("--least-share: {} is more than the whole output, which is 1", raw.least_share));
  std::istringstream kinds(raw.kinds);
  for (std::string kind; std::getline(kinds, kind, ',');)
    if (!kind.empty()) settings.kinds.push_back(kind);
  if (!raw.kinds.empty() && settings.kinds.empty()) throw UsageError("--kinds names no kind");
  // The normal form is the prover of these rules; they are few.
  settings.proving.normal_form = true;
  if (raw.time_limit.empty()) settings.proving.time_limit = limit_of_partial;
}

/// Only the output matters for a picture.
void resolve_show(const Raw& raw, const CLI::App& app, GenSettings& settings) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const bool fits = name == "files" || name == "-o,--output" || name == "--output" || name == "--show" ||
                      name == "--verbose" || name == "--quiet" || name == "--color" || name == "--config";
    if (option->count() > 0 && !fits) throw UsageError(fmt::format("--show cannot be combined with {}", name));
  }
  settings.output = raw.output.empty() ? "-" : raw.output;
  settings.shown = raw.show;
  settings.shown_files.assign(raw.shown_files.begin(), raw.shown_files.end());
  std::vector<Place> read;
  for (const auto& file : settings.shown_files) read.push_back({"the rule file", file});
  check_apart(read, {{"the picture", settings.output}});
}

void resolve(const Raw& raw, GenSettings& settings) {
  if (!raw.shown_files.empty())
    throw UsageError(fmt::format("unexpected argument '{}'; rule files go with --show", raw.shown_files.front()));
  if (raw.output.empty()) throw UsageError("no output is given: -o names the rule file to write");
  if (raw.output == "-")
    throw UsageError("-o needs a file name, because decisions are kept beside it; '-' is not accepted here");
  settings.output = raw.output;
  settings.properties = file_named(raw.properties);
  settings.report = file_named(raw.report);
  settings.rejected = file_named(raw.rejected);
  settings.checkpoint = named_file("--checkpoint", raw.checkpoint).value_or(raw.output + ".checkpoint");
  settings.resume = raw.resume;
  if (raw.all && !raw.stated.empty())
    throw UsageError("--stated cannot be combined with --all, which leaves nothing out");
  settings.selects = !raw.all;
  settings.stated = file_named(raw.stated);
  settings.console.log_file = named_file("--log-file", raw.log_file);
  if (!raw.max_operators.empty())
    settings.max_operators = whole_number("--max-ops", raw.max_operators, most_operators, 1);
  if (!raw.seed.empty()) settings.seed = whole_number("--seed", raw.seed, std::numeric_limits<std::uint32_t>::max());
  if (!raw.jobs.empty()) settings.jobs = static_cast<unsigned>(whole_number("--jobs", raw.jobs, 4096));
  if (!raw.memory_limit.empty()) settings.memory_limit = byte_count("--memory-limit", raw.memory_limit);
  settings.proving.time_limit = settings.max_operators > 4 ? limit_of_many : limit_of_few;
  if (!raw.time_limit.empty()) settings.proving.time_limit = number_from_zero("--time-limit", raw.time_limit);
  resolve_partial(raw, settings);
}

}  // namespace

GenCommand parse_gen_command(int argc, const char* const* argv) {
  GenCommand command;
  // The prover is asked thousands of times; taso-verify checks the written rules again.
  command.settings.proving.second_opinion = false;
  // If the properties do not prove a rule, a property may be missing.
  command.settings.proving.normal_form = false;
  command.settings.proving.conditions = 4;
  command.settings.proving.effort = 1'000'000;
  Raw raw;
  CLI::App app("Finds rewrite rules: enumerates small tensor programs and proves some equal.", "taso-gen");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(
      "Examples:\n"
      "  taso-gen -o my.rules --operators taso --max-ops 3\n"
      "  taso-gen -o my.rules --resume --report report.json\n"
      "  taso-gen -o partial.rules --partial\n"
      "  taso-gen --show shared-left-factor my.rules -o rule.svg");
  declare(app, raw, command.settings);
  if (auto help = take_apart(app, argc, argv)) {
    command.kind = GenCommand::Kind::help;
    command.help = std::move(*help);
    return command;
  }
  for (const CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() == 1 && option->count() > 1)
      throw UsageError(fmt::format("{} is given more than once", option->get_name()));
  GenSettings& settings = command.settings;
  settings.console.program = "taso-gen";
  settings.console.verbosity = raw.verbose - raw.quiet;
  settings.console.color = color_named(raw.color);
  settings.operator_sets = file_named(raw.operator_sets);
  settings.names_operators = !raw.operators.empty();
  if (settings.names_operators) settings.operators = raw.operators;
  if (raw.version || raw.list_operators) {
    command.kind = raw.version ? GenCommand::Kind::version : GenCommand::Kind::list_operators;
    return command;
  }
  if (!raw.show.empty()) {
    command.kind = GenCommand::Kind::show;
    resolve_show(raw, app, settings);
    return command;
  }
  resolve(raw, settings);
  return command;
}

std::filesystem::path part_of(const std::filesystem::path& complete) {
  std::filesystem::path part = complete;
  return part += ".partial";
}

std::filesystem::path stages_of(const std::filesystem::path& checkpoint) {
  std::filesystem::path folder = checkpoint;
  return folder += ".stages";
}

std::optional<std::filesystem::path> stated_path(const GenSettings& settings) {
  if (!settings.selects) return std::nullopt;
  return settings.stated ? settings.stated : find_data_file("rules/networks.rules");
}

void check_places(const GenSettings& settings) {
  std::vector<Place> read = {{"the properties", properties_path(settings.properties)},
                             {"the operator sets", operator_sets_path(settings.operator_sets)}};
  if (const auto stated = stated_path(settings)) read.push_back({"the stated rules", *stated});
  std::vector<Place> written;
  written.push_back({"the output", settings.output});
  written.push_back({"the output of an interrupted run", part_of(settings.output)});
  written.push_back({"the checkpoint", settings.checkpoint});
  written.push_back({"the stages of the checkpoint", stages_of(settings.checkpoint)});
  if (settings.report) written.push_back({"the report", *settings.report});
  if (settings.rejected) {
    written.push_back({"the file of rejected candidates", *settings.rejected});
    if (!is_standard_stream(*settings.rejected))
      written.push_back({"the rejected candidates of an interrupted run", part_of(*settings.rejected)});
  }
  if (settings.console.log_file) written.push_back({"the log", *settings.console.log_file});
  check_apart(read, written);
}

}  // namespace taso::cli
