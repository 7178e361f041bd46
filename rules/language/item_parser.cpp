#include "rules/language/item_parser.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "ops/text/spelling.h"
#include "rules/language/function_class.h"
#include "rules/language/rule_text.h"
#include "rules/language/signature.h"
#include "rules/language/term_parser.h"
#include "rules/language/well_formed.h"

namespace taso::rules {
namespace {

/// The number of operands of a rule that are numbers.
constexpr std::size_t most_numbers = 8;

/// Parses one item. Remembers where its parts are in the text until it has been checked.
class ItemParser {
 public:
  ItemParser(RuleWords& words, const Definitions& definitions)
      : words_(words),
        definitions_(definitions),
        terms_(words, [this](const Token& word) { return checked_name(word, "a variable"); }) {}

  std::variant<Rule, Definition> parse() {
    if (words_.accept_word("definition")) return definition();
    return rule();
  }

 private:
  Rule rule() {
    Rule rule;
    if (words_.accept_word("axiom"))
      rule.kind = Rule::Kind::axiom;
    else if (words_.accept_word("rule"))
      rule.kind = Rule::Kind::rule;
    else if (!words_.accept_word("candidate"))
      words_.fail_expected("'axiom', 'rule', 'candidate' or 'definition'");
    rule.name = rule_name("a name", &rule.place);
    if (words_.accept_word("for")) do
        rule.functions.push_back(function_variable(rule));
      while (words_.accept(","));
    rule.source = side();
    const bool axiom = rule.kind == Rule::Kind::axiom;
    const bool arrow = words_.peek().is("=>") || words_.peek().is("<=>");
    if (axiom ? arrow : words_.peek().is("="))
      words_.fail_expected(axiom ? "'=' between the sides of an axiom"
                                 : fmt::format("'=>' or '<=>' between the sides of a {}", text_of(rule.kind)));
    rule.both_ways = !axiom && words_.accept("<=>");
    if (!rule.both_ways) words_.expect(axiom ? "=" : "=>", "after the left side");
    rule.target = side();
    if (words_.accept_word("where")) do
        rule.conditions.push_back(condition());
      while (words_.accept(","));
    if (words_.peek().is_word("by")) {
      if (axiom) words_.fail(words_.peek().range(), "an axiom follows from nothing: it has no 'by'");
      words_.next();
      do rule.by.push_back(rule_name("the name of a property", nullptr));
      while (words_.accept(","));
    }
    if (!words_.at_end())
      words_.fail_expected(!rule.by.empty()          ? "',' or the end of the item"
                           : rule.conditions.empty() ? "',', 'where', 'by' or the end of the item"
                                                     : "',', 'by' or the end of the item");
    find_numbers(rule.source);
    find_numbers(rule.target);
    for (auto* side : {&rule.source, &rule.target})
      for (PatternPtr& pattern : *side) pattern = with_constants(pattern, true);
    if (const auto flaw = flaw_of(rule)) report(*flaw, rule);
    return rule;
  }

  // "expand[shape=u](x) = mul(x, ones[shape=u])"
  Definition definition() {
    Definition result;
    const Token word = words_.peek();
    result.name = own_name("the name of a definition");
    result.place = word.range();
    std::set<std::string> names;
    const auto declared = [&](std::string name, const Token& at) {
      if (!names.insert(name).second) fail(at.range(), fmt::format("there is another '{}' here", excerpt(name)));
      return name;
    };
    if (words_.accept("[")) {
      do {
        const Token field = words_.peek();
        if (field.kind != Token::Kind::name) words_.fail_expected("the name of a field");
        words_.next();
        for (const Definition::Field& other : result.fields)
          if (other.name == field.text) fail(field.range(), fmt::format("field '{}' is given twice", field.text));
        words_.expect("=", "after the name of a field");
        const Token variable = words_.peek();
        result.fields.push_back({std::string(field.text), declared(own_name("a variable"), variable), false});
      } while (words_.accept(","));
      words_.expect("]", "after the fields");
    }
    if (words_.accept("(")) {
      do {
        const Token input = words_.peek();
        result.inputs.push_back(declared(own_name("an input"), input));
      } while (words_.accept(","));
      words_.expect(")", "after the inputs");
    }
    words_.expect("=", "before what the definition stands for");
    result.body = pattern(0, false);
    if (!words_.at_end()) words_.fail_expected("the end of the definition");
    check_names(*result.body, names);
    for (Definition::Field& field : result.fields) field.is_real = is_real(*result.body, field.variable);
    return result;
  }

