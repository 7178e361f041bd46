#include "cli/console/config_file.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/console/command_line.h"
#include "cli/console/exit_code.h"
#include "ops/core/error.h"
#include "ops/text/spelling.h"

namespace taso::cli {
namespace {

bool is_configurable(const CLI::Option& option) { return !option.get_lnames().empty() && option.get_configurable(); }

/// In double quotes, newer versions of the reader take a backslash for the beginning of an escape, older ones do not.
std::string quoted_value(const std::string& value) {
  const char quote = value.find_first_of("\"\\") == std::string::npos ? '"' : '\'';
  return quote + value + quote;
}

/// A value that the reader leaves with a quote at its beginning: check_config() takes it for one whose quotes do not
/// end.
bool begins_with_quote(const std::string& value) { return value.starts_with('"') || value.starts_with('\''); }

/// Whether the reader finds these values in the line. A comment begins at # even within quotes.
bool is_read_as(const CLI::App& app, const std::string& line, const std::vector<std::string>& values) {
  if (std::any_of(values.begin(), values.end(), begins_with_quote)) return false;
  std::istringstream text(line);
  const std::vector<CLI::ConfigItem> items = app.get_config_formatter_base()->from_config(text);
  return items.size() == 1 && items.front().inputs == values;
}

std::string line_with_values(const CLI::App& app, const CLI::Option& option) {
  const std::string& name = option.get_lnames().front();
  std::vector<std::string> values = option.results();
  const bool is_list = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  if (!is_list) values.erase(values.begin(), values.end() - 1);  // the last one counts
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const std::string& value : values) parts.push_back(quoted_value(value));
  const std::string all = fmt::format("{}", fmt::join(parts, ", "));
  std::string line = fmt::format("{} = {}", name, is_list ? fmt::format("[{}]", all) : all);
  if (!is_read_as(app, line, values))
    throw UsageError(
        fmt::format("{}: no configuration file can hold the value of --{}: it has a #, a line break, or quotes, "
                    "spaces and backslashes that would be read in another way",
                    dump_flag, name));
  return line;
}

/// A flag that counts, such as -v, has as many values as it is given times: their sum counts.
std::string line_with_flag(const CLI::Option& option) {
  const std::vector<std::string>& values = option.results();
  std::string value = values.back();
  if (values.size() > 1 && option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll) {
    long sum = 0;
    for (const std::string& one : values)
      sum += one == "true" ? 1 : one == "false" ? -1 : std::strtol(one.c_str(), nullptr, 10);
    value = std::to_string(sum);
  }
  return fmt::format("{} = {}", option.get_lnames().front(), value);
}

/// "1000" of "Graphs that the search expands (default 1000)"; empty if the default is no plain value.
std::string default_of(const CLI::Option& option) {
  constexpr std::string_view mark = "(default ";
  const std::string& text = option.get_description();
  const std::size_t begin = text.rfind(mark);
  if (begin == std::string::npos || text.back() != ')') return "";
  const std::string value = text.substr(begin + mark.size(), text.size() - 1 - begin - mark.size());
  const auto is_plain = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '.'; };
  const bool is_size = !value.empty() && std::isdigit(static_cast<unsigned char>(value.front()));
  return std::all_of(value.begin(), value.end() - (is_size ? 1 : 0), is_plain) ? value : "";
}

}  // namespace

std::string config_text(const CLI::App& app) {
  std::string text =
      wrapped(fmt::format("Options of {0}. Read them with {0} {1} FILE; what the command line says counts more. "
                          "Lines that begin with # have no effect: they show what is not given, with its default.",
                          app.get_name(), config_flag),
              "# ", "# ");
  for (const std::string& group : app.get_groups()) {
    std::string entries;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group || !is_configurable(*option)) continue;
      const bool is_flag = option->get_items_expected_max() == 0;
      entries += "\n" + wrapped(option->get_description(), "# ", "# ");
      if (option->results().empty()) {
        const std::string value = is_flag ? "true" : default_of(*option);
        entries += fmt::format("# {} ={}{}\n", option->get_lnames().front(), value.empty() ? "" : " ", value);
      } else {
        entries += (is_flag ? line_with_flag(*option) : line_with_values(app, *option)) + "\n";
      }
    }
    if (!entries.empty()) text += fmt::format("\n# --- {} ---\n{}", group, entries);
  }
  return text;
}

void check_config(const CLI::App& app, const std::string& file) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    if (is_configurable(*option))
      for (const std::string& one : option->get_lnames()) known.push_back(one);
  for (const CLI::ConfigItem& item : app.get_config_formatter_base()->from_file(file)) {
    if (!item.parents.empty())
      throw InputError(fmt::format("{}: there are no sections, but there is [{}]", file, item.parents.front()));
    if (std::find(known.begin(), known.end(), item.name) == known.end())
      throw InputError(fmt::format("{}: unknown option '{}'{}", file, item.name, did_you_mean(item.name, known)));
    for (const std::string& value : item.inputs)
      if (begins_with_quote(value))
        throw InputError(
            fmt::format("{}: the quotes of '{}' do not end before a # or the end of the line", file, item.name));
  }
}

}  // namespace taso::cli
