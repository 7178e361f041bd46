// taso-networks: writes common benchmark networks as ONNX models.
#include <cstdio>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/console/interrupt.h"
#include "cli/console/table.h"
#include "cli/console/version.h"
#include "cli/files/places.h"
#include "examples/networks/settings.h"
#include "onnx/model/model.h"
#include "ops/core/error.h"

namespace taso::examples {
namespace {

/// Prints requested data on stdout.
cli::ExitCode print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw EnvironmentError("cannot write to the standard output");
  return cli::ExitCode::done;
}

/// The network is chosen on the command line, so an unsupported variant is a usage error.
void build_as_asked(Builder& net, const Settings& settings, const Network& network) {
  try {
    build(net, network, variant_for(settings, network));
  } catch (const InputError& error) {
    throw cli::UsageError(error.what());
  }
}

cli::ExitCode list(const Settings& settings) {
  cli::Table table{.rows = {{"network", "parameters", "nodes", "--blocks"}}, .numbers_from = 1, .numbers_to = 3};
  for (const Network* network : settings.networks) {
    BuilderOptions options = settings.building;
    options.with_weights = false;
    Builder net(network->name, options);
    build_as_asked(net, settings, *network);
    table.rows.push_back({std::string(network->name), with_commas(net.parameters()), with_commas(net.nodes()),
                          std::string(network->blocks)});
  }
  return print(table.text());
}

void write(const Settings& settings, const Network& network, const std::filesystem::path& path, cli::Console& console) {
  Builder net(network.name, settings.building);
  build_as_asked(net, settings, network);
  const std::uint64_t parameters = net.parameters();
  const std::size_t nodes = net.nodes();
  onnx::SaveOptions saving;
  saving.sync = false;  // no need: the file can be written again after a crash
  net.finish().save(path, saving);
  console.say(cli::Console::Level::result, fmt::format("{}: {} parameters, {} nodes; written: {}", network.name,
                                                       with_commas(parameters), with_commas(nodes), path.string()));
}

cli::ExitCode write_all(const Settings& settings, cli::Console& console) {
  if (!settings.folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(settings.folder, error);
    if (error) throw EnvironmentError(fmt::format("cannot create {}: {}", settings.folder.string(), error.message()));
  }
  for (const Network* network : settings.networks) {
    const auto path =
        settings.folder.empty() ? settings.output : settings.folder / fmt::format("{}.onnx", network->name);
    write(settings, *network, path, console);
    if (cli::interrupted()) return cli::ExitCode::interrupted;
  }
  return cli::ExitCode::done;
}

cli::ExitCode run(int argc, char** argv, std::optional<cli::Console>& console) {
  const Command command = parse_command(argc, argv);
  switch (command.kind) {
    case Command::Kind::help: return print(command.help);
    case Command::Kind::version: return print(cli::describe_versions("taso-networks"));
    case Command::Kind::list: return list(command.settings);
    case Command::Kind::write: break;
  }
  cli::watch_for_interrupt();
  const Settings& settings = command.settings;
  if (settings.console.log_file && !settings.output.empty() &&
      cli::is_same_file(settings.output, *settings.console.log_file))
    throw cli::UsageError(fmt::format("the output and the log are both {}", settings.output.string()));
  console.emplace(settings.console);
  console->begin_log();
  const cli::ExitCode ending = write_all(settings, *console);
  console->close();
  return ending;
}

int end(int argc, char** argv) {
  std::optional<cli::Console> console;
  try {
    return static_cast<int>(run(argc, argv, console));
  } catch (...) {
    cli::Failure trouble = cli::failure_of(std::current_exception());
    if (trouble.ending == cli::ExitCode::usage) trouble.text += " (taso-networks --help lists the options)";
    if (!console) console.emplace(cli::Console::Options{"taso-networks", 0, cli::Console::Color::automatic, {}});
    console->error(trouble.text);
    return static_cast<int>(trouble.ending);
  }
}

}  // namespace
}  // namespace taso::examples

int main(int argc, char** argv) {
  const int code = taso::examples::end(argc, argv);
  std::fflush(nullptr);
  // Skip static destructors: after an out-of-memory error, the shutdown of a library can deadlock.
  if (code == static_cast<int>(taso::cli::ExitCode::environment)) std::_Exit(code);
  return code;
}