  std::string own_name(std::string_view what) {
    const Token word = words_.peek();
    if (word.kind != Token::Kind::name) words_.fail_expected(what);
    words_.next();
    return checked_name(word, what);
  }

  // A definition has no names but its own.
  void check_names(const Pattern& pattern, const std::set<std::string>& names) const {
    if (pattern.is_input() && !names.contains(pattern.input))
      fail(pattern_places_.at(&pattern), fmt::format("the definition does not say what '{}' is", pattern.input));
    for (const auto& [field, term] : pattern.attributes) check_names(*term, names);
    for (const PatternPtr& operand : pattern.operands) check_names(*operand, names);
  }
  void check_names(const Term& term, const std::set<std::string>& names) const {
    if (term.kind == Term::Kind::variable && !names.contains(term.name))
      fail(terms_.place_of(&term), fmt::format("the definition does not say what '{}' is", term.name));
    for (const TermPtr& operand : term.operands) check_names(*operand, names);
  }

  // Whether the variable is a number, as an operand or where an operator takes one.
  bool is_real(const Pattern& pattern, const std::string& variable) const {
    if (pattern.is_input()) return pattern.input == variable;
    for (const auto& [name, term] : pattern.attributes)
      if (term->kind == Term::Kind::variable && term->name == variable &&
          known_signature(pattern.op)->field(name)->kind == ValueKind::real)
        return true;
    return std::any_of(pattern.operands.begin(), pattern.operands.end(),
                       [&](const PatternPtr& operand) { return is_real(*operand, variable); });
  }

  // A use of a definition: what it stands for, in its place.
  PatternPtr use(const Definition& definition, const Token& word, std::size_t depth) {
    Signature signature{definition.name, definition.inputs.size(), definition.inputs.size(), 1, {}, {}};
    for (const Definition::Field& field : definition.fields)
      signature.fields.push_back({field.name, field.is_real ? ValueKind::real : ValueKind::integer, {}});
    Pattern call;
    attributes(call, signature);
    operands(call, signature, word, depth);
    kept_.insert(kept_.end(), call.operands.begin(), call.operands.end());
    const SourceRange range{word.offset, words_.last_end()};
    if (call.attributes.size() < definition.fields.size())
      fail(range, fmt::format("{} needs all its fields", definition.name));
    DefinitionArguments arguments;
    for (std::size_t i = 0; i < definition.fields.size(); ++i)
      arguments.terms[definition.fields[i].variable] = call.attributes[i].second;
    for (std::size_t i = 0; i < definition.inputs.size(); ++i)
      arguments.patterns[definition.inputs[i]] = call.operands[i];
    arguments.note_term = [&](const TermPtr& term) { terms_.note(term, range); };
    arguments.note_pattern = [&](const PatternPtr& pattern) { pattern_places_[pattern.get()] = range; };
    try {
      PatternPtr result = expanded(definition, arguments);
      if (count_operators(*result, most_operators_of_a_use) > most_operators_of_a_use)
        fail(range, fmt::format("this stands for more than {} operators", most_operators_of_a_use));
      if (!result->is_input() && known_signature(result->op)->results > 1) picked_.insert(result.get());
      return result;
    } catch (const TermOfPattern& term) {
      fail(range, fmt::format("the definition of {} uses the shape of '{}', which must be an input here",
                              definition.name, term.input));
    }
  }

