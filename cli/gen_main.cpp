// taso-gen: finds rules. Enumerates small tensor programs and proves which of them compute the same.
#include <optional>

#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "cli/console/version.h"
#include "cli/gen/find_partial_rules.h"
#include "cli/gen/find_rules.h"
#include "cli/gen/operator_sets.h"
#include "cli/gen/settings.h"

namespace taso::cli {
namespace {

ExitCode run(int argc, char** argv, std::optional<Console>& console) {
  const GenCommand command = parse_gen_command(argc, argv);
  switch (command.kind) {
    case GenCommand::Kind::help: return print(command.help);
    case GenCommand::Kind::version: return print(describe_versions("taso-gen"));
    case GenCommand::Kind::list_operators:
      return print(describe_operators(read_operator_sets(operator_sets_path(command.settings.operator_sets))));
    case GenCommand::Kind::generate: break;
  }
  watch_for_interrupt();
  check_places(command.settings);
  return run_with_console(command.settings.console, console, [&](Console& open) {
    return command.settings.is_partial ? find_partial_rules(command.settings, open)
                                       : find_rules(command.settings, open);
  });
}

}  // namespace
}  // namespace taso::cli

int main(int argc, char** argv) {
  return taso::cli::run_program("taso-gen", [&](auto& console) { return taso::cli::run(argc, argv, console); });
}
