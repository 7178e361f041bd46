#include "cli/program.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/data_files.h"
#include "ops/error.h"

namespace taso {
namespace {

/// The program ends badly already: a log that cannot be written changes nothing.
void end_log(Console& console) {
  try {
    console.begin_log();
    console.close();
  } catch (const EnvironmentError&) {
    return;
  }
}

Ending end_badly(const std::string& name, std::optional<Console>& console) {
  Trouble trouble = trouble_of(std::current_exception());
  if (trouble.ending == Ending::usage) trouble.text += fmt::format(" ({} --help lists the options)", name);
  if (!console) console.emplace(Console::Options{name, 0, Console::Color::automatic, {}});
  console->error(trouble.text);
  // A log that is no log is a mistake of usage; in all other cases it is told what went wrong.
  if (trouble.ending != Ending::usage) end_log(*console);
  return trouble.ending;
}

}  // namespace

Ending print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw EnvironmentError("cannot write to the standard output");
  return Ending::done;
}

Ending run_with_console(const Console::Options& options, std::optional<Console>& console,
                        const std::function<Ending(Console&)>& work) {
  console.emplace(options);
  if (const auto trouble = trouble_with_data_folder()) console->warning(*trouble);
  const Ending ending = work(*console);
  console->close();
  return ending;
}

int run_program(const std::string& name, const std::function<Ending(std::optional<Console>& console)>& run) {
  Ending ending = Ending::done;
  {
    std::optional<Console> console;
    try {
      ending = run(console);
    } catch (...) {
      ending = end_badly(name, console);
    }
  }
  std::fflush(nullptr);
  // Without the farewells of libraries: where memory ran out, OpenBLAS waits for threads that ask for more, forever.
  if (ending == Ending::environment) std::_Exit(static_cast<int>(ending));
  return static_cast<int>(ending);
}

}  // namespace taso