  [[noreturn]] void fail(SourceRange range, std::string_view message) const { words_.fail(range, message); }

  [[noreturn]] void report(const Flaw& flaw, const Rule& rule) const {
    SourceRange range = rule.place;
    if (flaw.term) range = terms_.place_of(flaw.term);
    if (flaw.pattern) range = pattern_places_.at(flaw.pattern);
    for (std::size_t i = 0; i < rule.conditions.size(); ++i)
      if (flaw.condition == &rule.conditions[i]) range = condition_places_[i];
    fail(range, flaw.message);
  }

  std::string rule_name(std::string_view what, SourceRange* place) {
    const Token name = words_.expect_name(what);
    if (!is_rule_name(name.text))
      fail(name.range(), fmt::format("'{}' is a keyword, not {}", excerpt(name.text), what));
    if (place) *place = name.range();
    return std::string(name.text);
  }

  // "f in unary"
  FunctionVariable function_variable(const Rule& rule) {
    const Token name = words_.peek();
    if (name.kind != Token::Kind::name) words_.fail_expected("the name of a function");
    words_.next();
    FunctionVariable variable{checked_name(name, "a function"), {}};
    if (!words_.accept_word("in")) words_.fail_expected(fmt::format("'in' and a class after 'for {}'", name.text));
    const std::size_t begin = words_.peek().offset;
    do {
      const Token word = words_.peek();
      if (word.kind != Token::Kind::name) words_.fail_expected("a class");
      words_.next();
      const FunctionClass* known = class_named(word.text);
      if (!known) {
        const std::string meant = did_you_mean(word.text, class_names());
        fail(word.range(),
             fmt::format("unknown class '{}'{}", excerpt(word.text),
                         meant.empty() ? fmt::format("; there are {}", fmt::join(class_names(), ", ")) : meant));
      }
      variable.of += (variable.of.empty() ? "" : " & ") + std::string(known->name);
    } while (words_.accept("&"));
    auto signature = common_signature(variable);
    if (!signature) fail({begin, words_.last_end()}, "no operator belongs to all these classes");
    if (('-' + rule.name + '-').find('-' + variable.name + '-') == std::string::npos)
      fail(
          rule.place,
          fmt::format("the name of a law for {0} must contain '{0}', like '{0}-of-concat', to be replaced by the names "
                      "of its members",
                      variable.name));
    functions_.emplace_back(variable.name, std::move(*signature));
    functions_.back().second.name = function_classes_.emplace_back(variable.of);
    return variable;
  }

  // The signature of an operator, or of a function variable: what all members have in common.
  const Signature* known_signature(std::string_view name) const {
    for (const auto& [variable, signature] : functions_)
      if (variable == name) return &signature;
    return signature_of(name);
  }

  std::vector<PatternPtr> side() {
    std::vector<PatternPtr> results;
    do {
      const PatternPtr pattern = this->pattern(0, true);
      results.push_back(pattern);
      if (pattern->is_input() || picked_.contains(pattern.get())) continue;
      for (std::size_t i = 1; i < known_signature(pattern->op)->results; ++i) {
        auto other = std::make_shared<Pattern>(*pattern);
        other->output = i;
        pattern_places_[other.get()] = pattern_places_.at(pattern.get());
        results.push_back(std::move(other));
      }
    } while (words_.accept(","));
    return results;
  }

