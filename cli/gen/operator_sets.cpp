#include "cli/gen/operator_sets.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/files/rule_input.h"
#include "generator/enumeration/family.h"
#include "ops/support/data_files.h"
#include "ops/text/spelling.h"
#include "rules/language/term.h"

namespace taso::cli {
namespace {

constexpr std::string_view first_line = "taso operator sets 1";
constexpr std::string_view everything = "all";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

const OperatorSet* find(const std::vector<OperatorSet>& sets, std::string_view name) {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const OperatorSet& set) { return set.name == name; });
  return found == sets.end() ? nullptr : &*found;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add(std::vector<std::string>& to, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!contains(to, name)) to.push_back(name);
}

/// Parses the file line by line.
class Parser {
 public:
  explicit Parser(const Source& source) : source_(source), text_(source.text()), known_(generator::schema_names()) {}

  std::vector<OperatorSet> parse() {
    for (bool is_first = true; begin_ < text_.size() || is_first; is_first = false) {
      end_ = std::min(text_.find('\n', begin_), text_.size());
      if (is_first)
        header();
      else
        line();
      begin_ = end_ + 1;
    }
    end_set();
    return std::move(sets_);
  }

 private:
  void header() {
    std::string_view text = text_.substr(0, end_);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    if (text != first_line) fail(0, end_, fmt::format("the first line must be '{}'", first_line));
  }

  void line() {
    const std::size_t comment = std::min(text_.find('#', begin_), end_);
    at_ = begin_;
    skip_space(comment);
    if (at_ == comment) {
      if (comment == end_ && begin_ == at_) about_.clear();
      if (comment < end_) note(text_.substr(comment + 1, end_ - comment - 1));
      return;
    }
    const bool goes_on = at_ > begin_;
    if (goes_on && sets_.empty()) fail(at_, comment, "a set begins at the start of a line");
    if (!goes_on) begin_set(comment);
    while (skip_space(comment), at_ < comment) member(comment);
  }

  void note(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    about_ += (about_.empty() ? "" : " ") + std::string(text);
  }

  void end_set() const {
    if (!sets_.empty() && sets_.back().operators.empty())
      fail(name_, name_ + sets_.back().name.size(), fmt::format("the set '{}' is empty", sets_.back().name));
  }

  void begin_set(std::size_t limit) {
    end_set();
    const std::size_t start = name_ = at_;
    const std::string name = word(limit);
    skip_space(limit);
    if (at_ == limit || text_[at_] != ':')
      fail(at_, at_ + 1, fmt::format("expected a colon after the set's name '{}'", name));
    ++at_;
    if (find(sets_, name) != nullptr)
      fail(start, start + name.size(), fmt::format("the set '{}' already exists", name));
    if (name == everything || contains(known_, name))
      fail(start, start + name.size(), fmt::format("'{}' cannot be the name of a set", name));
    sets_.push_back({name, std::exchange(about_, {}), {}});
  }

  void member(std::size_t limit) {
    const std::size_t start = at_;
    const std::string name = word(limit);
    std::vector<std::string>& operators = sets_.back().operators;
    if (name == everything) {
      add(operators, known_);
    } else if (contains(known_, name)) {
      add(operators, {name});
    } else if (const OperatorSet* set = find(sets_, name); set == &sets_.back()) {
      fail(start, at_, fmt::format("the set '{}' cannot contain itself", name));
    } else if (set != nullptr) {
      add(operators, set->operators);
    } else {
      std::vector<std::string> names = known_;
      for (const OperatorSet& other : sets_)
        if (&other != &sets_.back()) names.push_back(other.name);
      fail(start, at_, fmt::format("there is no operator and no earlier set '{}'{}", name, did_you_mean(name, names)));
    }
    skip_space(limit);
    if (at_ < limit && text_[at_] == ',') ++at_;
  }

