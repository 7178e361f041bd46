#include "rules/taso/taso_file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rules/language/signature.h"
#include "rules/language/well_formed.h"
#include "rules/taso/taso_message.h"
#include "rules/taso/taso_terms.h"

namespace taso::rules {
namespace {

using Pairs = TasoTerms::Pairs;

// Names for numbers that a file leaves open, one of each kind per rule: where TASO says nothing, all are the same.
constexpr std::string_view stride_variable = "s", pads_variable = "p", kernel_variable = "k", order_variable = "r";

constexpr std::int32_t spatial_rank = 4;  // TASO's images have two spatial dimensions

PatternPtr pattern_of(std::string op, std::vector<std::pair<std::string, TermPtr>> attributes,
                      std::vector<PatternPtr> operands, std::size_t output = 0) {
  auto result = std::make_shared<Pattern>();
  for (auto& attribute : attributes)
    if (attribute.second) result->attributes.push_back(std::move(attribute));
  result->op = std::move(op);
  result->operands = std::move(operands);
  result->output = output;
  return result;
}

/// The rule leaves open what a rule here must state.
struct CannotBeStated {
  std::string reason;
};

std::string name_of_rule(std::size_t number) { return fmt::format("taso-{:03}", number); }

class Translator {
 public:
  Translator(const Source& file, const TasoRule& rule, std::size_t number)
      : file_(file), rule_(rule), number_(number) {}

  Rule translate() {
    Rule result;
    result.name = name_of_rule(number_);
    result.comments = {fmt::format("TASO's rule {}", number_)};
    name_inputs();
    collect_ranks();
    tie_ranks();
    TasoTerms source(rule_.source, inputs_), target(rule_.target, inputs_);
    const auto source_patterns = side(rule_.source, source, true);
    const auto target_patterns = side(rule_.target, target, false);
    for (const auto& [from, to] : rule_.results) {
      result.source.push_back(pattern(from, source_patterns));
      result.target.push_back(pattern(to, target_patterns));
    }
    add_rank_conditions(result);
    for (Condition& condition : kernels_) result.conditions.push_back(std::move(condition));
    if (const auto flaw = flaw_of(result)) fail(flaw->message);
    return result;
  }

 private:
  using Patterns = std::vector<std::vector<PatternPtr>>;  // for each operator and result

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fmt::format("{}: rule {}: {}", file_.name(), number_, message));
  }

  static std::optional<std::int32_t> parameter(const TasoOperator& op, TasoKey key) {
    const auto place = op.parameters.find(key);
    return place == op.parameters.end() ? std::nullopt : std::optional(place->second);
  }

  // --- Inputs and their ranks ---

  // Names weights w, v, u, …, and all others x, y, z, …
  void name_inputs() {
    std::set<TasoValue> weights, others, seen;
    std::vector<TasoValue> order;
    const auto meet = [&](TasoValue value) {
      if (value.is_input() && seen.insert(value).second) order.push_back(value);
    };
    for (const auto* side : {&rule_.source, &rule_.target})
      for (const TasoOperator& op : *side) {
        for (const TasoValue& input : op.inputs) meet(input);
        if (op.type != TasoType::conv) continue;
        weights.merge(TasoTerms(*side, inputs_).same_rank(op.inputs[1], Pairs::included));
        others.insert(op.inputs[0]);
      }
    for (const auto& [from, to] : rule_.results) meet(from), meet(to);  // an input may also be a result
    std::size_t named_weights = 0, named_others = 0;
    for (const TasoValue& input : order) {
      const bool weight = weights.contains(input) && !others.contains(input);
      std::size_t& count = weight ? named_weights : named_others;
      const std::string_view letters = weight ? "wvu" : weights.empty() ? "xyzwvut" : "xyz";
      inputs_[input] =
          count < letters.size() ? std::string(1, letters[count]) : fmt::format("{}{}", letters[0], count + 1);
      ++count;
    }
  }

