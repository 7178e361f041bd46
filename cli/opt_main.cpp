// taso-opt: reads an ONNX model, cleans it up, searches for a faster graph, checks the result, and writes it.
#include <optional>

#include <fmt/format.h>

#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "cli/console/version.h"
#include "cli/files/places.h"
#include "cli/files/rule_set.h"
#include "cli/opt/bisect.h"
#include "cli/opt/optimise.h"
#include "cli/opt/reduce.h"
#include "cli/opt/settings.h"
#include "onnx/cleanup/cleanup.h"

namespace taso::cli {
namespace {

std::string list_passes() {
  std::string text;
  for (const onnx::CleanupPass& pass : onnx::cleanup_passes())
    text += fmt::format("{:<22}  {}\n", pass.name, pass.description);
  return text;
}

ExitCode run(int argc, char** argv, std::optional<Console>& console) {
  const OptCommand command = parse_opt_command(argc, argv);
  switch (command.kind) {
    case OptCommand::Kind::help: return print(command.help);
    case OptCommand::Kind::version: return print(describe_versions("taso-opt"));
    case OptCommand::Kind::list_passes: return print(list_passes());
    case OptCommand::Kind::list_rules:
      return print(print(read_rule_set(command.options.rule_files, command.options.disabled_rules,
                                       command.options.extra_rules, command.options.has_partial_rules)));
    case OptCommand::Kind::bisect:
    case OptCommand::Kind::reduce:
    case OptCommand::Kind::optimise: break;
  }
  watch_for_interrupt();
  check_places(command.options);
  return run_with_console(command.options.console, console, [&](Console& open) {
    if (command.kind == OptCommand::Kind::bisect) return bisect(command.options, open);
    if (command.kind == OptCommand::Kind::reduce) return reduce(command.options, open);
    return optimise(command.options, open);
  });
}

}  // namespace
}  // namespace taso::cli

int main(int argc, char** argv) {
  return taso::cli::run_program("taso-opt", [&](auto& console) { return taso::cli::run(argc, argv, console); });
}
