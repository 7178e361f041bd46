// Options from a file: --config reads what --dump-config writes.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace taso::cli {

constexpr const char *config_flag = "--config", *dump_flag = "--dump-config";

/// All options as a configuration file, in the groups of the help: those that are given, and the others as comments
/// with their defaults. Throws UsageError for a value that no configuration file can hold.
std::string config_text(const CLI::App& app);

/// Throws InputError for a file with sections, with a name that no option has, or with quotes that do not end: CLI11
/// would ignore them silently.
void check_config(const CLI::App& app, const std::string& file);

}  // namespace taso::cli
