#include "rules/instance/instance.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/instance/choice_domain.h"
#include "rules/instance/term_value.h"
#include "rules/language/signature.h"

namespace taso::rules {
namespace {

using RequirementKind = Requirement::Kind;

/// Thrown if the choices so far contradict each other.
struct Contradiction {};

/// An attribute that is just a variable: it determines the variable's kind.
struct VariableKind {
  std::string_view field;
  SymbolicField sample;
};

/// Whether two operands broadcast.
bool is_elementwise_pair(std::string_view op) { return is_function(op, 2) || op == "matmul"; }

void visit_patterns(const std::vector<PatternPtr>& patterns, const std::function<void(const Pattern&)>& visit) {
  for (const PatternPtr& pattern : patterns) {
    visit(*pattern);
    visit_patterns(pattern->operands, visit);
  }
}

void collect_names(const Term& term, std::set<std::string>& names) {
  if (term.kind == Term::Kind::variable) names.insert(term.name);
  for (const TermPtr& operand : term.operands) collect_names(*operand, names);
}

/// The inputs whose whole shape, or rank, a term mentions.
void collect_shaped(const Term& term, std::set<std::string>& names) {
  if (term.kind == Term::Kind::call && (term.name == "shape" || term.name == "rank"))
    collect_names(*term.operands[0], names);
  for (const TermPtr& operand : term.operands) collect_shaped(*operand, names);
}

class Builder {
 public:
  Builder(const Rule& rule, Chooser& chooser, const InstanceOptions& options, bool solve)
      : rule_(rule),
        chooser_(chooser),
        options_(options),
        greatest_rank_(options.greatest_rank.value_or(greatest_rank(rule))),
        equations_(solve),
        solve_(solve) {
    context_.shape = [this](const std::string& input) { return reduced(shape_of_input(input)); };
    context_.variable = [this](const std::string& variable, std::size_t length) { return value_of(variable, length); };
    context_.is_non_negative = [this](const Dim& number) { return decide_sign(number); };
    context_.differ = [this](const Dim& left, const Dim& right) {
      return equations_.is_obvious(equations_.reduce({RequirementKind::not_equal, left, right}));
    };
    context_.require = [this](const Requirement& requirement) { require(requirement); };
    conditions_ = rule.conditions;
    conditions_.insert(conditions_.end(), options.extra.begin(), options.extra.end());
    instance_.inputs = rule.inputs();
    learn_kinds();
  }

  std::optional<Instance> build() {
    try {
      broadcast_inputs();
      // Equations between shapes come first: they determine which dimensions are literally 1.
      std::vector<const Condition*> later;
      for (const Condition& condition : conditions_) {
        if (condition.relation == Condition::Relation::broadcast) continue;
        if (condition.relation == Condition::Relation::equal && is_about_inputs(condition))
          assume(condition);
        else
          later.push_back(&condition);
      }
      for (const PatternPtr& pattern : rule_.source) source_.push_back(add(*pattern));
      for (const Condition* condition : later) assume(*condition);
      in_target_ = true;
      build_target();
      finish();
    } catch (const NoValue&) {
      return std::nullopt;
    } catch (const Contradiction&) {
      return std::nullopt;
    } catch (const ShapeError& error) {  // a dimension that overflows or is too complicated
      throw Undecided{fmt::format("{} ({})", error.what(), instance_.choice)};
    } catch (const Undecided& undecided) {
      throw Undecided{fmt::format("{} ({})", undecided.reason, instance_.choice)};
    }
    return std::move(instance_);
  }

