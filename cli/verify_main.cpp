// taso-verify: proves or refutes the rules of a file, shows where their sides agree, validates the properties that
// proofs rest on, or replays the certificate of a rewritten model.
#include <optional>

#include "cli/cluster/ranks.h"
#include "cli/cluster/supervise.h"
#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "cli/console/version.h"
#include "cli/verify/certified_model.h"
#include "cli/verify/explain_rule.h"
#include "cli/verify/regions.h"
#include "cli/verify/settings.h"
#include "cli/verify/verify_rules.h"

namespace taso::cli {
namespace {

ExitCode run(int argc, char** argv, std::optional<Console>& console) {
  VerifyCommand command = parse_verify_command(argc, argv);
  switch (command.kind) {
    case VerifyCommand::Kind::help: return print(command.help);
    case VerifyCommand::Kind::version: return print(describe_versions("taso-verify"));
    case VerifyCommand::Kind::print: return print(print_rules(command.settings));
    case VerifyCommand::Kind::agreement:
    case VerifyCommand::Kind::explain:
    case VerifyCommand::Kind::certificate:
    case VerifyCommand::Kind::verify: break;
  }
  watch_for_interrupt();
  check_places(command.settings);
  Communicator& ranks = join_ranks(command.settings.console);
  if (command.kind != VerifyCommand::Kind::verify && ranks.size() > 1)
    throw UsageError("only files of rules or properties are spread over several ranks");
  const ExitCode ending = run_with_console(command.settings.console, console, [&](Console& open) {
    if (command.kind == VerifyCommand::Kind::certificate) return check_certificate(command.settings, open);
    if (command.kind == VerifyCommand::Kind::agreement) return show_regions(command.settings, open);
    if (command.kind == VerifyCommand::Kind::explain) return explain_rule(command.settings, open);
    return verify_rules(command.settings, open, ranks);
  });
  ranks.close();
  return ending;
}

}  // namespace
}  // namespace taso::cli

int main(int argc, char** argv) {
  if (const auto ending = taso::cli::end_of_supervised(argv)) return *ending;
  return taso::cli::run_program("taso-verify", [&](auto& console) { return taso::cli::run(argc, argv, console); });
}
