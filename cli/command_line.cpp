#include "cli/command_line.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/ending.h"

namespace taso {

std::optional<std::string> take_apart(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty()) throw UsageError(fmt::format("{} is given nothing", option->get_name()));
  return std::nullopt;
}

}  // namespace taso
