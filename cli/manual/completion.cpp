#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/console/command_line.h"
#include "cli/manual/manual.h"

namespace taso::cli {
namespace {

/// Every name of an option, with its dashes.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> options = app.get_options(
      [](const CLI::Option* option) { return !option->get_positional() && !option->get_group().empty(); });
  return options;
}

bool takes_arguments(const CLI::App& app) {
  return !app.get_options([](const CLI::Option* option) { return option->get_positional(); }).empty();
}

/// The text within single quotes of a shell, where the given characters have a backslash.
std::string quoted(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += special.find('\'') == std::string_view::npos ? "'\\''" : "\\'";
      continue;
    }
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

Taken taken_by(const CLI::Option& option) {
  if (option.get_type_name().empty()) return Taken::nothing;
  if (!choices_of(option).empty()) return Taken::choice;
  static constexpr std::array<std::string_view, 3> files{"FILE", "DIR", "FOLDER"};
  const std::string type = option.get_type_name();
  return std::find(files.begin(), files.end(), type) == files.end() ? Taken::other : Taken::file;
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> all, with_file, with_other;
  std::string cases;
  for (const CLI::Option* option : shown_options(app)) {
    const std::vector<std::string> names = names_of(*option);
    all.insert(all.end(), names.begin(), names.end());
    switch (taken_by(*option)) {
      case Taken::nothing: break;
      case Taken::choice:
        cases +=
            fmt::format("    {}) compopt +o default; mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\") ;;\n",
                        fmt::join(names, "|"), fmt::join(choices_of(*option), " "));
        break;
      case Taken::file: with_file.insert(with_file.end(), names.begin(), names.end()); break;
      case Taken::other: with_other.insert(with_other.end(), names.begin(), names.end()); break;
    }
  }
  std::string function = "_" + app.get_name();
  std::replace(function.begin(), function.end(), '-', '_');
  if (!with_file.empty()) cases += fmt::format("    {}) ;;\n", fmt::join(with_file, "|"));
  if (!with_other.empty()) cases += fmt::format("    {}) compopt +o default ;;\n", fmt::join(with_other, "|"));
  return fmt::format(R"(# Completion of {0} for bash. Where it has no answer, bash completes file names.
{1}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  if [[ $current == = ]]; then # --option=, in words of their own
    current=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  COMPREPLY=()
  case $before in
{2}    *)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{3}' -- "$current")
      fi
      ;;
  esac
}}
complete -o default -F {1} {0}
)",
                     app.get_name(), function, cases, fmt::join(all, " "));
}

std::string zsh_completion(const CLI::App& app) {
  std::string text = fmt::format("#compdef {}\n# Completion for zsh.\n_arguments -S \\\n", app.get_name());
  for (const CLI::Option* option : shown_options(app)) {
    const std::vector<std::string> names = names_of(*option);
    const bool repeats = option->get_description().find("may be repeated") != std::string::npos;
    std::string value;
    switch (taken_by(*option)) {
      case Taken::nothing: break;
      case Taken::choice:
        value = fmt::format(":value:({})", quoted(fmt::format("{}", fmt::join(choices_of(*option), " ")), ":"));
        break;
      case Taken::file: value = fmt::format(":{}:_files", quoted(option->get_type_name(), ":")); break;
      case Taken::other: value = fmt::format(":{}: ", quoted(option->get_type_name(), ":")); break;
    }
    const std::string exclusion = repeats            ? "'*'"
                                  : names.size() > 1 ? fmt::format("'({})'", fmt::join(names, " "))
                                                     : "";
    std::vector<std::string> spellings = names;  // --name=VALUE and --name VALUE, -nVALUE and -n VALUE
    if (!value.empty())
      for (std::string& one : spellings) one += one.starts_with("--") ? '=' : '+';
    const std::string spelling =
        spellings.size() > 1 ? fmt::format("{{{}}}", fmt::join(spellings, ",")) : spellings.front();
    text += fmt::format("  {}{}'[{}]{}' \\\n", exclusion, spelling, quoted(option->get_description(), "[]"), value);
  }
  return text + (takes_arguments(app) ? "  '*:file:_files'\n" : "  && return\n");
}

std::string fish_completion(const CLI::App& app) {
  std::string text = fmt::format("# Completion of {} for fish.\n", app.get_name());
  if (!takes_arguments(app)) text += fmt::format("complete -c {} -f\n", app.get_name());
  for (const CLI::Option* option : shown_options(app)) {
    text += fmt::format("complete -c {}", app.get_name());
    for (const std::string& name : option->get_snames()) text += " -s " + name;
    for (const std::string& name : option->get_lnames()) text += " -l " + name;
    switch (taken_by(*option)) {
      case Taken::nothing: break;
      case Taken::file: text += " -r -F"; break;
      case Taken::choice: text += fmt::format(" -x -a '{}'", fmt::join(choices_of(*option), " ")); break;
      case Taken::other: text += " -x"; break;
    }
    text += fmt::format(" -d '{}'\n", quoted(option->get_description(), "\\'"));
  }
  return text;
}

}  // namespace taso::cli
