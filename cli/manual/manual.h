// Manual pages and completions of shells, made of the options that a program declares. The build calls each program
// with --generate KIND, which is not for people and not in the help.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace taso::cli {

/// KIND is "man", "bash", "zsh" or "fish"; returns nothing for others.
std::optional<std::string> generated_text(const CLI::App& app, std::string_view kind);

std::string manual_page(const CLI::App& app);
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

/// What an option takes: one of its choices, a file, or anything else.
enum class Taken { nothing, choice, file, other };
Taken taken_by(const CLI::Option& option);

}  // namespace taso::cli
