// Parses rule files: the version, comments, and items (rules/language/item_parser.h).
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/literal.h"
#include "ops/text/spelling.h"
#include "rules/language/function_class.h"
#include "rules/language/item_parser.h"
#include "rules/language/rule_text.h"
#include "rules/language/rule_words.h"
#include "rules/language/term_parser.h"

namespace taso::rules {
namespace {

constexpr int major_version = 1;

// "taso rules 1", the first line.
std::string version_line(RuleWords& words) {
  const std::string expected = fmt::format("'taso rules {}' as the first line", major_version);
  const SourceRange first = words.peek().range();
  if (words.source().location(first.begin).line != 1) words.fail({0, 0}, fmt::format("expected {}", expected));
  const bool known = words.accept_word("taso") && words.accept_word("rules");
  if (!known) words.fail_expected(expected);
  const Token version = words.peek();
  if (version.kind != Token::Kind::integer && version.kind != Token::Kind::decimal) words.fail_expected("a version");
  const std::string_view major = version.text.substr(0, version.text.find('.'));
  if (version.text.find_first_not_of("0123456789.") != std::string_view::npos)
    words.fail_expected("a version like 1 or 1.0");
  if (major != std::to_string(major_version))
    words.fail(version.range(),
               fmt::format("version {} of the rule language is not known; this program reads version {}",
                           excerpt(version.text), major_version));
  words.next();
  if (!words.at_end()) words.fail_expected("the end of the line after the version");
  return std::string(version.text);
}

// The blocks of comments between items. The last block belongs to the next item if no empty line separates them.
std::vector<std::string> blocks_before(const RuleWords& words, std::size_t begin, std::size_t end, bool item_follows,
                                       RuleFile& file) {
  const std::string_view text = words.source().text();
  std::vector<std::string> block;
  std::size_t last = begin;
  const auto parted = [&](std::size_t from, std::size_t to) {
    const std::string_view between = text.substr(from, to - from);
    return std::count(between.begin(), between.end(), '\n') > 1;
  };
  const auto close = [&] {
    if (!block.empty()) file.items.emplace_back(CommentBlock{std::move(block)});
    block.clear();
  };
  for (RuleComment& comment : words.comments(begin, end)) {
    if (parted(last, comment.range.begin)) close();
    block.push_back(std::move(comment.text));
    last = comment.range.end;
  }
  if (!item_follows || parted(last, end)) close();
  return block;
}

// The end of the line of the last word, where a comment may follow.
std::size_t line_end(const RuleWords& words) {
  return std::min(words.source().text().find('\n', words.last_end()), words.source().text().size());
}

std::variant<Rule, Definition> parse_with_comments(RuleWords& words, const Definitions& definitions,
                                                   std::vector<std::string> comments) {
  const std::size_t begin = words.peek().offset;
  std::variant<Rule, Definition> item = parse_item(words, definitions);
  for (RuleComment& comment : words.comments(begin, line_end(words))) comments.push_back(std::move(comment.text));
  std::visit([&](auto& each) { each.comments = std::move(comments); }, item);
  return item;
}

}  // namespace

bool is_rule_name(std::string_view name) {
  const bool dash_first = name.starts_with('-');
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return is_plain_name(plain) && !dash_first && !is_keyword(name);
}

std::vector<Rule> RuleFile::laws() const {
  std::vector<Rule> result;
  for (const auto& item : items)
    if (const auto* rule = std::get_if<Rule>(&item)) result.push_back(*rule);
  return result;
}

std::vector<Rule> RuleFile::rules() const {
  std::vector<Rule> result;
  for (const auto& item : items)
    if (const auto* rule = std::get_if<Rule>(&item))
      for (Rule& one : expanded(*rule)) result.push_back(std::move(one));
  return result;
}

RuleFile parse_rules(const Source& source) {
  RuleWords words(source);
  RuleFile file;
  file.version = version_line(words);
  Definitions definitions;
  std::unordered_map<std::string, std::size_t> names;
  std::size_t begin = words.last_end();
  while (true) {
    const bool item = words.begin_item();
    std::vector<std::string> comments = blocks_before(words, begin, words.peek().offset, item, file);
    if (!item) break;
    auto parsed = parse_with_comments(words, definitions, std::move(comments));
    begin = line_end(words);
    if (auto* definition = std::get_if<Definition>(&parsed)) {
      definitions.emplace(definition->name, *definition);
      file.items.emplace_back(std::move(*definition));
      continue;
    }
    Rule& rule = std::get<Rule>(parsed);
    const auto claim = [&](const std::string& name) {
      const auto [first, added] = names.insert({name, rule.place.begin});
      if (!added)
        words.fail(rule.place,
                   fmt::format("there is another '{}' in line {}", excerpt(name), source.location(first->second).line));
    };
    if (!rule.functions.empty()) claim(rule.name);
    for (const Rule& one : expanded(rule)) claim(one.name);
    file.items.emplace_back(std::move(rule));
  }
  return file;
}

Rule parse_rule(std::string_view text) {
  const Source source("<rule>", std::string(text));
  RuleWords words(source);
  RuleFile file;
  std::vector<std::string> comments = blocks_before(words, 0, words.peek().offset, true, file);
  auto item = parse_with_comments(words, {}, std::move(comments));
  if (words.begin_item()) words.fail_expected("the end of the rule");
  if (auto* rule = std::get_if<Rule>(&item)) return std::move(*rule);
  words.fail(std::get<Definition>(item).place, "expected a rule, not a definition");
}

}  // namespace taso::rules
