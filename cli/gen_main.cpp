// taso-gen: finds rules. Enumerates small tensor programs and proves which of them compute the same.
#include <optional>

#include <fmt/format.h>

#include "cli/cluster/ranks.h"
#include "cli/cluster/supervise.h"
#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "cli/console/streams.h"
#include "cli/console/version.h"
#include "cli/details/rule_picture.h"
#include "cli/files/rule_input.h"
#include "cli/files/rule_set.h"
#include "cli/gen/find_partial_rules.h"
#include "cli/gen/find_rules.h"
#include "cli/gen/operator_sets.h"
#include "cli/gen/settings.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

/// Draws one rule of the files, or of the shipped ones.
ExitCode show_rule(const GenSettings& settings) {
  std::vector<GivenRule> rules;
  if (settings.shown_files.empty()) {
    rules = read_rule_set({}, {}).rules;
  } else {
    std::vector<GivenFile> files;
    for (const auto& file : settings.shown_files) files.push_back(read_rules(file));
    rules = rules_of(files);
  }
  const GivenRule& given = rule_named(rules, settings.shown, "--show");
  if (!given.unstated.empty())
    throw InputError(fmt::format("{} cannot be stated: {}", given.rule.name, given.unstated));
  write_output(settings.output, picture_of(given.rule));
  return ExitCode::done;
}

ExitCode run(int argc, char** argv, std::optional<Console>& console) {
  GenCommand command = parse_gen_command(argc, argv);
  switch (command.kind) {
    case GenCommand::Kind::help: return print(command.help);
    case GenCommand::Kind::version: return print(describe_versions("taso-gen"));
    case GenCommand::Kind::list_operators:
      return print(describe_operators(read_operator_sets(operator_sets_path(command.settings.operator_sets))));
    case GenCommand::Kind::show: return show_rule(command.settings);
    case GenCommand::Kind::generate: break;
  }
  watch_for_interrupt();
  check_places(command.settings);
  Communicator& ranks = join_ranks(command.settings.console);
  if (command.settings.is_partial && ranks.size() > 1)
    throw UsageError("--partial works on one machine: it takes minutes");
  const ExitCode ending = run_with_console(command.settings.console, console, [&](Console& open) {
    return command.settings.is_partial ? find_partial_rules(command.settings, open)
                                       : find_rules(command.settings, open, ranks);
  });
  ranks.close();
  return ending;
}

}  // namespace
}  // namespace taso::cli

int main(int argc, char** argv) {
  constexpr const char* advice = "; --resume continues from the last checkpoint";
  if (const auto ending = taso::cli::end_of_supervised(argv, advice)) return *ending;
  return taso::cli::run_program("taso-gen", [&](auto& console) { return taso::cli::run(argc, argv, console); });
}
