#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/console/version.h"
#include "cli/manual/manual.h"

namespace taso::cli {
namespace {

/// The text as troff prints it unchanged.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", plain(text)); }
std::string slanted(std::string_view text) { return fmt::format("\\fI{}\\fR", plain(text)); }

std::string entry_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(bold("-" + name));
  for (const std::string& name : option.get_lnames()) names.push_back(bold("--" + name));
  if (names.empty()) names.push_back(slanted(option.get_name()));  // an argument
  std::string entry = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.get_type_name().empty() && !option.get_positional()) entry += " " + slanted(option.get_type_name());
  return fmt::format("{}\n{}\n", entry, plain(option.get_description()));
}

constexpr std::string_view closing = R"(.SH EXIT STATUS
.TP
0
done, also when nothing improved
.TP
1
a bug of taso
.TP
2
the command line is invalid
.TP
3
the input is unreadable or invalid
.TP
4
taso-opt: the equivalence check failed, and no output is written; taso-bench: an output of the GPU disagrees with that
of the CPU
.TP
5
a rule, property or certificate did not verify
.TP
6
the environment: output not writable, disk full, memory limit
.TP
130
interrupted; the best result so far is written
.SH ENVIRONMENT
.TP
\fBXDG_CACHE_HOME\fR
where \fItaso/\fR with known proofs, measured prices and compiled kernels is (default \fI~/.cache\fR)
.TP
\fBTASO_DATA\fR
the folder of rules and prices, if not the installed one
.TP
\fBTASO_CUDA_MODULE\fR
the module that uses the GPU, if not the installed one
.TP
\fBTASO_PYTHON\fR
the Python that has onnxruntime, for \fB--target onnxruntime\fR
.TP
\fBNO_COLOR\fR
if set, messages have no colour
)";

}  // namespace

std::string manual_page(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string about = app.get_description();
  while (!about.empty() && about.back() == '.') about.pop_back();
  if (!about.empty()) about[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(about[0])));

  std::string page = fmt::format(".TH {} 1 \"\" \"taso {}\" \"taso\"\n", title, program_version());
  page += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{} [{}]", plain(name), plain(about), bold(name),
                      slanted("option"));
  std::string arguments;
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      page += fmt::format(" [{}]{}", slanted(option->get_name()), option->get_items_expected_max() > 1 ? "..." : "");
      arguments += entry_of(*option);
    } else if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  page += "\n";
  if (!arguments.empty()) page += ".SH ARGUMENTS\n" + arguments;
  page += ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    if (group.empty()) continue;  // not for people
    if (group != "Options") page += fmt::format(".SS {}\n", plain(group));
    for (const CLI::Option* option : app.get_options())
      if (!option->get_positional() && option->get_group() == group) page += entry_of(*option);
  }
  page += closing;
  std::string examples = app.get_footer();
  if (examples.starts_with("Examples:\n")) examples.erase(0, 10);
  if (!examples.empty()) page += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", plain(examples));
  return page +
         ".SH SEE ALSO\n\\fBtaso\\-opt\\fR(1), \\fBtaso\\-verify\\fR(1), \\fBtaso\\-gen\\fR(1), "
         "\\fBtaso\\-bench\\fR(1)\n";
}

std::optional<std::string> generated_text(const CLI::App& app, std::string_view kind) {
  if (kind == "man") return manual_page(app);
  if (kind == "bash") return bash_completion(app);
  if (kind == "zsh") return zsh_completion(app);
  if (kind == "fish") return fish_completion(app);
  return std::nullopt;
}

}  // namespace taso::cli