 private:
  void learn_kinds() {
    const auto learn = [&](const Pattern& pattern) {
      if (pattern.is_input()) return;
      const auto kind = kind_named(pattern.op);
      if (!kind) throw InputError(fmt::format("rule '{}': there is no operator '{}'", rule_.name, pattern.op));
      for (const auto& [name, term] : pattern.attributes)
        for (const SymbolicFieldName& field : symbolic_fields(*kind))
          if (field.name == name) learn_kinds(*term, field);
      if (pattern.op == "scalar_mul")
        visit_patterns({pattern.operands[1]}, [&](const Pattern& part) {
          if (part.is_input()) factors_.insert(part.input);
        });
    };
    visit_patterns(rule_.source, learn);
    visit_patterns(rule_.target, learn);
    for (const Condition& condition : conditions_) {
      shaped_.insert(condition.inputs.begin(), condition.inputs.end());
      if (condition.left) collect_shaped(*condition.left, shaped_);
      if (condition.right) collect_shaped(*condition.right, shaped_);
    }
  }
  /// Learns from a variable by itself, or from the elements of a list.
  void learn_kinds(const Term& term, const SymbolicFieldName& field) {
    if (term.kind == Term::Kind::variable) learn_kind(term.name, field);
    if (term.kind != Term::Kind::list) return;
    const bool of_axes = std::holds_alternative<std::vector<std::int64_t>>(field.sample);
    const SymbolicFieldName element = of_axes ? SymbolicFieldName{"axis", SymbolicField(std::int64_t{0})}
                                              : SymbolicFieldName{field.name, SymbolicField(Dim(0))};
    for (const TermPtr& operand : term.operands)
      if (operand->kind == Term::Kind::variable) learn_kind(operand->name, element);
  }
  void learn_kind(const std::string& variable, const SymbolicFieldName& field) {
    const auto [slot, fresh] = kinds_.try_emplace(variable, VariableKind{field.name, field.sample});
    if (slot->second.sample.index() != field.sample.index())
      throw InputError(fmt::format("rule '{}': variable '{}' stands for '{}' and for '{}', which have different kinds",
                                   rule_.name, variable, slot->second.field, field.name));
  }

  // --- Choices ---

  void note_choice(const std::string& text) { instance_.choice += (instance_.choice.empty() ? "" : ", ") + text; }

  Shape shape_of_input(const std::string& input) {
    const auto found = shapes_.find(input);
    if (found != shapes_.end()) return found->second;
    const bool is_factor = factors_.contains(input);
    const std::size_t rank = chooser_.rank(input, is_factor ? 0 : 1, greatest_rank_);
    note_choice(fmt::format("rank({}) = {}", input, rank));
    Shape shape;
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(equations_.add_unknown(fmt::format("{}.{}", input, i), 1));
    return shapes_.emplace(input, std::move(shape)).first->second;
  }