  void learn_rank(TasoValue input, std::int32_t rank) {
    if (ranks_.insert({input, rank}).first->second != rank)
      fail(fmt::format("an operand would need both rank {} and rank {}", ranks_.at(input), rank));
  }

  // Takes ranks from operators that name them, and from there to all operands of the same rank, as in TASO.
  void collect_ranks() {
    for (const auto* side : {&rule_.source, &rule_.target})
      for (const TasoOperator& op : *side) {
        auto rank = parameter(op, TasoKey::rank);
        if (rank && (*rank < 1 || *rank > 8)) fail(fmt::format("{} dimensions", *rank));
        const bool windowed = op.type == TasoType::conv || op.type == TasoType::max_pool ||
                              op.type == TasoType::average_pool || op.type == TasoType::enlarge;
        if (windowed) rank = spatial_rank;
        if (!rank || !(windowed || op.type == TasoType::concat || op.type == TasoType::transpose)) continue;
        for (const TasoValue& operand : op.inputs)
          for (const TasoValue& input : TasoTerms(*side, inputs_).same_rank(operand, Pairs::included))
            learn_rank(input, *rank);
      }
    for (std::size_t known = 0; known < ranks_.size();) {
      known = ranks_.size();
      for (const auto* side : {&rule_.source, &rule_.target})
        for (std::size_t i = 0; i < side->size(); ++i) {
          TasoTerms terms(*side, inputs_);
          terms.ranks = ranks_;
          const TasoValue value{static_cast<std::int32_t>(i), 0};
          if (const auto rank = terms.rank(value))
            for (const TasoValue& input : terms.same_rank(value, Pairs::included))
              learn_rank(input, *rank);
        }
    }
  }

  // Groups inputs that have the same rank wherever the source is well-formed; one of them represents the group.
  void tie_ranks() {
    for (const auto& [input, name] : inputs_) speaker_[input] = input;
    const TasoTerms terms(rule_.source, inputs_);
    for (std::size_t i = 0; i < rule_.source.size(); ++i) {
      const auto tied = terms.same_rank({static_cast<std::int32_t>(i), 0}, Pairs::left_out);
      for (const TasoValue& input : tied) {
        const TasoValue from = speaker_.at(input), to = speaker_.at(*tied.begin());
        if (from == to) continue;
        for (auto& [other, speaker] : speaker_)
          if (speaker == from) speaker = to;
      }
      // Kernels are lists with one element per spatial dimension.
      if (parameter(rule_.source[i], TasoKey::kernel_height))
        rank_said_.merge(terms.same_rank({static_cast<std::int32_t>(i), 0}, Pairs::included));
    }
  }

  void add_rank_conditions(Rule& rule) const {
    std::set<TasoValue> said;
    std::map<std::string, TasoValue> by_name;
    for (const auto& [input, name] : inputs_) by_name[name] = input;
    for (const TasoValue& input : rank_said_) said.insert(speaker_.at(input));
    for (const std::string& name : rule.inputs()) {
      const TasoValue input = by_name.at(name);
      const auto rank = ranks_.find(input);
      if (rank == ranks_.end() || !said.insert(speaker_.at(input)).second) continue;
      rule.conditions.push_back(
          {Condition::Relation::equal, call_term("rank", {variable_term(name)}), integer_term(rank->second), {}});
    }
  }

  // --- Operators ---

  PatternPtr pattern(TasoValue value, const Patterns& patterns) const {
    if (value.is_input()) {
      auto result = std::make_shared<Pattern>();
      result->input = inputs_.at(value);
      return result;
    }
    const auto& results = patterns[static_cast<std::size_t>(value.op)];
    if (results.empty())
      throw CannotBeStated{fmt::format("nothing determines the size of the constant that is operator {}", value.op)};
    return results[static_cast<std::size_t>(value.output)];
  }

