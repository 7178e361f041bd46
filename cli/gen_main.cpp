// taso-gen: finds rules, by enumerating small tensor programs and proving which of them compute the same.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/console.h"
#include "cli/data_files.h"
#include "cli/ending.h"
#include "cli/gen/find_rules.h"
#include "cli/gen/operator_sets.h"
#include "cli/gen/settings.h"
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
  console.emplace(command.settings.console);
  if (const auto trouble = trouble_with_data_folder()) console->warning(*trouble);
  const Ending ending = find_rules(command.settings, *console);
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
    if (trouble.ending == Ending::usage) trouble.text += " (taso-gen --help lists the options)";
    if (!console) console.emplace(Console::Options{"taso-gen", 0, Console::Color::automatic, {}});
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