  // `whole`: an operator may stand for all its results.
  PatternPtr pattern(std::size_t depth, bool whole) {
    const Token word = words_.peek();
    if (depth > deepest_nesting) fail(word.range(), "patterns are nested too deeply");
    if (word.is_word("first") || word.is_word("second")) return pick(depth);
    if (word.kind == Token::Kind::integer || word.kind == Token::Kind::decimal || word.is("-")) return number();
    if (word.kind != Token::Kind::name || is_keyword(word.text)) words_.fail_expected("a pattern");
    words_.next();
    if (const auto known = definitions_.find(word.text); known != definitions_.end())
      return use(known->second, word, depth);
    auto result = std::make_shared<Pattern>();
    if (const Signature* signature = known_signature(word.text)) {
      result->op = word.text;
      attributes(*result, *signature);
      operands(*result, *signature, word, depth);
      if (signature->results > 1 && !whole)
        fail({word.offset, words_.last_end()},
             fmt::format("{} has {} results: pick one with first() or second()", result->op, signature->results));
    } else {
      if (words_.peek().is("(") || words_.peek().is("[")) unknown_operator(word);
      result->input = checked_name(word, "an input");
    }
    pattern_places_[result.get()] = {word.offset, words_.last_end()};
    return result;
  }

  // A number as an operand. Its shape follows from the other operand, see with_constants.
  PatternPtr number() {
    const std::size_t begin = words_.peek().offset;
    auto result = std::make_shared<Pattern>(number_pattern(terms_.real()));
    pattern_places_[result.get()] = {begin, words_.last_end()};
    return result;
  }

  // Collects the variables that are numbers.
  void find_numbers(const std::vector<PatternPtr>& patterns) {
    for (const PatternPtr& pattern : patterns) {
      const Signature* signature = pattern->is_input() ? nullptr : known_signature(pattern->op);
      for (const auto& [name, term] : pattern->attributes)
        if (signature->field(name)->kind == ValueKind::real && term->kind == Term::Kind::variable)
          numbers_.insert(term->name);
      find_numbers(pattern->operands);
    }
  }

  bool is_constant(const Pattern& pattern) const {
    return pattern.is_input() ? numbers_.contains(pattern.input) : is_number(pattern);
  }

  // A number beside a tensor is a tensor of that shape: the tensor, clipped to the number from both sides. `alone`:
  // there is no tensor beside it.
  PatternPtr with_constants(const PatternPtr& pattern, bool alone) {
    if (alone && is_constant(*pattern) && !pattern->is_input())
      fail(pattern_places_.at(pattern.get()), "a number needs a tensor beside it, in a function of two: add(x, 1)");
    if (pattern->is_input()) return pattern;
    auto result = std::make_shared<Pattern>(*pattern);
    const bool has_two = pattern->operands.size() == 2 && is_binary(pattern->op);
    for (std::size_t i = 0; i < pattern->operands.size(); ++i)
      if (!has_two || !is_constant(*pattern->operands[i]))
        result->operands[i] = with_constants(pattern->operands[i], true);
    for (std::size_t i = 0; i < 2 && has_two; ++i) {
      const PatternPtr &operand = pattern->operands[i], &other = pattern->operands[1 - i];
      if (!is_constant(*operand)) continue;
      if (is_constant(*other)) fail(pattern_places_.at(other.get()), "one of the two operands must be a tensor");
      // Each number copies the operand beside it, so nested numbers double the rule.
      if (++count_of_numbers_ > most_numbers)
        fail(pattern_places_.at(operand.get()), fmt::format("a rule has at most {} numbers as operands", most_numbers));
      auto filled = std::make_shared<Pattern>(*operand);
      if (operand->is_input()) {
        filled->input.clear();
        const TermPtr value = variable_term(operand->input);
        terms_.note(value, pattern_places_.at(operand.get()));
        *filled = number_pattern(value);
      }
      filled->operands = {result->operands[1 - i]};
      pattern_places_[filled.get()] = pattern_places_.at(operand.get());
      result->operands[i] = std::move(filled);
    }
    pattern_places_[result.get()] = pattern_places_.at(pattern.get());
    kept_.push_back(pattern);
    return result;
  }

  bool is_binary(const std::string& op) const {
    const auto& members = class_named("binary")->members;
    return !signature_of(op) ||
           std::any_of(members.begin(), members.end(), [&](const Signature* member) { return member->name == op; });
  }

