#include "cli/console/command_line.h"

#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/console/exit_code.h"
#include "cli/manual/manual.h"
#include "ops/text/spelling.h"

namespace taso::cli {
namespace {

constexpr std::size_t name_width = 30, line_width = 96;

/// Wraps descriptions in a column of their own; after a long flag they start on the next line.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string line = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const auto fill = [&] { line.resize(std::max(line.size(), name_width), ' '); };
    std::string text;
    if (line.size() >= name_width) {
      text = line + "\n";
      line.clear();
    }
    fill();
    const std::string description = make_option_desc(option);
    bool is_first = true;
    for (std::size_t begin = 0; begin < description.size();) {
      const std::size_t end = std::min(description.find(' ', begin), description.size());
      if (!is_first && line.size() + 1 + (end - begin) > line_width) {
        text += line + "\n";
        line.clear();
        fill();
        is_first = true;
      }
      if (!is_first) line += ' ';
      line.append(description, begin, end - begin);
      is_first = false;
      begin = end + 1;
    }
    return text + line + "\n";
  }
};

/// The error message for an unexpected argument; it suggests the option that was probably meant.
std::string trouble_with(const std::string& argument, const CLI::App& app) {
  const std::string name = argument.substr(0, argument.find('='));
  if (name.size() < 2 || name[0] != '-') return fmt::format("unexpected argument '{}'", argument);
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& one : option->get_lnames()) known.push_back("--" + one);
  return fmt::format("unknown option '{}'{}", name, did_you_mean(name, known));
}

}  // namespace

std::optional<std::string> take_apart(CLI::App& app, int argc, const char* const* argv) {
  app.formatter(std::make_shared<HelpFormatter>());
  if (argc == 3 && std::string_view(argv[1]) == "--generate")
    if (auto text = generated_text(app, argv[2])) return text;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> extras = app.remaining();
    throw UsageError(extras.empty() ? error.what() : trouble_with(extras.front(), app));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty()) throw UsageError(fmt::format("{} needs a value", option->get_name()));
  return std::nullopt;
}

}  // namespace taso::cli
