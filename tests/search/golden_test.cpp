// Graphs and what the search makes of them. tests/search/golden/*.graph hold the graph, and below it the result with both
// costs; tests/search/unchanged/*.graph hold graphs that must stay as they are. Lines with '#!' say how the search goes:
//
//   #! shipped             with the rules that are shipped; else with those of golden.rules
//   #! rules a, b          with these of them alone
//   #! alpha 1.1           and #! budget 100
//   #! not with alpha 1    with this alpha, it must not find as much
//   #! only golden         of unchanged/: the rules that are shipped have something to do here, those of golden.rules have not
//
// TASO_BLESS=1 writes the results anew.
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cost/roofline.h"
#include "ops/graph_text.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

using namespace taso;

namespace {

struct GoldenCase {
  std::string head;  ///< everything up to the result
  Graph graph;
  std::string expected;  ///< the result with its costs
  std::vector<Rule> rules;
  SearchOptions options;
  std::optional<double> too_low_alpha;
  bool only_golden = false;
};

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

GoldenCase read_case(const std::filesystem::path& file) {
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
      REQUIRE(words[0] == "rules");
      const std::set<std::string> names(words.begin() + 1, words.end());
      std::erase_if(result.rules, [&](const Rule& rule) { return !names.contains(rule.name); });
      REQUIRE(result.rules.size() == names.size());
    }
  }
  return result;
}

std::string describe(const SearchResult& result) {
  std::string text = fmt::format("#! result {} {} ns\n", result.cost_before / 1000, result.cost_after / 1000);
  for (const RewriteStep& step : result.steps) {
    text += fmt::format("# {} ns by {}", (step.cost_after - step.cost_before) / 1000, step.rule);
    for (const auto& [variable, value] : step.variables) text += fmt::format(", {} = {}", variable, value);
    text += "\n";
  }
  return text + text_of(result.graph);
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/search" / folder))
    if (entry.path().extension() == ".graph") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("graphs become what they should") {
  const bool bless = std::getenv("TASO_BLESS") != nullptr;
  const auto files = files_in("golden");
  CHECK(files.size() >= 12);
  for (const auto& file : files) {
    const GoldenCase golden = read_case(file);
    const SearchResult result = search(golden.graph, golden.rules, Roofline(), golden.options);
    INFO(file.filename().string());
    CHECK(!result.steps.empty());
    CHECK(result.cost_after <= result.cost_before);
    const std::string given = describe(result);
    if (bless)
      std::ofstream(file, std::ios::binary) << golden.head << (golden.expected.empty() ? "\n" : "") << given;
    else
      CHECK(given == golden.expected);
    if (!golden.too_low_alpha) continue;
    SearchOptions options = golden.options;
    options.alpha = *golden.too_low_alpha;
    CHECK(search(golden.graph, golden.rules, Roofline(), options).cost_after > result.cost_after);
  }
}

TEST_CASE("graphs stay as they are where nothing may change") {
  const auto files = files_in("unchanged");
  CHECK(files.size() >= 20);
  const auto shipped = shipped_rules();
  std::size_t by_shipped = 0;
  for (const auto& file : files) {
    const GoldenCase golden = read_case(file);
    by_shipped += golden.only_golden ? 0 : 1;
    for (const bool with_shipped : {false, true}) {
      if (with_shipped && golden.only_golden) continue;
      SearchOptions options = golden.options;
      if (with_shipped) options.budget = 20;
      const SearchResult result = search(golden.graph, with_shipped ? shipped : golden.rules, Roofline(), options);
      INFO(file.filename().string() << "\n" << describe(result));
      CHECK(result.steps.empty());
      CHECK(result.cost_after == result.cost_before);
      CHECK(equal(result.graph, golden.graph));
      CHECK(result.graph.outputs == golden.graph.outputs);
    }
  }
  CHECK(by_shipped >= 20);
}
