#include "generator/selection/law_name.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rules/language/canonical.h"
#include "rules/language/rule_size.h"
#include "rules/language/rule_text.h"

namespace taso::generator {
namespace {

using rules::Pattern;
using rules::PatternPtr;
using rules::Rule;

constexpr std::size_t longest_name = 40;
constexpr std::size_t digits_of_hash = 4;

std::string word_of(const Pattern& pattern) {
  if (pattern.op == "split") return pattern.output == 0 ? "first-part" : "second-part";
  if (pattern.op == "conv" && pattern.operands.size() == 3) return "biased-conv";
  if (pattern.op == "scalar_mul") return "scale";
  std::string word = pattern.op;
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

/// Which operand two operators of one kind share; empty if none.
std::string shared_by(const Pattern& one, const Pattern& other) {
  if (one.op != other.op || one.op == "split" || one.is_input()) return {};
  static const std::map<std::string_view, std::vector<std::string_view>> places{
      {"matmul", {"left", "right"}},
      {"conv", {"input", "filter", "bias"}},
      {"scalar_mul", {"operand", "scalar"}},
  };
  for (std::size_t i = 0; i < std::min(one.operands.size(), other.operands.size()); ++i)
    for (std::size_t k = 0; k < other.operands.size(); ++k) {
      if (!one.operands[i]->is_input() || !(*one.operands[i] == *other.operands[k])) continue;
      const auto names = places.find(one.op);
      return names == places.end() ? "operand" : std::string(names->second[i]);
    }
  return {};
}

/// The operators of a pattern in words, from the outside: relu-of-concat, add-of-matmuls-shared-left.
std::string words_of(const Pattern& pattern) {
  std::string text = word_of(pattern);
  std::vector<const Pattern*> inner;
  // Filters and biases are computed beforehand.
  const std::size_t operands = pattern.op == "conv" ? 1 : pattern.operands.size();
  for (std::size_t i = 0; i < operands; ++i)
    if (!pattern.operands[i]->is_input() && !pattern.operands[i]->operands.empty())
      inner.push_back(pattern.operands[i].get());
  if (inner.empty()) return text;
  const std::string first = words_of(*inner[0]);
  if (inner.size() == 1) {
    text += "-of-" + first;
    if (pattern.op == "matmul") text += pattern.operands[0]->is_input() ? "-right" : "-left";
    return text;
  }
  if (inner[0]->op == "split" && inner[1]->op == "split" && *inner[0]->operands[0] == *inner[1]->operands[0])
    return text + "-of-parts";
  const std::string second = words_of(*inner[1]);
  const std::string shared = shared_by(*inner[0], *inner[1]);
  text += "-of-" + (first == second ? first + "s" : first + "-and-" + second);
  return shared.empty() ? text : text + "-shared-" + shared;
}

bool is_input(const std::vector<PatternPtr>& side) { return side.size() == 1 && side[0]->is_input(); }
bool is_single(const Pattern& pattern) {
  return std::all_of(pattern.operands.begin(), pattern.operands.end(),
                     [](const PatternPtr& operand) { return operand->is_input(); });
}

/// Whether it has the form x + (y + z).
bool is_nested(const Pattern& pattern) {
  return std::count_if(pattern.operands.begin(), pattern.operands.end(),
                       [&](const PatternPtr& operand) { return !operand->is_input(); }) == 1 &&
         std::any_of(pattern.operands.begin(), pattern.operands.end(),
                     [&](const PatternPtr& operand) { return operand->op == pattern.op && is_single(*operand); });
}

void visit(const Pattern& pattern, const std::function<void(const Pattern&)>& look) {
  if (pattern.is_input()) return;
  look(pattern);
  for (const PatternPtr& operand : pattern.operands) visit(*operand, look);
}

/// "[3, 1]" becomes 3x1.
std::string size_text(const rules::Term& list) {
  std::string text;
  for (const rules::TermPtr& element : list.operands) text += (text.empty() ? "" : "x") + rules::text_of(*element);
  return text;
}

/// The size of the filter that a condition states: 3x3.
std::optional<std::string> stated_kernel(const Rule& rule) {
  for (const rules::Condition& condition : rule.conditions)
    for (const auto& [list, call] :
         {std::pair(condition.left, condition.right), std::pair(condition.right, condition.left)})
      if (list && call && list->kind == rules::Term::Kind::list && call->name == "spatial") return size_text(*list);
  return std::nullopt;
}

std::string words_of(const Rule& rule) {
  const Pattern &source = *rule.source[0], &target = *rule.target[0];
  if (rule.source.size() > 1) {
    const std::string shared = shared_by(source, *rule.source[1]);
    const std::string one = words_of(source), other = words_of(*rule.source[1]);
    return "merge-" + (one == other ? one + "s" : one + "-and-" + other) + (shared.empty() ? "" : "-shared-" + shared);
  }
  if (target.op == "conv" && source.op == "conv" && target.operands[1]->op == "enlarge") {
    const auto from = stated_kernel(rule);
    for (const auto& [field, term] : target.operands[1]->attributes)
      if (field == "kernel" && from) return "enlarge-" + word_of(source) + "-" + *from + "-to-" + size_text(*term);
  }
  const std::string words = words_of(source);
  if (is_input(rule.target)) return words + "-cancels";
  if (is_single(source)) return words + "-to-" + word_of(target);
  if (is_nested(source) && is_nested(target) && source.op == target.op) {
    const std::string name = word_of(source) + "-associates";
    if (source.op == "add" || source.op == "mul") return name;
    return name + (source.operands[0]->is_input() ? "-left" : "-right");
  }
  return words;
}

/// The factor of a product that the other operator moves to; empty if there is none.
std::string side_of(const Pattern& target) {
  if (target.op != "matmul" || target.operands[0]->is_input() == target.operands[1]->is_input()) return {};
  return target.operands[0]->is_input() ? "-right" : "-left";
}

/// Whether a condition gives an input one number per channel: [1, dim(x, 1), 1, 1].
bool is_of_channels(const Rule& rule) {
  return std::any_of(rule.conditions.begin(), rule.conditions.end(), [](const rules::Condition& condition) {
    return condition.left && condition.left->kind == rules::Term::Kind::list && condition.left->operands.size() == 4;
  });
}

/// The highest rank that a condition states.
std::string rank_of(const Rule& rule) {
  std::int64_t rank = 0;
  for (const rules::Condition& condition : rule.conditions)
    for (const auto& [value, call] :
         {std::pair(condition.left, condition.right), std::pair(condition.right, condition.left)})
      if (value && call && value->kind == rules::Term::Kind::integer && call->name == "rank")
        rank = std::max(rank, value->integer);
  return rank == 0 ? std::string() : "-rank-" + std::to_string(rank);
}

std::string axes_of(const Rule& rule) {
  std::set<std::string> axes;
  for (const auto* side : {&rule.source, &rule.target})
    for (const PatternPtr& pattern : *side)
      visit(*pattern, [&](const Pattern& one) {
        for (const auto& [field, term] : one.attributes)
          if (field == "axis" && term->kind == rules::Term::Kind::integer)
            axes.insert("-axis-" + rules::text_of(*term));
      });
  std::string text;
  for (const std::string& axis : axes) text += axis;
  return text;
}

/// Possible names, from few words to many; the last one is unique.
std::vector<std::string> names_for(const Rule& rule) {
  const std::string words = words_of(rule);
  std::vector<std::string> names{words};
  const auto add = [&](const std::string& more) {
    if (!more.empty()) names.push_back(words + more);
  };
  if (words.find("-left") == std::string::npos && words.find("-right") == std::string::npos)
    add(side_of(*rule.target[0]));
  if (is_of_channels(rule)) add("-of-channels");
  if (const auto kernel = stated_kernel(rule)) add("-" + *kernel);
  add(rank_of(rule));
  add(axes_of(rule));
  if (words.find("-to-") == std::string::npos && rule.source.size() == 1 && !is_input(rule.target))
    add("-to-" + words_of(*rule.target[0]));
  std::erase_if(names, [](const std::string& name) { return name.size() > longest_name; });
  std::string stem = names.empty() ? words : names.front();
  stem.resize(std::min(stem.size(), longest_name - digits_of_hash - 1));
  while (stem.ends_with('-')) stem.pop_back();
  const std::string hash = rules::content_hash(rule);
  names.push_back(stem + "-" + hash.substr(0, digits_of_hash));
  names.push_back(stem + "-" + hash);
  return names;
}

}  // namespace

void name_laws(std::vector<Rule>& rules) {
  std::map<std::size_t, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < rules.size(); ++i) by_size[rules::size_of(rules[i])].push_back(i);
  std::set<std::string> taken;
  for (const auto& of_size : by_size) {
    const std::vector<std::size_t>& places = of_size.second;
    std::vector<std::vector<std::string>> names;
    for (const std::size_t place : places) names.push_back(names_for(rules[place]));
    std::vector<std::size_t> level(places.size(), 0);
    // Clashing rules add words until none clash; the one with the fewest conditions, if there is one, keeps its name.
    for (bool clashes = true; clashes;) {
      clashes = false;
      std::map<std::string, std::vector<std::size_t>> users;
      for (std::size_t i = 0; i < places.size(); ++i) users[names[i][level[i]]].push_back(i);
      for (const auto& [name, those] : users) {
        if (those.size() == 1 && !taken.contains(name)) continue;
        const auto conditions = [&](std::size_t i) { return rules[places[i]].conditions.size(); };
        std::size_t fewest = conditions(those[0]);
        for (const std::size_t i : those) fewest = std::min(fewest, conditions(i));
        const bool is_one =
            std::count_if(those.begin(), those.end(), [&](std::size_t i) { return conditions(i) == fewest; }) == 1;
        for (const std::size_t i : those) {
          const bool may_stay = is_one && conditions(i) == fewest && !taken.contains(name);
          if (may_stay || level[i] + 1 == names[i].size()) continue;
          ++level[i];
          clashes = true;
        }
      }
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      rules[places[i]].name = names[i][level[i]];
      taken.insert(names[i][level[i]]);
    }
  }
}

}  // namespace taso::generator
