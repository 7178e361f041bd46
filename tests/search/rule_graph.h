// Random graphs with work for rules: combined sources of rules.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "ops/core/random.h"
#include "ops/graph/graph.h"
#include "rules/instance/instance.h"
#include "rules/language/rule_text.h"
#include "tests/source_folder.h"

namespace taso::test {

inline std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  check(in.good(), "a file of the project can be read: " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::vector<rules::Rule> rules_of_file(const std::filesystem::path& file) {
  return rules::parse_rules(Source(file.filename().string(), text_of_file(file))).rules();
}

/// The default rules of the search.
inline std::vector<rules::Rule> shipped_rules() {
  std::vector<rules::Rule> rules = rules_of_file(source_folder() / "rules/taso.rules");
  for (rules::Rule& rule : rules_of_file(source_folder() / "rules/networks.rules")) rules.push_back(std::move(rule));
  return rules;
}

/// All rules that the verifier's tests expect to be sound.
inline std::vector<rules::Rule> sound_rules() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/verifier/sound"))
    if (entry.path().extension() == ".rules") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<rules::Rule> rules;
  for (const auto& file : files) {
    for (rules::Rule& rule : rules_of_file(file)) {
      rule.name = file.stem().string() + "." + rule.name;
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

/// Small integers: their sums and products are exact.
inline Array whole_array(Random& random, const Extents& extents) {
  Array array(ElementType::float64, extents);
  for (double& value : array.mutable_values<double>()) value = static_cast<double>(random.between(-2, 3));
  return array;
}

/// The composition of random graphs.
struct GraphMakeUp {
  std::size_t parts = 4;   ///< sources of rules, operators and opaque nodes in total
  double operators = 0;    ///< the share of single operators, of all kinds
  double opaque = 0;       ///< the share of opaque nodes
  double unknown = 0;      ///< the share of graphs with unknown dimensions, N and T
  double constants = 0.3;  ///< the share of constants among new operands
  std::int64_t bound = 3;  ///< for the numbers in a rule's shapes
};

class RuleGraphs {
 public:
  explicit RuleGraphs(std::vector<rules::Rule> rules);

  /// Combines the sources of rules; results of one are inputs of another where they fit.
  Graph make(std::uint64_t seed, const GraphMakeUp& makeup) const;
  Graph make(std::uint64_t seed, std::size_t parts) const { return make(seed, GraphMakeUp{parts}); }
  /// The source of one rule alone, with distinct inputs; nothing if no small shapes were found. The last attempts are
  /// larger.
  std::optional<Graph> plant(std::size_t rule, std::uint64_t seed, std::size_t attempt, double unknown = 0) const;

  const std::vector<rules::Rule>& rules() const { return rules_; }

 private:
  const std::vector<rules::Instance>& instances_of(std::size_t rule) const;

  std::vector<rules::Rule> rules_;
  mutable std::vector<std::optional<std::vector<rules::Instance>>> instances_;
};

}  // namespace taso::test