  PatternPtr pick(std::size_t depth) {
    const Token word = words_.next();
    words_.expect("(", fmt::format("after '{}'", word.text));
    const PatternPtr whole = pattern(depth + 1, true);
    words_.expect(")", fmt::format("after the operand of '{}'", word.text));
    const SourceRange range{word.offset, words_.last_end()};
    if (whole->is_input() || picked_.contains(whole.get()) || known_signature(whole->op)->results < 2)
      fail(range, fmt::format("'{}' picks a result of an operator that has several, like split", word.text));
    auto result = std::make_shared<Pattern>(*whole);
    result->output = word.text == "first" ? 0 : 1;
    pattern_places_[result.get()] = range;
    picked_.insert(result.get());
    kept_.push_back(whole);  // otherwise its address, which is a key of the places, might be reused
    return result;
  }

  [[noreturn]] void unknown_operator(const Token& word) const {
    std::vector<std::string> names{"first", "second"};
    for (const Signature& signature : signatures()) names.emplace_back(signature.name);
    for (const auto& [name, definition] : definitions_) names.push_back(name);
    fail(word.range(), fmt::format("unknown operator '{}'{}", excerpt(word.text), did_you_mean(word.text, names)));
  }

  // The name of an input or of a variable.
  std::string checked_name(const Token& word, std::string_view what) const {
    if (word.text.find('.') != std::string_view::npos)
      fail(word.range(), fmt::format("the name of {} has no '.'", what));
    if (is_keyword(word.text)) fail(word.range(), fmt::format("'{}' is a keyword, not {}", word.text, what));
    if (signature_of(word.text)) fail(word.range(), fmt::format("'{}' is an operator, not {}", word.text, what));
    if (definitions_.contains(word.text))
      fail(word.range(), fmt::format("'{}' is defined above, it is not {}", word.text, what));
    if (known_signature(word.text))
      fail(word.range(), fmt::format("'{}' is a function of this law, not {}", word.text, what));
    if (is_term_function(word.text)) fail(word.range(), fmt::format("'{}' is a function, not {}", word.text, what));
    return std::string(word.text);
  }

  void attributes(Pattern& pattern, const Signature& signature) {
    if (!words_.accept("[")) return;
    std::map<std::string_view, TermPtr> given;
    do {
      const Token name = words_.peek();
      if (name.kind != Token::Kind::name) words_.fail_expected("the name of a field");
      const FieldSignature* field = signature.field(name.text);
      if (!field) unknown_field(name, signature);
      if (given.contains(field->name)) fail(name.range(), fmt::format("field '{}' is given twice", name.text));
      words_.next();
      words_.expect("=", "after the name of a field");
      given[field->name] = field->kind == ValueKind::real ? terms_.real() : terms_.term();
    } while (words_.accept(","));
    words_.expect("]", "after the fields");
    for (const FieldSignature& field : signature.fields)
      if (const auto place = given.find(field.name); place != given.end())
        pattern.attributes.emplace_back(field.name, place->second);
  }

  [[noreturn]] void unknown_field(const Token& name, const Signature& signature) const {
    if (name.text == "type") fail(name.range(), "'type' is never given: constants have the rule's element type");
    std::vector<std::string> names;
    for (const FieldSignature& field : signature.fields) names.emplace_back(field.name);
    const std::string who =
        is_single(signature) ? std::string(signature.name) : fmt::format("not every operator of '{}'", signature.name);
    fail(name.range(), fmt::format("{} has {}field '{}'{}", who, is_single(signature) ? "no " : "a ",
                                   excerpt(name.text), did_you_mean(name.text, names)));
  }

  // Whether the signature is of one operator or definition, not of a class.
  bool is_single(const Signature& signature) const {
    return signature_of(signature.name) || definitions_.contains(signature.name);
  }

