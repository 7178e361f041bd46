#include "tests/search/golden_case.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "ops/core/error.h"
#include "ops/text/graph_text.h"
#include "tests/search/rule_graph.h"

namespace taso::test {
namespace {

constexpr std::string_view result_mark = "\n#! result ";

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line + " ") {
    if (c != ' ' && c != ',') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

}  // namespace

GoldenCase read_golden(const std::filesystem::path& file) {
  const std::string text = text_of_file(file);
  const std::size_t mark = text.find(result_mark);
  GoldenCase result;
  result.head = text.substr(0, mark == std::string::npos ? text.size() : mark + 1);
  if (mark != std::string::npos) result.expected = text.substr(mark + 1);
  result.graph = parse_graph(Source(file.filename().string(), result.head));
  std::vector<std::vector<std::string>> directives;
  std::istringstream lines(result.head);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("#! ", 0) == 0) directives.push_back(words_of(line.substr(3)));
  const bool shipped =
      std::find(directives.begin(), directives.end(), std::vector<std::string>{"shipped"}) != directives.end();
  result.rules = shipped ? shipped_rules() : rules_of_file(source_folder() / "tests/search/golden.rules");
  for (const auto& words : directives) {
    if (words[0] == "shipped") continue;
    if (words[0] == "alpha") {
      result.options.alpha = std::stod(words.at(1));
    } else if (words[0] == "budget") {
      result.options.budget = std::stoull(words.at(1));
    } else if (words[0] == "only") {
      result.only_golden = true;
    } else if (words[0] == "not") {
      result.too_low_alpha = std::stod(words.at(3));
    } else {
      check(words[0] == "rules", "a line with '#!' is a known directive");
      const std::set<std::string> names(words.begin() + 1, words.end());
      std::erase_if(result.rules, [&](const rules::Rule& rule) { return !names.contains(rule.name); });
      check(result.rules.size() == names.size(), "all named rules exist");
    }
  }
  return result;
}

std::vector<std::filesystem::path> golden_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/search" / folder))
    if (entry.path().extension() == ".graph") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace taso::test
