// taso-bench: runs models, on a GPU if there is one, and compares their run times.
#include <optional>

#include "cli/bench/bench.h"
#include "cli/bench/settings.h"
#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "cli/console/version.h"

namespace taso::cli {
namespace {

ExitCode run(int argc, char** argv, std::optional<Console>& console) {
  const BenchCommand command = parse_bench_command(argc, argv);
  switch (command.kind) {
    case BenchCommand::Kind::help: return print(command.help);
    case BenchCommand::Kind::version: return print(describe_versions("taso-bench"));
    case BenchCommand::Kind::bench: break;
  }
  watch_for_interrupt();
  return run_with_console(command.settings.console, console,
                          [&](Console& open) { return bench(command.settings, open); });
}

}  // namespace
}  // namespace taso::cli

int main(int argc, char** argv) {
  return taso::cli::run_program("taso-bench", [&](auto& console) { return taso::cli::run(argc, argv, console); });
}
