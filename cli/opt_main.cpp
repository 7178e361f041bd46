// taso-opt: reads an ONNX model, cleans it up, checks the result against the original, and writes it.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "cli/console.h"
#include "cli/data_files.h"
#include "cli/ending.h"
#include "cli/interrupt.h"
#include "cli/opt_options.h"
#include "cli/optimise.h"
#include "cli/places.h"
#include "cli/rule_set.h"
#include "cli/version.h"
#include "ops/error.h"
#include "ops/onnx/cleanup.h"

namespace taso {
namespace {

/// Data that was asked for, on stdout.
Ending print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw EnvironmentError("cannot write to the standard output");
  return Ending::done;
}

std::string list_passes() {
  std::string text;
  for (const CleanupPass& pass : cleanup_passes()) text += fmt::format("{:<22}  {}\n", pass.name, pass.description);
  return text;
}

Ending run(int argc, char** argv, std::optional<Console>& console) {
  const OptCommand command = parse_opt_command(argc, argv);
  switch (command.kind) {
    case OptCommand::Kind::help: return print(command.help);
    case OptCommand::Kind::version: return print(describe_versions("taso-opt"));
    case OptCommand::Kind::list_passes: return print(list_passes());
    case OptCommand::Kind::list_rules:
      return print(print(read_rule_set(command.options.rule_files, command.options.disabled_rules)));
    case OptCommand::Kind::optimise: break;
  }
  watch_for_interrupt();
  check_places(command.options);
  console.emplace(command.options.console);
  if (const auto trouble = trouble_with_data_folder()) console->warning(*trouble);
  const Ending ending = optimise(command.options, *console);
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
    if (trouble.ending == Ending::usage) trouble.text += " (taso-opt --help lists the options)";
    if (!console) console.emplace(Console::Options{"taso-opt", 0, Console::Color::automatic, {}});
    console->error(trouble.text);
    // A log that is no log is a mistake of usage; in all other cases it is told what went wrong.
    if (trouble.ending != Ending::usage) end_log(*console);
    return static_cast<int>(trouble.ending);
  }
}

}  // namespace
}  // namespace taso

int main(int argc, char** argv) {
  const int code = taso::end(argc, argv);
  std::fflush(nullptr);
  // Without the farewells of libraries: where memory ran out, OpenBLAS waits for threads that ask for more, forever.
  if (code == static_cast<int>(taso::Ending::environment)) std::_Exit(code);
  return code;
}
