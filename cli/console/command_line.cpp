#include "cli/console/command_line.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/console/config_file.h"
#include "cli/console/exit_code.h"
#include "cli/manual/manual.h"
#include "ops/core/error.h"
#include "ops/text/spelling.h"

namespace taso::cli {
namespace {

constexpr std::size_t name_width = 26, line_width = 80;
constexpr std::string_view list_mark = ",...";

/// Wraps descriptions in a column of their own; after a long flag they start on the next line.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() { label("Positionals", "Arguments"); }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
    return text;
  }

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

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// --- Errors ---

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

/// The option that a message of the parser names, without dashes if it read it in a file; nothing if there is none.
const CLI::Option* option_in(std::string_view message, const CLI::App& app) {
  const auto continues_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; };
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (name.size() < 3) continue;
    const std::size_t begin = message.find(name), end = begin + name.size();
    if (begin != std::string_view::npos && (end == message.size() || !continues_name(message[end]))) return option;
    if (message.starts_with(name.substr(2) + ":")) return option;
  }
  return nullptr;
}

/// What the parser found, in our words: its own are for those who know the parser.
std::string trouble_in_words(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::Option* const option = option_in(error.what(), app);
  if (option == nullptr) return error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return option->count() > 1 ? fmt::format("{} is given more than once", option->get_name())
                               : fmt::format("{} needs a value", option->get_name());
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr && option->get_items_expected_max() == 0)
    return fmt::format("{} takes no value but true, false or a number, not {}", option->get_name(),
                       option->count() > 0 ? fmt::format("'{}'", on_one_line(option->results().back())) : "a list");
  return error.what();
}

/// The options whose values come from a configuration file.
struct FromFile {
  std::string file;
  std::vector<std::string> options;
};
FromFile from_file;

FromFile options_from_file(const CLI::App& app, int argc, const char* const* argv) {
  FromFile found{app.get_config_ptr()->as<std::string>(), {}};
  const auto is_on_command_line = [&](const CLI::Option& option) {
    return std::any_of(argv + 1, argv + argc, [&](const std::string& argument) {
      const std::string flag = argument.substr(0, argument.find('='));
      return flag.starts_with("--") ? option.check_lname(flag.substr(2))
                                    : flag.size() > 1 && flag[0] == '-' && option.check_sname(flag.substr(1, 1));
    });
  };
  for (const CLI::ConfigItem& item : app.get_config_formatter_base()->from_file(found.file)) {
    const CLI::Option* const option = app.get_option_no_throw("--" + item.name);
    if (option != nullptr && !is_on_command_line(*option)) found.options.push_back(option->get_name());
  }
  return found;
}

// --- Values ---

/// A flag that is given several times counts up. A file or `--flag=-2` may say how often.
void check_counts(const CLI::Option& option) {
  if (option.get_items_expected_max() > 0) return;
  for (const std::string& value : option.results())
    if (value.starts_with('-'))
      throw UsageError(
          fmt::format("{} takes true, false or how often it counts, not '{}'", option.get_name(), on_one_line(value)));
}

/// An option takes the next argument whatever it is. If that is an option too, the value was forgotten.
void check_no_value_is_forgotten(const CLI::App& app, int argc, const char* const* argv) {
  const auto option_named = [&](std::string_view name) {
    const CLI::Option* found = nullptr;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& one : option->get_lnames())
        if (name == "--" + one) found = option;
      for (const std::string& one : option->get_snames())
        if (name == "-" + one) found = option;
    }
    return found;
  };
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--") return;
    const CLI::Option* const option = option_named(argv[i]);
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    ++i;
    if (option_named(argv[i]) != nullptr)
      throw UsageError(fmt::format("{} needs a value, but {} follows it", argv[i - 1], argv[i]));
  }
}

void check_choices(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of(option);
  const auto is_choice = [&](const std::string& one) {
    return std::find(choices.begin(), choices.end(), one) != choices.end();
  };
  if (choices.empty()) return;
  const bool takes_list = option.get_type_name().ends_with(list_mark);
  for (const std::string& value : option.results())
    for (const std::string& part : takes_list ? split_at(value, ',') : std::vector{value}) {
      if (is_choice(part)) continue;
      std::string lower = part;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
      throw UsageError(fmt::format("{} takes {} or {}, not '{}'{}", option.get_name(),
                                   fmt::join(choices.begin(), choices.end() - 1, ", "), choices.back(),
                                   on_one_line(part), did_you_mean(lower, choices)));
    }
}

}  // namespace

std::string with_origin(const std::string& message) {
  const auto begins_with = [&](const std::string& option) { return message.starts_with(option + " "); };
  const bool is_from_file = std::any_of(from_file.options.begin(), from_file.options.end(), begins_with);
  return is_from_file ? fmt::format("{}: {}", from_file.file, message) : message;
}

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

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  if (type.ends_with(list_mark)) type.resize(type.size() - list_mark.size());
  return type.find('|') == std::string::npos ? std::vector<std::string>{} : split_at(type, '|');
}

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
  const auto config_file = [&] { return app.get_config_ptr()->as<std::string>(); };
  try {
    app.parse(argc, argv);
    if (app.get_config_ptr()->count() > 0) {
      check_config(app, config_file());
      from_file = options_from_file(app, argc, argv);
    }
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> extras = app.remaining();
    throw UsageError(extras.empty() ? error.what() : trouble_with(extras.front(), app));
  } catch (const CLI::FileError&) {
    throw InputError(fmt::format("{}: cannot read", config_file()));
  } catch (const CLI::ConfigError& error) {
    const std::string_view text = error.what();
    throw InputError(
        fmt::format("{}: '{}' is for the command line only", config_file(), text.substr(0, text.find(':'))));
  } catch (const CLI::ParseError& error) {
    if (app.get_config_ptr()->count() > 0) from_file = options_from_file(app, argc, argv);
    throw UsageError(trouble_in_words(error, app));
  } catch (const std::out_of_range&) {  // of a flag that counts
    throw UsageError("a flag has too large a number for its value");
  }
  check_no_value_is_forgotten(app, argc, argv);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results())
      if (value.empty()) throw UsageError(fmt::format("{} needs a value", option->get_name()));
    check_counts(*option);
    check_choices(*option);
  }
  if (dumps) return config_text(app);
  return std::nullopt;
}

}  // namespace taso::cli