  std::string word(std::size_t limit) {
    const std::size_t start = at_;
    while (at_ < limit && is_of_name(text_[at_])) ++at_;
    if (at_ == start) fail(at_, at_ + 1, "this is not part of a name");
    return std::string(text_.substr(start, at_ - start));
  }
  void skip_space(std::size_t limit) {
    while (at_ < limit && is_space(text_[at_])) ++at_;
  }

  [[noreturn]] void fail(std::size_t begin, std::size_t end, const std::string& message) const {
    throw PlacedError(source_.point_at({begin, end}, message));
  }

  const Source& source_;
  const std::string_view text_;
  const std::vector<std::string> known_;
  std::size_t begin_ = 0, end_ = 0;  // of the line
  std::size_t at_ = 0, name_ = 0;    // name_: of the last set
  std::string about_;
  std::vector<OperatorSet> sets_;
};

std::string attributes_of(const generator::Schema& schema) {
  std::string text;
  for (const auto& [name, term] : schema.attributes)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, rules::text_of(*term));
  return text.empty() ? std::string(ops::name_of(schema.op)) : fmt::format("{}[{}]", ops::name_of(schema.op), text);
}

}  // namespace

std::vector<OperatorSet> parse_operator_sets(const Source& source) { return Parser(source).parse(); }

std::filesystem::path operator_sets_path(const std::optional<std::filesystem::path>& named) {
  if (named) return *named;
  const auto found = find_data_file("rules/operators.sets");
  if (!found) throw EnvironmentError("cannot find the shipped operator sets; name a file with --operator-sets");
  return *found;
}

std::vector<OperatorSet> read_operator_sets(const std::filesystem::path& path) {
  return parse_operator_sets(read_source(path));
}

std::vector<std::string> chosen_operators(std::string_view names, const std::vector<OperatorSet>& sets) {
  const std::vector<std::string> known = generator::schema_names();
  std::vector<std::string> chosen;
  while (true) {
    const std::size_t comma = std::min(names.find(','), names.size());
    std::string_view name = names.substr(0, comma);
    while (!name.empty() && is_space(name.front())) name.remove_prefix(1);
    while (!name.empty() && is_space(name.back())) name.remove_suffix(1);
    if (const OperatorSet* set = find(sets, name)) {
      add(chosen, set->operators);
    } else if (contains(known, name)) {
      add(chosen, {std::string(name)});
    } else {
      std::vector<std::string> all = known;
      for (const OperatorSet& other : sets) all.push_back(other.name);
      throw UsageError(
          fmt::format("--operators: there is no set and no operator '{}'{}", name, did_you_mean(name, all)));
    }
    if (comma == names.size()) break;
    names.remove_prefix(comma + 1);
  }
  std::vector<std::string> sorted;
  std::copy_if(known.begin(), known.end(), std::back_inserter(sorted),
               [&](const std::string& name) { return contains(chosen, name); });
  return sorted;
}

std::string describe_operators(const std::vector<OperatorSet>& sets) {
  std::string text = "sets:\n";
  std::size_t width = 0;
  const std::vector<std::string> known = generator::schema_names();
  for (const OperatorSet& set : sets) width = std::max(width, set.name.size());
  for (const std::string& name : known) width = std::max(width, name.size());
  for (const OperatorSet& set : sets)
    text += fmt::format("  {:<{}}  {} operator{}{}{}\n", set.name, width, set.operators.size(),
                        set.operators.size() == 1 ? "" : "s", set.about.empty() ? "" : ": ", on_one_line(set.about));
  text += "operators:\n";
  const std::vector<generator::Family> all = generator::families(known);
  for (const std::string& name : known) {
    std::string where, what;
    for (const generator::Family& family : all)
      for (const generator::Schema& schema : family.schemas)
        if (schema.name == name) {
          where += (where.empty() ? "" : ", ") + family.name;
          what = attributes_of(schema);
        }
    text += fmt::format("  {:<{}}  {}  ({})\n", name, width, what, where);
  }
  return text;
}

}  // namespace taso::cli