  void operands(Pattern& pattern, const Signature& signature, const Token& word, std::size_t depth) {
    if (words_.peek().is("(")) {
      words_.next();
      if (!words_.accept(")")) {
        do pattern.operands.push_back(this->pattern(depth + 1, false));
        while (words_.accept(","));
        words_.expect(")", "after the operands");
      }
    }
    const std::size_t number = pattern.operands.size();
    if (number >= signature.min_operands && number <= signature.max_operands) return;
    const std::string takes = signature.min_operands == signature.max_operands
                                  ? count_of(signature.max_operands, "operand")
                                  : fmt::format("{} or {} operands", signature.min_operands, signature.max_operands);
    const std::string who =
        is_single(signature) ? std::string(signature.name) : fmt::format("an operator of '{}'", signature.name);
    fail({word.offset, words_.last_end()}, fmt::format("{} takes {}, not {}", who, takes, number));
  }

  Condition condition() {
    const Token word = words_.peek();
    Condition result;
    if (words_.accept_word("divides")) {
      result.relation = Condition::Relation::divides;
      words_.expect("(", "after 'divides'");
      result.left = terms_.term();
      words_.expect(",", "after what divides");
      result.right = terms_.term();
      words_.expect(")", "after what is divided");
    } else if (words_.accept_word("parity")) {
      words_.expect("(", "after 'parity'");
      result.left = terms_.term();
      words_.expect(")", "after the term");
      words_.expect("=", "after 'parity(…)'");
      result.relation = Condition::Relation::even;
      if (words_.accept_word("odd"))
        result.relation = Condition::Relation::odd;
      else if (!words_.accept_word("even"))
        words_.fail_expected("'odd' or 'even'");
    } else if (words_.accept_word("broadcast")) {
      result.relation = Condition::Relation::broadcast;
      words_.expect("(", "after 'broadcast'");
      do {
        const Token name = words_.peek();
        if (name.kind != Token::Kind::name) words_.fail_expected("an input");
        words_.next();
        result.inputs.push_back(checked_name(name, "an input"));
      } while (words_.accept(","));
      words_.expect(")", "after the inputs");
      if (result.inputs.size() < 2) fail({word.offset, words_.last_end()}, "broadcast takes two inputs or more");
    } else {
      comparison(result);
    }
    condition_places_.push_back({word.offset, words_.last_end()});
    return result;
  }

  void comparison(Condition& result) {
    using Relation = Condition::Relation;
    result.left = terms_.term();
    const Token word = words_.peek();
    constexpr std::pair<std::string_view, Relation> relations[] = {
        {"=", Relation::equal}, {"!=", Relation::not_equal}, {"<=", Relation::at_most},
        {"<", Relation::less},  {">=", Relation::at_most},   {">", Relation::less}};
    const auto* const relation =
        std::find_if(std::begin(relations), std::end(relations), [&](const auto& r) { return word.is(r.first); });
    if (relation == std::end(relations)) words_.fail_expected("'=', '!=', '<=', '<', '>=' or '>'");
    words_.next();
    result.relation = relation->second;
    result.right = terms_.term();
    if (word.text[0] == '>') std::swap(result.left, result.right);
  }

  RuleWords& words_;
  const Definitions& definitions_;
  TermParser terms_;
  std::unordered_map<const Pattern*, SourceRange> pattern_places_;
  std::vector<SourceRange> condition_places_;
  std::set<const Pattern*> picked_;  // by first() or second()
  std::vector<PatternPtr> kept_;
  std::vector<std::pair<std::string, Signature>> functions_;  // declared by `for`
  std::deque<std::string> function_classes_;                  // owns the names in these signatures
  std::set<std::string> numbers_;                             // variables that are whole real attributes
  std::size_t count_of_numbers_ = 0;                          // as operands
};

}  // namespace

std::variant<Rule, Definition> parse_item(RuleWords& words, const Definitions& definitions) {
  return ItemParser(words, definitions).parse();
}

}  // namespace taso::rules
