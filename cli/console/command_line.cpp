#include "cli/console/command_line.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/console/exit_code.h"
#include "cli/manual/manual.h"
#include "ops/core/error.h"
#include "ops/text/spelling.h"

namespace taso::cli {
namespace {

constexpr std::size_t name_width = 26, line_width = 80;

/// The words of a text in lines of at most `line_width` columns; each line but the first begins with `indent`.
std::string wrapped(const std::string& text, std::string line, const std::string& indent) {
  std::string lines;
  bool is_first = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (!is_first && line.size() + 1 + (end - begin) > line_width) {
      lines += line + "\n";
      line = indent;
      is_first = true;
    }
    if (!is_first) line += ' ';
    line.append(text, begin, end - begin);
    is_first = false;
    begin = end + 1;
  }
  return lines + line + "\n";
}

/// Wraps descriptions in a column of their own; after a long flag they start on the next line.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string line = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    std::string text;
    if (line.size() >= name_width) {
      text = line + "\n";
      line.clear();
    }
    line.resize(name_width, ' ');
    return text + wrapped(make_option_desc(option), line, std::string(name_width, ' '));
  }
};

std::vector<std::string> long_names(const CLI::App& app, const std::string& prefix) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& one : option->get_lnames()) names.push_back(prefix + one);
  return names;
}

/// The error message for an unexpected argument; it suggests the option that was probably meant.
std::string trouble_with(const std::string& argument, const CLI::App& app) {
  const std::string name = argument.substr(0, argument.find('='));
  if (name.size() < 2 || name[0] != '-') return fmt::format("unexpected argument '{}'", argument);
  return fmt::format("unknown option '{}'{}", name, did_you_mean(name, long_names(app, "--")));
}

// --- Configuration files ---

constexpr const char *config_flag = "--config", *dump_flag = "--dump-config";

/// Whether a configuration file may set the option.
bool is_configurable(const CLI::Option& option) {
  return !option.get_lnames().empty() && option.get_configurable() && option.get_name() != "--version";
}

/// A name that no option has would be ignored silently.
void check_config(const CLI::App& app, const std::string& file) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    if (is_configurable(*option))
      for (const std::string& one : option->get_lnames()) known.push_back(one);
  for (const CLI::ConfigItem& item : app.get_config_formatter_base()->from_file(file)) {
    if (!item.parents.empty())
      throw InputError(fmt::format("{}: there are no sections, but '{}' is in one", file, item.fullname()));
    if (std::find(known.begin(), known.end(), item.name) == known.end())
      throw InputError(fmt::format("{}: unknown option '{}'{}", file, item.name, did_you_mean(item.name, known)));
    for (const std::string& value : item.inputs)
      if (value.starts_with('"') || value.starts_with('\''))
        throw InputError(
            fmt::format("{}: the quotes of '{}' do not end before a # or the end of the line", file, item.name));
  }
}

/// In double quotes, newer versions of the reader take a backslash for the beginning of an escape, older ones do not. A
/// comment begins at # even within quotes.
std::string quoted(const std::string& value, const std::string& option) {
  if (value.find_first_of("\"\\\n#") == std::string::npos) return '"' + value + '"';
  if (value.find_first_of("'\n#") == std::string::npos) return "'" + value + "'";
  throw UsageError(
      fmt::format("{}: no configuration file can hold the value of --{}, which has a #, a line break, or a "
                  "single quote beside a double one or a backslash",
                  dump_flag, option));
}

/// All options as a configuration file: those that are given, and the others as comments.
std::string config_text(const CLI::App& app) {
  std::string text =
      wrapped(fmt::format("Options of {0}. Read them with {0} {1} FILE; what the command line says counts more.",
                          app.get_name(), config_flag),
              "# ", "# ");
  for (const CLI::Option* option : app.get_options()) {
    if (!is_configurable(*option)) continue;
    const std::string name = option->get_lnames().front();
    text += "\n" + wrapped(option->get_description(), "# ", "# ");
    const std::vector<std::string>& values = option->results();
    const bool is_flag = option->get_items_expected_max() == 0;
    if (values.empty()) {
      text += fmt::format("# {} = {}\n", name, is_flag ? "true" : "");
    } else if (is_flag) {
      text += fmt::format("{} = {}\n", name, values.size() == 1 ? values.front() : std::to_string(values.size()));
    } else if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll) {
      std::vector<std::string> parts;
      for (const std::string& value : values) parts.push_back(quoted(value, name));
      text += fmt::format("{} = [{}]\n", name, fmt::join(parts, ", "));
    } else {
      text += fmt::format("{} = {}\n", name, quoted(values.back(), name));
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> take_apart(CLI::App& app, int argc, const char* const* argv) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_config(config_flag, "", fmt::format("Read options from FILE, as {} writes it", dump_flag))
      ->type_name("FILE")
      ->configurable(false);
  bool dumps = false;
  app.add_flag(dump_flag, dumps, "Print all options as a configuration file and exit")->configurable(false);
  if (CLI::Option* help = app.get_help_ptr()) help->configurable(false);
  if (argc == 3 && std::string_view(argv[1]) == "--generate")
    if (auto text = generated_text(app, argv[2])) return text;
  try {
    app.parse(argc, argv);
    if (app.get_config_ptr()->count() > 0) check_config(app, app.get_config_ptr()->as<std::string>());
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> extras = app.remaining();
    throw UsageError(extras.empty() ? error.what() : trouble_with(extras.front(), app));
  } catch (const CLI::FileError&) {
    throw InputError(fmt::format("{}: cannot read", app.get_config_ptr()->as<std::string>()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty()) throw UsageError(fmt::format("{} needs a value", option->get_name()));
  if (dumps) return config_text(app);
  return std::nullopt;
}

}  // namespace taso::cli