  void broadcast_inputs() {
    for (const Condition& condition : conditions_) {
      if (condition.relation != Condition::Relation::broadcast) continue;
      broadcasts_ = true;
      std::size_t greatest = 0;
      std::vector<std::size_t> ranks;
      for (const std::string& input : condition.inputs) {
        if (shapes_.contains(input)) throw InputError("rule '" + rule_.name + "': an input broadcasts in two groups");
        // With three or more inputs, missing dimensions are covered by dimensions of 1: otherwise there are too many
        // cases.
        const bool same = ranks.size() > 0 && condition.inputs.size() > 2;
        ranks.push_back(same ? chooser_.rank(input, ranks[0], ranks[0])
                             : chooser_.rank(input, is_elementwise() ? 0 : 1, greatest_rank_));
        greatest = std::max(greatest, ranks.back());
        note_choice(fmt::format("rank({}) = {}", input, ranks.back()));
        shapes_[input] = Shape(ranks.back());
      }
      std::size_t last_case = 0;
      for (std::size_t axis = 0; axis < greatest; ++axis) {
        const std::size_t this_case = broadcast_axis(condition.inputs, ranks, greatest, axis);
        const bool is_aligned =
            std::all_of(ranks.begin(), ranks.end(), [&](std::size_t r) { return axis >= greatest - r; });
        if (options_.each_case_once && is_aligned && this_case <= last_case && is_elementwise()) throw Contradiction{};
        if (is_aligned) last_case = this_case;
      }
    }
  }
  /// The set of inputs that are not 1 there, as bits.
  std::size_t broadcast_axis(const std::vector<std::string>& inputs, const std::vector<std::size_t>& ranks,
                             std::size_t greatest, std::size_t axis) {
    std::size_t bits = 0;
    std::vector<std::pair<const std::string*, std::size_t>> wide;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t missing = greatest - ranks[i];
      if (axis < missing) continue;
      const bool one = chooser_.is_one(inputs[i], axis - missing);
      const Dim own = equations_.add_unknown(fmt::format("{}.{}", inputs[i], axis - missing), 1);
      Dim& dim = shapes_[inputs[i]][axis - missing];
      if (one) {
        note_choice(fmt::format("dim({}, {}) = 1", inputs[i], axis - missing));
        require({RequirementKind::equal, own, 1});
        dim = 1;
        continue;
      }
      dim = own;
      bits |= std::size_t{1} << i;
      wide.emplace_back(&inputs[i], axis - missing);
    }
    if (wide.empty()) throw Contradiction{};  // a special case of equal dimensions
    for (const auto& [input, place] : wide)
      require({RequirementKind::equal, shapes_[*wide[0].first][wide[0].second], shapes_[*input][place]});
    return bits;
  }
  /// Whether nothing in it distinguishes one axis from another.
  bool is_elementwise() const {
    bool result = true;
    const auto look = [&](const Pattern& pattern) {
      result =
          result && (pattern.is_input() || has_trait(pattern.op, Trait::element_wise) || pattern.op == "scalar_mul");
    };
    visit_patterns(rule_.source, look);
    visit_patterns(rule_.target, look);
    return result && conditions_.size() == 1;
  }

  TermValue value_of(const std::string& variable, std::size_t length) {
    const auto found = values_.find(variable);
    if (found != values_.end()) return reduced(found->second);
    const auto kind = kinds_.find(variable);
    if (kind == kinds_.end()) throw InputError(fmt::format("rule '{}': nothing determines '{}'", rule_.name, variable));
    return values_.emplace(variable, make_value(variable, kind->second, length)).first->second;
  }

  TermValue make_value(const std::string& name, const VariableKind& kind, std::size_t length) {
    const bool may_be_zero = kind.field == "pads" || kind.field == "output_padding" || kind.field == "before" ||
                             kind.field == "after" || kind.field == "begin";
    if (std::holds_alternative<RealAttribute>(kind.sample)) {
      instance_.real_variables.push_back(name);
      return RealAttribute{name, 0};
    }
    if (std::holds_alternative<Dim>(kind.sample)) return equations_.add_unknown(name, may_be_zero ? 0 : 1);
    const std::size_t most = kind.field == "pads" ? 2 * (greatest_rank_ - 2) : greatest_rank_;
    if (std::holds_alternative<std::vector<Dim>>(kind.sample)) {
      if (length == 0) {
        length = chooser_.length(name, 1, most);
        note_choice(fmt::format("length({}) = {}", name, length));
      }
      std::vector<Dim> list;
      for (std::size_t i = 0; i < length; ++i)
        list.push_back(equations_.add_unknown(fmt::format("{}.{}", name, i), may_be_zero ? 0 : 1));
      return list;
    }
    return choose_value(name, kind, length);
  }

  TermValue choose_value(const std::string& name, const VariableKind& kind, std::size_t length) {
    const std::size_t rank = length == 0 ? greatest_rank_ : length;
    const bool is_switch = std::holds_alternative<bool>(kind.sample);
    const ChoiceDomain domain = is_switch                     ? ChoiceDomain{{0}, {1}}
                                : kind.field == "permutation" ? permutations_of(rank)
                                : kind.field == "axes"        ? subsets_of(rank)
                                                              : axes_below(rank);
    const auto& value = domain[chooser_.value(name, domain)];
    std::string text;
    for (const std::int64_t v : value) text += (text.empty() ? "" : ", ") + std::to_string(v);
    if (is_switch) {
      note_choice(fmt::format("{} = {}", name, value[0] != 0));
      return value[0] != 0;
    }
    if (std::holds_alternative<std::int64_t>(kind.sample)) {
      note_choice(fmt::format("{} = {}", name, text));
      return Dim(value[0]);
    }
    note_choice(fmt::format("{} = [{}]", name, text));
    return std::vector<Dim>(value.begin(), value.end());
  }