  Patterns side(const std::vector<TasoOperator>& operators, TasoTerms& terms, bool is_source) {
    terms.ranks = ranks_;
    Patterns patterns(operators.size());
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const TasoOperator& op = operators[i];
      try {
        terms.attributes[static_cast<std::int32_t>(i)] = attributes_of(op);
        settle_constants(operators, op, terms, patterns);
        if (!op.inputs.empty()) add(operators, static_cast<std::int32_t>(i), terms, is_source, patterns);
      } catch (const NoTerm&) {
        throw CannotBeStated{fmt::format("a dimension that operator {} needs does not follow from the inputs", i)};
      }
    }
    return patterns;
  }

  TermPtr pair_of(const TasoOperator& op, TasoKey height, TasoKey width, std::int32_t least) const {
    const auto h = parameter(op, height), w = parameter(op, width);
    if (!h && !w) return nullptr;
    if (!h || !w || *h < least || *w < least) fail("a kernel or a stride is not two positive numbers");
    return list_term({integer_term(*h), integer_term(*w)});
  }

  TasoAttributes attributes_of(const TasoOperator& op) const {
    TasoAttributes result;
    result.kernel = pair_of(op, TasoKey::kernel_height, TasoKey::kernel_width, 1);
    result.strides = pair_of(op, TasoKey::stride_height, TasoKey::stride_width, 1);
    if (result.strides && *result.strides->operands[0] == *result.strides->operands[1])
      result.strides = result.strides->operands[0];
    if (!result.strides) result.strides = variable_term(std::string(stride_variable));
    result.same_padding = parameter(op, TasoKey::padding) == 0;
    if (op.type == TasoType::transpose) result.permutation = permutation_of(op);
    return result;
  }

  // Digits in base "number of dimensions", the most significant first.
  std::vector<std::int32_t> permutation_of(const TasoOperator& op) const {
    const auto digits = parameter(op, TasoKey::permutation), rank = parameter(op, TasoKey::rank);
    if (!digits || !rank) return {};
    std::vector<std::int32_t> result(static_cast<std::size_t>(*rank));  // checked with the ranks
    std::int32_t rest = *digits;
    std::set<std::int32_t> seen;
    for (auto place = result.rbegin(); place != result.rend(); ++place) {
      *place = *rank > 1 ? rest % *rank : 0;
      rest = *rank > 1 ? rest / *rank : 0;
      seen.insert(*place);
    }
    if (*digits < 0 || rest != 0 || seen.size() != result.size())
      fail(fmt::format("{} is not a permutation of {} axes", *digits, *rank));
    return result;
  }

  // A constant's size follows from the other operand of its first user.
  void settle_constants(const std::vector<TasoOperator>& operators, const TasoOperator& user, TasoTerms& terms,
                        Patterns& patterns) {
    for (std::size_t i = 0; i < user.inputs.size() && user.inputs.size() == 2; ++i) {
      const TasoValue constant = user.inputs[i], other = user.inputs[1 - i];
      if (constant.is_input() || !patterns[static_cast<std::size_t>(constant.op)].empty()) continue;
      if (!other.is_input() && patterns[static_cast<std::size_t>(other.op)].empty()) continue;
      settle(operators, constant, user, other, i, terms, patterns);
    }
  }

  void settle(const std::vector<TasoOperator>& operators, TasoValue constant, const TasoOperator& user, TasoValue other,
              std::size_t place, TasoTerms& terms, Patterns& patterns) {
    const TasoOperator& op = operators[static_cast<std::size_t>(constant.op)];
    TasoAttributes& given = terms.attributes.at(constant.op);
    auto& result = patterns[static_cast<std::size_t>(constant.op)];
    const bool kernel = op.type == TasoType::identity_kernel || op.type == TasoType::pooling_kernel;
    const bool convolves = user.type == TasoType::conv && place == 1;
    if (op.type == TasoType::transpose) {  // the transpose of a constant has its size
      settle(operators, op.inputs[0], user, other, place, terms, patterns);
      if (!patterns[static_cast<std::size_t>(op.inputs[0].op)].empty())
        add(operators, constant.op, terms, false, patterns);
    } else if (op.type == TasoType::identity_matrix && user.type == TasoType::matmul) {
      given.extent = terms.last_dim(other, place == 1 ? 1 : 2);
      result = {pattern_of("identity_matrix", {{"size", given.extent}}, {})};
    } else if (kernel && (convolves || user.type == TasoType::add || user.type == TasoType::mul)) {
      given.extent = convolves ? terms.dim(other, 1) : terms.dim(other, 0);
      if (!given.kernel) given.kernel = convolves ? attributes_of(user).kernel : terms.spatial(other);
      if (!given.kernel) given.kernel = variable_term(std::string(kernel_variable));
      result = {pattern_of(op.type == TasoType::identity_kernel ? "identity_kernel" : "pooling_kernel",
                           {{"channels", given.extent}, {"kernel", given.kernel}}, {})};
    } else if (op.type == TasoType::ones && (user.type == TasoType::add || user.type == TasoType::mul)) {
      given.extent = terms.shape(other);
      result = {pattern_of("ones", {{"shape", given.extent}}, {})};
    }
  }

  void add(const std::vector<TasoOperator>& operators, std::int32_t place, TasoTerms& terms, bool is_source,
           Patterns& patterns) {
    const TasoOperator& op = operators[static_cast<std::size_t>(place)];
    auto& results = patterns[static_cast<std::size_t>(place)];
    std::vector<PatternPtr> operands;
    for (const TasoValue& input : op.inputs) {
      const bool open = !input.is_input() && patterns[static_cast<std::size_t>(input.op)].empty();
      if (open && op.type == TasoType::transpose) return;  // it follows when its constant is settled
      operands.push_back(pattern(input, patterns));
    }
    TasoAttributes& given = terms.attributes.at(place);
    switch (op.type) {
      case TasoType::conv: results = {conv(op, given, terms, is_source, std::move(operands))}; break;
      case TasoType::max_pool:
      case TasoType::average_pool: results = {pool(op, given, terms, std::move(operands))}; break;
      case TasoType::relu: results = {pattern_of("relu", {}, std::move(operands))}; break;
      case TasoType::sigmoid: results = {pattern_of("sigmoid", {}, std::move(operands))}; break;
      case TasoType::tanh: results = {pattern_of("tanh", {}, std::move(operands))}; break;
      case TasoType::add: results = {pattern_of("add", {}, std::move(operands))}; break;
      case TasoType::mul: results = {pattern_of("mul", {}, std::move(operands))}; break;
      case TasoType::scalar_mul: results = {pattern_of("scalar_mul", {}, std::move(operands))}; break;
      case TasoType::matmul: results = {activated(op, pattern_of("matmul", {}, std::move(operands)))}; break;
      case TasoType::concat: results = {concat(op, operands)}; break;
      case TasoType::split: results = split(op, given, terms, is_source, operands); break;
      case TasoType::transpose: results = {transpose(given, std::move(operands))}; break;
      case TasoType::enlarge: results = {enlarge(op, given, terms, operands)}; break;
      default: break;
    }
  }

  PatternPtr activated(const TasoOperator& op, PatternPtr pattern) const {
    switch (parameter(op, TasoKey::activation).value_or(0)) {
      case 0: return pattern;
      case 1: return pattern_of("sigmoid", {}, {std::move(pattern)});
      case 2: return pattern_of("relu", {}, {std::move(pattern)});
      case 3: return pattern_of("tanh", {}, {std::move(pattern)});
      default: fail("an unknown activation");
    }
  }

  TermPtr pads_of(const TasoOperator& op, const TasoAttributes& given, const TasoTerms& terms) const {
    const auto mode = parameter(op, TasoKey::padding);
    if (!mode) return variable_term(std::string(pads_variable));
    if (*mode != 0 && *mode != 1) fail("an unknown kind of padding");
    return *mode == 1 ? nullptr : call_term("same", {terms.spatial(op.inputs[0]), given.kernel, given.strides});
  }

  // A stride of 1 is omitted.
  static TermPtr said(const TermPtr& strides) {
    return strides->kind == Term::Kind::integer && strides->integer == 1 ? nullptr : strides;
  }

  PatternPtr conv(const TasoOperator& op, TasoAttributes& given, const TasoTerms& terms, bool is_source,
                  std::vector<PatternPtr> operands) {
    const TermPtr kernel = terms.spatial(op.inputs[1]);
    if (!given.kernel) {
      given.kernel = kernel;
    } else if (is_source && !(*kernel == *given.kernel)) {
      const Condition condition{Condition::Relation::equal, kernel, given.kernel, {}};
      if (std::find(kernels_.begin(), kernels_.end(), condition) == kernels_.end()) kernels_.push_back(condition);
    }
    return activated(op, pattern_of("conv",
                                    {{"strides", said(given.strides)},
                                     {"pads", pads_of(op, given, terms)},
                                     {"groups", groups(op, terms, is_source)}},
                                    std::move(operands)));
  }

  // TASO's groups are those that the channels of the operands imply: nothing else determines their number. On the left
  // side they are a variable, which shapes then determine; on the right side that variable if the channels are the
  // same.
  TermPtr groups(const TasoOperator& op, const TasoTerms& terms, bool is_source) {
    if (const auto number = parameter(op, TasoKey::groups)) {
      if (*number < 1) fail("groups are not positive");
      return *number == 1 ? nullptr : integer_term(*number);
    }
    const TermPtr channels = terms.dim(op.inputs[0], 1), of_filter = terms.dim(op.inputs[1], 1);
    if (text_of(*channels) == text_of(*of_filter)) return nullptr;
    TermPtr quotient = call_term("/", {channels, of_filter});
    const std::string key = text_of(*equalised(quotient));
    if (const auto known = groups_.find(key); known != groups_.end()) return known->second;
    if (!is_source) return quotient;
    const std::size_t number = groups_.size();
    return groups_[key] = variable_term(number < 2 ? std::string(1, "gh"[number]) : fmt::format("g{}", number + 1));
  }

  // Replaces inputs by the first input of equal shape, where the source adds or multiplies them.
  TermPtr equalised(const TermPtr& term) const {
    if (term->kind == Term::Kind::variable) return variable_term(equal_shape(term->name));
    Term result = *term;
    for (TermPtr& operand : result.operands) operand = equalised(operand);
    return std::make_shared<const Term>(std::move(result));
  }

  std::string equal_shape(const std::string& name) const {
    bool grown = true;
    std::set<std::string> reached{name};
    while (grown) {
      grown = false;
      for (const TasoOperator& op : rule_.source) {
        if (op.type != TasoType::add && op.type != TasoType::mul) continue;
        std::vector<std::string> equal;
        for (const TasoValue& input : op.inputs) equal_inputs(input, equal);
        const bool touched =
            std::any_of(equal.begin(), equal.end(), [&](const auto& e) { return reached.contains(e); });
        for (const std::string& other : equal)
          if (touched) grown = reached.insert(other).second || grown;
      }
    }
    return *reached.begin();
  }

  // The inputs whose shape the value has, through operators that keep it.
  void equal_inputs(TasoValue value, std::vector<std::string>& names) const {
    if (value.is_input()) return names.push_back(inputs_.at(value));
    const TasoOperator& op = rule_.source[static_cast<std::size_t>(value.op)];
    switch (op.type) {
      case TasoType::relu:
      case TasoType::sigmoid:
      case TasoType::tanh:
      case TasoType::scalar_mul: return equal_inputs(op.inputs[0], names);
      case TasoType::add:
      case TasoType::mul:
        for (const TasoValue& input : op.inputs) equal_inputs(input, names);
        return;
      default: return;
    }
  }

  PatternPtr pool(const TasoOperator& op, TasoAttributes& given, const TasoTerms& terms,
                  std::vector<PatternPtr> operands) const {
    if (!given.kernel) given.kernel = variable_term(std::string(kernel_variable));
    const bool average = op.type == TasoType::average_pool;
    return activated(op, pattern_of(average ? "average_pool" : "max_pool",
                                    {{"kernel", given.kernel},
                                     {"strides", said(given.strides)},
                                     {"pads", pads_of(op, given, terms)},
                                     {"count_padding", average ? boolean_term(true) : nullptr}},
                                    std::move(operands)));
  }

  std::int32_t axis_of(const TasoOperator& op) const {
    const auto axis = parameter(op, TasoKey::axis);
    if (!axis || *axis < 0 || *axis >= parameter(op, TasoKey::rank).value_or(8))
      fail("the axis is missing or out of range");
    return *axis;
  }

  PatternPtr concat(const TasoOperator& op, const std::vector<PatternPtr>& operands) const {
    PatternPtr result = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i)
      result = pattern_of("concat", {{"axis", integer_term(axis_of(op))}}, {result, operands[i]});
    return result;
  }

  std::vector<PatternPtr> split(const TasoOperator& op, TasoAttributes& given, const TasoTerms& terms, bool is_source,
                                const std::vector<PatternPtr>& operands) {
    if (parameter(op, TasoKey::outputs).value_or(2) != 2) fail("a split must have two parts");
    const std::int32_t axis = axis_of(op);
    given.cut = terms.joint(op.inputs[0], axis);
    if (!given.cut) {
      const std::string name = fmt::format("c{}", axis);
      if (!is_source && !cuts_.contains(name)) throw CannotBeStated{"no concat determines where the split cuts"};
      if (is_source) cuts_.insert(name);
      given.cut = variable_term(name);
    }
    std::vector<PatternPtr> results;
    for (std::size_t output = 0; output < 2; ++output)
      results.push_back(pattern_of("split", {{"axis", integer_term(axis)}, {"at", given.cut}}, operands, output));
    return results;
  }

  static PatternPtr transpose(const TasoAttributes& given, std::vector<PatternPtr> operands) {
    std::vector<TermPtr> axes;
    for (const std::int32_t axis : given.permutation) axes.push_back(integer_term(axis));
    return pattern_of("transpose",
                      {{"permutation", axes.empty() ? variable_term(std::string(order_variable)) : list_term(axes)}},
                      std::move(operands));
  }

  // To the given kernel, or to that of a second operand.
  PatternPtr enlarge(const TasoOperator& op, TasoAttributes& given, const TasoTerms& terms,
                     const std::vector<PatternPtr>& operands) const {
    if (!given.kernel && operands.size() == 2) given.kernel = terms.spatial(op.inputs[1]);
    if (!given.kernel) given.kernel = variable_term(std::string(kernel_variable));
    return pattern_of("enlarge", {{"kernel", given.kernel}}, {operands[0]});
  }

  const Source& file_;
  const TasoRule& rule_;
  std::size_t number_ = 0;
  std::map<TasoValue, std::string> inputs_;
  std::map<TasoValue, std::int32_t> ranks_;
  std::map<TasoValue, TasoValue> speaker_;
  std::set<TasoValue> rank_said_;
  std::map<std::string, TermPtr> groups_;  // by the quotient that determines them
  std::set<std::string> cuts_;
  std::vector<Condition> kernels_;
};

}  // namespace

RuleFile parse_taso_rules(const Source& bytes, std::vector<UnstatedRule>& unstated) {
  RuleFile file;
  const auto rules = read_taso_messages(bytes);
  if (rules.empty()) throw InputError(fmt::format("{}: it has no rules", bytes.name()));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    try {
      file.items.emplace_back(Translator(bytes, rules[i], i).translate());
    } catch (const CannotBeStated& open) {
      unstated.push_back({name_of_rule(i), open.reason, i - unstated.size()});
      file.items.emplace_back(CommentBlock{{fmt::format("TASO's rule {} cannot be stated: {}", i, open.reason)}});
    }
  }
  return file;
}

RuleFile parse_taso_rules(const Source& bytes) {
  std::vector<UnstatedRule> unstated;
  RuleFile file = parse_taso_rules(bytes, unstated);
  if (!unstated.empty()) {
    const UnstatedRule& first = unstated.front();
    throw InputError(fmt::format("{}: rule {}: {}", bytes.name(), first.before, first.reason));
  }
  return file;
}

}  // namespace taso::rules
