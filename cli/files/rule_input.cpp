#include "cli/files/rule_input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "ops/core/error.h"
#include "ops/text/spelling.h"

namespace taso::cli {
namespace {

/// Far more than a million rules. A larger file was named by mistake, and a device may be endless.
constexpr std::size_t largest_file = std::size_t{256} << 20;

std::string read_all(std::FILE* file, const std::string& name) {
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file)) {
    text.append(buffer, count);
    if (text.size() > largest_file)
      throw InputError(
          fmt::format("{}: larger than {} MB, too large for a file of rules or steps", name, largest_file >> 20));
  }
  if (std::ferror(file) != 0) throw InputError(fmt::format("{}: cannot read: {}", name, std::strerror(errno)));
  return text;
}

/// Decides by the first words, then by the file name, then by whether the contents can be text.
bool is_taso_file(const Source& source) {
  if (source.text().starts_with("taso rules")) return false;
  const std::string extension = std::filesystem::path(source.name()).extension().string();
  if (extension == ".pb" || extension == ".rules") return extension == ".pb";
  const std::string_view start = source.text().substr(0, 4096);
  return std::any_of(start.begin(), start.end(), [](char c) { return static_cast<unsigned char>(c) < 0x09; });
}

/// Turns errors of the parser into errors with a position in the file.
template <class Work>
auto placed(Work&& work) {
  try {
    return work();
  } catch (const InputError& error) {
    throw PlacedError(error.what());
  }
}

}  // namespace

Source read_source(const std::filesystem::path& path) {
  if (path == "-") return {"<stdin>", read_all(stdin, "<stdin>")};
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    throw InputError(fmt::format("{}: is a folder, not a file", path.string()));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) throw InputError(fmt::format("{}: cannot read: {}", path.string(), std::strerror(errno)));
  return {path.string(), read_all(file.get(), path.string())};
}

GivenFile read_rules(const std::filesystem::path& path) {
  GivenFile file{read_source(path), false, {}, {}};
  file.is_taso = is_taso_file(file.source);
  file.rules = placed([&] {
    return file.is_taso ? rules::parse_taso_rules(file.source, file.unstated) : rules::parse_rules(file.source);
  });
  return file;
}

GivenFile read_properties(const std::filesystem::path& path) {
  GivenFile file = read_rules(path);
  for (const rules::Rule& rule : file.rules.rules())
    if (rule.kind != rules::Rule::Kind::axiom)
      placed([&] {
        if (file.is_taso) throw InputError(fmt::format("{}: TASO's files hold rules, not properties", path.string()));
        file.source.fail(rule.place,
                         fmt::format("a {} in a property file, which may hold only axioms", rules::text_of(rule.kind)));
      });
  return file;
}

namespace {

std::vector<GivenRule> all_of(const std::vector<GivenFile>& files, bool laws) {
  std::vector<GivenRule> rules;
  for (std::size_t i = 0; i < files.size(); ++i) {
    // Rules are in the order of the file, so lines are counted in one pass.
    const std::string_view text = files[i].source.text();
    std::size_t line = 1, seen = 0;
    auto unstated = files[i].unstated.begin();
    const auto add_unstated = [&](std::size_t before) {
      for (; unstated != files[i].unstated.end() && unstated->before <= before; ++unstated) {
        rules::Rule name_only;
        name_only.name = unstated->name;
        name_only.kind = rules::Rule::Kind::candidate;
        rules.push_back({std::move(name_only), i, 0, unstated->reason});
      }
    };
    std::size_t stated = 0;
    for (rules::Rule& rule : laws ? files[i].rules.laws() : files[i].rules.rules()) {
      add_unstated(stated++);
      const std::size_t place = std::min(rule.place.begin, text.size());
      if (place > seen) {
        line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(seen),
                                                    text.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
        seen = place;
      }
      rules.push_back({std::move(rule), i, files[i].is_taso ? 0 : line});
    }
    add_unstated(stated);
  }
  return rules;
}

}  // namespace

std::vector<GivenRule> rules_of(const std::vector<GivenFile>& files) { return all_of(files, false); }
std::vector<GivenRule> laws_of(const std::vector<GivenFile>& files) { return all_of(files, true); }

const GivenRule& rule_named(const std::vector<GivenRule>& rules, const std::string& wanted, std::string_view flag) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const GivenRule& given) { return given.rule.name == wanted; });
  if (found != rules.end()) return *found;
  const bool is_number = !wanted.empty() && wanted.size() < 10 &&
                         std::all_of(wanted.begin(), wanted.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) {
    const std::size_t number = std::stoul(wanted);
    if (number >= 1 && number <= rules.size()) return rules[number - 1];
    throw UsageError(fmt::format("{}: there is no rule {}; there are {}", flag, number, rules.size()));
  }
  std::vector<std::string> names;
  for (const GivenRule& given : rules) names.push_back(given.rule.name);
  throw UsageError(fmt::format("{}: no rule is called '{}'{}", flag, on_one_line(wanted), did_you_mean(wanted, names)));
}

std::string place_of(const GivenRule& rule, const std::vector<GivenFile>& files) {
  const std::string& name = files[rule.file].source.name();
  return rule.line == 0 ? name : fmt::format("{}:{}", name, rule.line);
}

}  // namespace taso::cli