  bool decide_sign(const Dim& number) {
    const Dim known = equations_.reduce(number);
    if (equations_.is_obvious({RequirementKind::at_least, known, 0})) return true;
    if (equations_.is_obvious({RequirementKind::at_least, Dim(-1), known})) return false;
    const auto decided = signs_.find(known.text());
    if (decided != signs_.end()) return decided->second;
    const bool answer = chooser_.is_non_negative(known);
    signs_.emplace(known.text(), answer);
    note_choice(fmt::format("{} {} 0", known.text(), answer ? ">=" : "<"));
    // A case distinction: the answer is assumed from here on.
    assume(answer ? Requirement{RequirementKind::at_least, known, 0}
                  : Requirement{RequirementKind::at_least, Dim(-1), known});
    return answer;
  }

  // --- Conditions ---

  /// Whether the condition mentions only inputs and chosen axes.
  bool is_about_inputs(const Condition& condition) const {
    std::set<std::string> names;
    collect_names(*condition.left, names);
    collect_names(*condition.right, names);
    return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
      const auto kind = kinds_.find(name);
      return kind != kinds_.end() && !std::holds_alternative<std::int64_t>(kind->second.sample);
    });
  }

  void assume(const Requirement& requirement) {
    if (!equations_.assume(requirement)) throw Contradiction{};
  }
  /// In a rule's target, a requirement is an obligation.
  void require(const Requirement& requirement) {
    if (in_target_ && rule_.kind != Rule::Kind::axiom)
      obligations_.push_back(requirement);
    else
      assume(requirement);
  }

  void assume(const Condition& condition) {
    const bool was_in_target = std::exchange(in_target_, false);
    using Relation = Condition::Relation;
    if (condition.relation == Relation::even || condition.relation == Relation::odd) {
      const TermValue value = evaluate(*condition.left, context_);
      const auto list = std::holds_alternative<Dim>(value) ? std::vector<Dim>{std::get<Dim>(value)} : as_list(value);
      for (const Dim& number : list)
        assume({RequirementKind::divides, 2, condition.relation == Relation::even ? number : number - 1});
      in_target_ = was_in_target;
      return;
    }
    const TermValue right = evaluate(*condition.right, context_), left = evaluate(*condition.left, context_);
    compare(condition.relation, left, right);
    in_target_ = was_in_target;
  }
  void compare(Condition::Relation relation, const TermValue& left, const TermValue& right) {
    if (std::holds_alternative<bool>(left) && std::holds_alternative<bool>(right)) {
      if ((left == right) != (relation == Condition::Relation::equal)) throw Contradiction{};
      return;
    }
    if (std::holds_alternative<RealAttribute>(left) || std::holds_alternative<RealAttribute>(right))
      throw InputError(fmt::format("rule '{}': conditions on real attributes are not supported", rule_.name));
    const bool numbers = std::holds_alternative<Dim>(left) && std::holds_alternative<Dim>(right);
    const std::size_t size = numbers                                          ? 1
                             : std::holds_alternative<std::vector<Dim>>(left) ? as_list(left).size()
                                                                              : as_list(right).size();
    const auto spread = [&](const TermValue& value) {
      return std::holds_alternative<Dim>(value) ? std::vector<Dim>(size, std::get<Dim>(value)) : as_list(value);
    };
    const auto a = spread(left), b = spread(right);
    if (a.size() != b.size()) {
      if (relation == Condition::Relation::not_equal) return;
      throw Contradiction{};
    }
    if (relation == Condition::Relation::not_equal && size != 1)
      throw InputError(fmt::format("rule '{}': '!=' cannot compare lists; name the element", rule_.name));
    for (std::size_t i = 0; i < size; ++i) compare(relation, a[i], b[i]);
  }
  void compare(Condition::Relation relation, Dim a, Dim b) {
    using Relation = Condition::Relation;
    if (relation == Relation::equal) assume({RequirementKind::equal, a, b});
    if (relation == Relation::not_equal) assume({RequirementKind::not_equal, a, b});
    if (relation == Relation::at_most) assume({RequirementKind::at_least, b, a});
    if (relation == Relation::less) assume({RequirementKind::at_least, b, a + 1});
    if (relation == Relation::divides) {
      assume({RequirementKind::at_least, a, 1});
      assume({RequirementKind::divides, a, b});
    }
  }

  // --- Patterns ---

  Shape reduced(Shape shape) const {
    for (Dim& dim : shape) dim = equations_.reduce(dim);
    return shape;
  }
  TermValue reduced(TermValue value) const {
    if (auto* number = std::get_if<Dim>(&value)) *number = equations_.reduce(*number);
    if (auto* list = std::get_if<std::vector<Dim>>(&value)) *list = reduced(*list);
    return value;
  }

  SymbolicField field_value(const Pattern& pattern, const SymbolicFieldName& field, const Shapes& operands) {
    const std::size_t rank = operands.empty() ? 0 : operands[0].size();
    const std::size_t spatial = rank < 2 ? 0 : rank - 2;
    std::size_t length = 0;
    if (field.name == "strides" || field.name == "dilations" || field.name == "output_padding" ||
        (field.name == "kernel" && rank > 0))
      length = spatial;
    if (field.name == "pads") length = 2 * spatial;
    if (field.name == "before" || field.name == "after" || field.name == "permutation" || field.name == "axis" ||
        field.name == "axes")
      length = rank;
    const auto given = std::find_if(pattern.attributes.begin(), pattern.attributes.end(),
                                    [&](const auto& attribute) { return attribute.first == field.name; });
    if (given == pattern.attributes.end()) return default_value(pattern, field, length);
    const bool of_windows = field.name == "pads" || field.name == "strides" || field.name == "dilations" ||
                            field.name == "output_padding" || field.name == "kernel";
    if (length == 0 && rank > 0 && of_windows) throw NoValue{};
    const TermValue value = evaluate(*given->second, context_, length);
    return convert(pattern, field, value, length);
  }

  SymbolicField default_value(const Pattern& pattern, const SymbolicFieldName& field, std::size_t length) const {
    if (field.name == "strides" || field.name == "dilations") return std::vector<Dim>(length, 1);
    if (field.name == "pads" || field.name == "output_padding" || field.name == "before" || field.name == "after")
      return std::vector<Dim>(length, 0);
    if (must_be_given(field.name))
      throw InputError(fmt::format("rule '{}': '{}' needs its field '{}'", rule_.name, pattern.op, field.name));
    return field.sample;
  }

  SymbolicField convert(const Pattern& pattern, const SymbolicFieldName& field, const TermValue& value,
                        std::size_t length) const {
    const auto refuse = [&]() -> SymbolicField {
      throw InputError(
          fmt::format("rule '{}': field '{}' of '{}' has a value of another kind", rule_.name, field.name, pattern.op));
    };
    if (std::holds_alternative<bool>(field.sample))
      return std::holds_alternative<bool>(value) ? SymbolicField(std::get<bool>(value)) : refuse();
    if (std::holds_alternative<RealAttribute>(field.sample)) {
      if (const auto* number = std::get_if<Dim>(&value); number && number->is_static())
        return RealAttribute{{}, static_cast<double>(number->value())};
      return std::holds_alternative<RealAttribute>(value) ? SymbolicField(std::get<RealAttribute>(value)) : refuse();
    }
    if (std::holds_alternative<bool>(value) || std::holds_alternative<RealAttribute>(value)) return refuse();
    if (std::holds_alternative<std::int64_t>(field.sample)) return as_integer(value);
    if (std::holds_alternative<Dim>(field.sample)) return as_number(value);
    if (std::holds_alternative<std::vector<std::int64_t>>(field.sample)) {
      std::vector<std::int64_t> integers = as_integers(value);
      if (field.name == "axes") std::sort(integers.begin(), integers.end());  // their order does not matter
      return integers;
    }
    if (std::holds_alternative<Dim>(value)) {
      if (length == 0) return refuse();
      return std::vector<Dim>(length, std::get<Dim>(value));
    }
    return as_list(value);
  }

  InstanceValue add(const Pattern& pattern) {
    if (pattern.is_input()) {
      InstanceNode node;
      node.input = static_cast<std::size_t>(std::find(instance_.inputs.begin(), instance_.inputs.end(), pattern.input) -
                                            instance_.inputs.begin());
      node.shapes = {shape_of_input(pattern.input)};
      return {intern(std::move(node)), 0};
    }
    InstanceNode node;
    Shapes operands;
    for (const PatternPtr& operand : pattern.operands) {
      node.operands.push_back(add(*operand));
      operands.push_back({});
    }
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = reduced(shape(node.operands[i]));
    refuse_hidden_broadcast(pattern, operands);
    node.op.kind = *kind_named(pattern.op);
    for (const SymbolicFieldName& field : symbolic_fields(node.op.kind))
      node.op.fields.push_back(field_value(pattern, field, operands));
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = reduced(operands[i]);
    std::vector<Requirement> requirements;
    auto shapes = infer(node.op, operands, requirements);
    if (!shapes) throw NoValue{};
    for (const Requirement& requirement : requirements) require(requirement);
    node.shapes = std::move(*shapes);
    return {intern(std::move(node)), pattern.output};
  }

  /// Operands of different ranks broadcast only if the rule mentions the shape of one of them.
  void refuse_hidden_broadcast(const Pattern& pattern, const Shapes& operands) const {
    if (!is_elementwise_pair(pattern.op) || operands[0].size() == operands[1].size() || broadcasts_) return;
    bool spoken_of = false;
    visit_patterns({pattern.operands[operands[0].size() < operands[1].size() ? 0 : 1]}, [&](const Pattern& part) {
      spoken_of = spoken_of || (part.is_input() && shaped_.contains(part.input)) || part.op == "reduce_sum" ||
                  part.op == "reduce_mean" || part.op == "reduce_max" || part.op == "reshape" || part.op == "ones" ||
                  part.op == "identity_matrix";
    });
    if (!spoken_of) throw NoValue{};
  }

  const Shape& shape(const InstanceValue& value) const { return nodes_[value.first].shapes[value.second]; }

  std::size_t intern(InstanceNode node) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].input == node.input && nodes_[i].op == node.op && nodes_[i].operands == node.operands) return i;
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  void build_target() {
    const std::size_t nodes = nodes_.size(), obligations = obligations_.size();
    try {
      for (const PatternPtr& pattern : rule_.target) target_.push_back(add(*pattern));
    } catch (const NoValue&) {
      if (rule_.kind == Rule::Kind::axiom) throw;
      instance_.target_fits = false;
    }
    for (std::size_t i = 0; i < target_.size() && instance_.target_fits; ++i) {
      const Shape &a = shape(source_[i]), &b = shape(target_[i]);
      if (a.size() != b.size()) {
        instance_.target_fits = false;
        break;
      }
      for (std::size_t k = 0; k < a.size(); ++k) obligations_.push_back({RequirementKind::equal, a[k], b[k]});
    }
    if (instance_.target_fits) return;
    nodes_.resize(nodes);
    obligations_.resize(obligations);
    target_.clear();
  }

  /// Inputs first; everything in free unknowns.
  void finish() {
    for (const std::string& input : instance_.inputs) {
      InstanceNode node;
      node.input = instance_.nodes.size();
      node.shapes = {reduced(shape_of_input(input))};
      instance_.nodes.push_back(std::move(node));
    }
    std::vector<std::size_t> places(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      InstanceNode& node = nodes_[i];
      if (node.input) {
        places[i] = *node.input;
        continue;
      }
      for (Shape& shape : node.shapes) shape = reduced(std::move(shape));
      for (SymbolicField& field : node.op.fields) {
        if (auto* number = std::get_if<Dim>(&field)) *number = equations_.reduce(*number);
        if (auto* list = std::get_if<std::vector<Dim>>(&field)) *list = reduced(*list);
      }
      for (InstanceValue& operand : node.operands) operand.first = places[operand.first];
      // Solving may have made nodes equal that were different when they were added.
      const auto same = std::find_if(instance_.nodes.begin(), instance_.nodes.end(), [&](const InstanceNode& other) {
        return !other.input && other.op == node.op && other.operands == node.operands;
      });
      places[i] = static_cast<std::size_t>(same - instance_.nodes.begin());
      if (same == instance_.nodes.end()) instance_.nodes.push_back(std::move(node));
    }
    for (const auto& [node, output] : source_) instance_.source.emplace_back(places[node], output);
    for (const auto& [node, output] : target_) instance_.target.emplace_back(places[node], output);
    instance_.unknowns = equations_.free_unknowns();
    for (const auto& [name, dim] : equations_.determined()) instance_.determined.emplace(name, dim);
    for (const auto& [name, dim] : equations_.made_up()) instance_.made_up.emplace(name, dim);
    instance_.hypotheses = equations_.rest();
    for (const Requirement& obligation : obligations_) {
      const Requirement known = solve_ ? equations_.reduce(obligation) : obligation;
      if (equations_.is_obvious(known)) continue;
      if (std::find(instance_.obligations.begin(), instance_.obligations.end(), known) == instance_.obligations.end())
        instance_.obligations.push_back(known);
    }
    if (rule_.kind == Rule::Kind::axiom || !instance_.target_fits) return;
    // If the target can never be well-formed, there is nothing to prove.
    Equations both = equations_;
    instance_.target_fits = std::all_of(instance_.obligations.begin(), instance_.obligations.end(),
                                        [&](const Requirement& obligation) { return both.assume(obligation); });
  }

  const Rule& rule_;
  Chooser& chooser_;
  const InstanceOptions& options_;
  const std::size_t greatest_rank_;
  Equations equations_;
  bool solve_;
  TermContext context_;
  std::vector<Condition> conditions_;
  std::map<std::string, VariableKind> kinds_;
  std::set<std::string> factors_;  // inputs of scalar factors of scalar_mul: they may have rank 0
  std::set<std::string> shaped_;   // inputs whose shape or rank a condition mentions
  bool broadcasts_ = false;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, TermValue> values_;
  std::map<std::string, bool> signs_;  // which numbers were assumed to be at least 0
  std::vector<InstanceNode> nodes_;
  std::vector<InstanceValue> source_, target_;
  std::vector<Requirement> obligations_;
  bool in_target_ = false;
  Instance instance_;
};

}  // namespace

std::size_t greatest_rank(const Rule& rule) {
  std::size_t rank = 4;
  const auto look = [&](const Pattern& pattern) {
    for (const auto& [name, term] : pattern.attributes) {
      if (term->kind != Term::Kind::list) continue;
      const bool is_each = name == "strides" || name == "dilations" || name == "kernel";
      if (is_each || name == "pads") rank = std::max(rank, term->operands.size() / (is_each ? 1 : 2) + 2);
    }
  };
  visit_patterns(rule.source, look);
  visit_patterns(rule.target, look);
  return rank;
}

std::optional<Instance> instance(const Rule& rule, Chooser& chooser, const InstanceOptions& options, bool solve) {
  return Builder(rule, chooser, options, solve).build();
}

}  // namespace taso::rules
