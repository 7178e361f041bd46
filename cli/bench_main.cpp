// taso-bench: runs models, on a GPU if there is one, and compares what they take.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/bench/bench.h"
#include "cli/bench/settings.h"
#include "cli/console.h"
#include "cli/data_files.h"
#include "cli/ending.h"
#include "cli/interrupt.h"
#include "cli/version.h"
#include "ops/error.h"

namespace taso {
namespace {

/// Data that was asked for, on stdout.
Ending print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw EnvironmentError("cannot write to the standard output");
  return Ending::done;
}

Ending run(int argc, char** argv, std::optional<Console>& console) {
  const BenchCommand command = parse_bench_command(argc, argv);
  switch (command.kind) {
    case BenchCommand::Kind::help: return print(command.help);
    case BenchCommand::Kind::version: return print(describe_versions("taso-bench"));
    case BenchCommand::Kind::bench: break;
  }
  watch_for_interrupt();
  console.emplace(command.settings.console);
  if (const auto trouble = trouble_with_data_folder()) console->warning(*trouble);
  const Ending ending = bench(command.settings, *console);
  console->close();
  return ending;
}

/// The program ends badly already: a log that cannot be written changes nothing.
void end_log(Console& console) {
  try {
    console.begin_log();
    console.close();
  } catch (const EnvironmentError&) {
    return;
  }
}

int end(int argc, char** argv) {
  std::optional<Console> console;
  try {
    return static_cast<int>(run(argc, argv, console));
  } catch (...) {
    Trouble trouble = trouble_of(std::current_exception());
    if (trouble.ending == Ending::usage) trouble.text += " (taso-bench --help lists the options)";
    if (!console) console.emplace(Console::Options{"taso-bench", 0, Console::Color::automatic, {}});
    console->error(trouble.text);
    if (trouble.ending != Ending::usage) end_log(*console);
    return static_cast<int>(trouble.ending);
  }
}

}  // namespace
}  // namespace taso

int main(int argc, char** argv) {
  const int code = taso::end(argc, argv);
  std::fflush(nullptr);
  // Without the farewells of libraries: where memory ran out, they may wait for what never comes.
  if (code == static_cast<int>(taso::Ending::environment)) std::_Exit(code);
  return code;
}
