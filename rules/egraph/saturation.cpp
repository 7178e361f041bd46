#include "rules/egraph/saturation.h"

#include <algorithm>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

constexpr TermId unbound = ~TermId{0};

FieldCode code_of(EGraph& graph, const SymbolicField& field) {
  struct Visitor {
    EGraph& graph;
    FieldCode operator()(bool value) const { return {value ? 1u : 0u}; }
    FieldCode operator()(std::int64_t value) const { return {static_cast<std::uint32_t>(value)}; }
    FieldCode operator()(const RealAttribute& value) const { return {graph.intern_real(value)}; }
    FieldCode operator()(const std::vector<std::int64_t>& value) const { return {value.begin(), value.end()}; }
    FieldCode operator()(const Dim&) const { return {}; }
    FieldCode operator()(const std::vector<Dim>&) const { return {}; }
  };
  return std::visit(Visitor{graph}, field);
}

bool holds(Requirement::Kind kind, std::int64_t left, std::int64_t right) {
  switch (kind) {
    case Requirement::Kind::equal: return left == right;
    case Requirement::Kind::not_equal: return left != right;
    case Requirement::Kind::at_least: return left >= right;
    case Requirement::Kind::divides: return left > 0 && right % left == 0;
  }
  return false;
}

/// A property's instance with its unknowns bound to numbers of the e-graph.
class Binding {
 public:
  Binding(EGraph& graph, const PropertyInstance& instance, const std::vector<TermId>& inputs,
          const std::vector<FieldCode>& variables, const std::vector<std::string>& variable_names)
      : graph_(graph), instance_(instance), inputs_(inputs), variables_(variables), names_(variable_names) {
    for (const auto& origin : instance.origins) {
      numbers_.push_back(origin.is_dimension ? graph.shape(inputs[origin.index]).at(origin.element)
                                             : variables[origin.index].at(origin.element));
      const Sample& sample = graph.numbers.sample(numbers_.back());
      for (std::size_t k = 0; k < sample_count; ++k) values_[k].push_back(sample[k]);
    }
  }

  std::vector<std::size_t> failed_requirements() const {
    std::vector<std::size_t> failed;
    for (std::size_t i = 0; i < instance_.requirements.size(); ++i) {
      const auto& requirement = instance_.requirements[i];
      for (std::size_t k = 0; k < sample_count; ++k) {
        const auto left = requirement.left.evaluate(values_[k]), right = requirement.right.evaluate(values_[k]);
        if (left && right && holds(requirement.kind, *left, *right)) continue;
        failed.push_back(i);
        break;
      }
    }
    return failed;
  }

  /// The term, if it exists.
  std::optional<TermId> lookup(InstanceValue value) {
    const InstanceNode& node = instance_.instance.nodes[value.first];
    if (node.input) return inputs_[*node.input];
    auto term = form(value, [this](InstanceValue operand) { return lookup(operand); });
    return term ? graph_.find_term(*term) : std::nullopt;
  }

  /// The term, built if necessary. Constants are never built: nothing if one is missing.
  std::optional<TermId> build(InstanceValue value) {
    const InstanceNode& node = instance_.instance.nodes[value.first];
    if (node.input) return inputs_[*node.input];
    auto term = form(value, [this](InstanceValue operand) { return build(operand); });
    if (!term) return std::nullopt;
    if (node.operands.empty() && !graph_.find_term(*term)) return std::nullopt;
    const auto shape = numbers(instance_.shapes[value.first][value.second], node.shapes[value.second]);
    return shape ? std::optional(graph_.add(std::move(*term), *shape)) : std::nullopt;
  }

 private:
  template <class Operand>
  std::optional<EGraphTerm> form(InstanceValue value, Operand&& operand_term) {
    const InstanceNode& node = instance_.instance.nodes[value.first];
    EGraphTerm term{static_cast<std::uint32_t>(node.op.kind), static_cast<std::uint32_t>(value.second), 0, {}};
    for (const InstanceValue& operand : node.operands) {
      const auto id = operand_term(operand);
      if (!id) return std::nullopt;
      term.operands.push_back(*id);
    }
    FieldCodes codes;
    for (std::size_t i = 0; i < node.op.fields.size(); ++i) {
      auto code = field_code(node.op.fields[i], instance_.fields[value.first][i]);
      if (!code) return std::nullopt;
      codes.push_back(std::move(*code));
    }
    term.fields = graph_.intern_fields(std::move(codes));
    return term;
  }

  std::optional<FieldCode> field_code(const SymbolicField& field, const std::vector<CompiledDim>& compiled) {
    if (const auto* number = std::get_if<Dim>(&field)) return numbers(compiled, {*number});
    if (const auto* list = std::get_if<std::vector<Dim>>(&field)) return numbers(compiled, *list);
    if (const auto* real = std::get_if<RealAttribute>(&field); real && !real->variable.empty()) {
      const auto found = std::find(names_.begin(), names_.end(), real->variable);
      check(found != names_.end(), "a property's real attribute is one of its variables");
      return variables_[static_cast<std::size_t>(found - names_.begin())];
    }
    return code_of(graph_, field);
  }

  std::optional<std::vector<NumberId>> numbers(const std::vector<CompiledDim>& compiled, const std::vector<Dim>& dims) {
    std::vector<NumberId> result;
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      Sample sample;
      for (std::size_t k = 0; k < sample_count; ++k) {
        const auto value = compiled[i].evaluate(values_[k]);
        if (!value) return std::nullopt;
        sample[k] = *value;
      }
      result.push_back(graph_.numbers.intern_lazily(sample, [&] { return meaning(dims[i]); }));
    }
    return result;
  }

  Dim meaning(const Dim& dim) const {
    return substitute(dim, [this](std::string_view name) -> std::optional<Dim> {
      const auto& unknowns = instance_.instance.unknowns;
      for (std::size_t i = 0; i < unknowns.size(); ++i)
        if (unknowns[i].name == name) return graph_.numbers.meaning(numbers_[i]);
      return std::nullopt;
    });
  }

  EGraph& graph_;
  const PropertyInstance& instance_;
  const std::vector<TermId>& inputs_;
  const std::vector<FieldCode>& variables_;
  const std::vector<std::string>& names_;
  std::vector<NumberId> numbers_;
  ModelValues values_;
};

/// Finds all matches of a side of a property in a class.
class Matcher {
 public:
  struct Match {
    std::vector<TermId> inputs;
    std::vector<FieldCode> variables;
  };

  Matcher(const EGraph& graph, const Property& property, const Property::Side& side)
      : graph_(graph),
        side_(side),
        inputs_(property.inputs().size(), unbound),
        variables_(property.variables().size()),
        is_bound_(property.variables().size()) {}

  std::vector<Match> match(TermId root) {
    goals_.assign(1, {side_.nodes.size() - 1, root});
    run(0);
    return std::move(matches_);
  }

 private:
  void run(std::size_t goal) {
    if (goal == goals_.size()) {
      matches_.push_back({inputs_, variables_});
      return;
    }
    const auto [place, id] = goals_[goal];
    const Property::Node& node = side_.nodes[place];
    if (node.is_input) {
      TermId& bound = inputs_[node.input];
      if (bound != unbound) {
        if (graph_.equal(bound, id)) run(goal + 1);
        return;
      }
      bound = graph_.find(id);
      run(goal + 1);
      bound = unbound;
      return;
    }
    for (const TermId member : graph_.members(id)) {
      const EGraphTerm& term = graph_.term(member);
      if (term.kind != node.kind || term.output != node.output || term.operands.size() != node.operands.size())
        continue;
      std::vector<std::size_t> newly_bound;
      if (bind(node, graph_.fields(term.fields), newly_bound)) {
        const std::size_t size = goals_.size();
        for (std::size_t i = 0; i < node.operands.size(); ++i) goals_.emplace_back(node.operands[i], term.operands[i]);
        run(goal + 1);
        goals_.resize(size);
      }
      for (const std::size_t variable : newly_bound) is_bound_[variable] = false;
    }
  }

  bool bind(const Property::Node& node, const FieldCodes& codes, std::vector<std::size_t>& newly_bound) {
    using Kind = Property::Node::Attribute::Kind;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto& attribute = node.attributes[i];
      if (attribute.kind == Kind::known && attribute.code != codes[i]) return false;
      if (attribute.kind == Kind::variable && !bind(attribute.variable, codes[i], newly_bound)) return false;
      if (attribute.kind != Kind::elements) continue;
      if (attribute.elements.size() != codes[i].size()) return false;
      for (std::size_t k = 0; k < codes[i].size(); ++k)
        if (attribute.elements[k] && !bind(*attribute.elements[k], {codes[i][k]}, newly_bound)) return false;
    }
    return true;
  }
  bool bind(std::size_t variable, const FieldCode& code, std::vector<std::size_t>& newly_bound) {
    if (is_bound_[variable]) return variables_[variable] == code;
    variables_[variable] = code;
    is_bound_[variable] = true;
    newly_bound.push_back(variable);
    return true;
  }

  const EGraph& graph_;
  const Property::Side& side_;
  std::vector<TermId> inputs_;
  std::vector<FieldCode> variables_;
  std::vector<bool> is_bound_;
  std::vector<std::pair<std::size_t, TermId>> goals_;
  std::vector<Match> matches_;
};

class Saturator {
 public:
  Saturator(EGraph& graph, const Properties& properties, std::span<const std::pair<TermId, TermId>> goals,
            const SaturationLimits& limits, const std::stop_token& stop,
            const std::function<bool(const Step&)>& is_forbidden)
      : graph_(graph),
        properties_(properties),
        goals_(goals),
        limits_(limits),
        stop_(stop),
        is_forbidden_(is_forbidden) {}

  Saturation run() {
    using End = Saturation::End;
    graph_.rebuild();
    for (std::size_t round = 0;; ++round) {
      if (reached()) return finish(End::goal);
      if (round == limits_.rounds) return finish(End::rounds);
      const std::size_t merges = merges_;
      index_classes();
      for (std::size_t p = 0; p < properties_.size(); ++p) {
        if (stop_.stop_requested()) return finish(End::stopped);
        collect(p);
      }
      apply();
      graph_.rebuild();
      if (reached()) return finish(End::goal);
      if (over_) return finish(*over_);
      if (merges == merges_) return finish(End::saturated);
    }
  }

 private:
  /// Indexes classes by operator: a side with that operator at the root matches only there.
  void index_classes() {
    all_classes_ = graph_.classes();
    classes_with_.assign(std::variant_size_v<AnyOperator>, {});
    for (const TermId root : all_classes_)
      for (const TermId member : graph_.members(root)) {
        const std::uint32_t kind = graph_.term(member).kind;
        if (kind == EGraphTerm::input_kind) continue;
        auto& classes = classes_with_[kind];
        if (classes.empty() || classes.back() != root) classes.push_back(root);
      }
  }

  bool reached() const {
    return !goals_.empty() && std::all_of(goals_.begin(), goals_.end(),
                                          [&](const auto& goal) { return graph_.equal(goal.first, goal.second); });
  }
  Saturation finish(Saturation::End end) {
    result_.end = end;
    return std::move(result_);
  }

  void collect(std::size_t place) {
    const Property& property = properties_[place];
    for (std::size_t result = 0; result < property.results(); ++result) {
      collect_pairs(place, result);
      for (const bool from_target : {false, true}) {
        const Property::Side &side = property.side(from_target, result), &other = property.side(!from_target, result);
        const auto present = [&](std::uint32_t kind) { return graph_.has_kind(kind); };
        if (!side.binds_everything || !std::all_of(side.kinds.begin(), side.kinds.end(), present)) continue;
        if (!std::all_of(other.constants.begin(), other.constants.end(), present)) continue;
        // A side that is just an input would only be useful to bring in a constant that exists already.
        if (side.nodes.back().is_input && other.constants.empty()) continue;
        const Property::Node& top = side.nodes.back();
        for (const TermId root : top.is_input ? all_classes_ : classes_with_[top.kind])
          for (auto& match : Matcher(graph_, property, side).match(root)) {
            const std::size_t key = key_of(place, result, from_target, root, match);
            if (!seen_.insert(key).second) continue;
            prepare(place, result, from_target, root, std::move(match));
          }
      }
    }
  }

  /// If neither side binds everything, as in x - x = y - y, both must exist.
  void collect_pairs(std::size_t place, std::size_t result) {
    const Property& property = properties_[place];
    const Property::Side &source = property.side(false, result), &target = property.side(true, result);
    if (source.binds_everything || target.binds_everything || source.nodes.back().is_input ||
        target.nodes.back().is_input)
      return;
    const auto all_matches = [&](const Property::Side& side) {
      constexpr std::size_t most = 32;
      std::vector<std::pair<TermId, Matcher::Match>> found;
      for (const TermId root : classes_with_[side.nodes.back().kind])
        for (auto& match : Matcher(graph_, property, side).match(root))
          if (found.size() < most) found.emplace_back(root, std::move(match));
      return found;
    };
    const auto sources = all_matches(source);
    if (sources.empty()) return;
    const auto targets = all_matches(target);
    for (const auto& [root, match] : sources)
      for (const auto& [other_root, other] : targets) {
        if (graph_.equal(root, other_root)) continue;
        auto both = joined(source, match, target, other);
        if (!both ||
            !seen_.insert(mixed_hash(key_of(place, result, false, root, *both), graph_.find(other_root))).second)
          continue;
        prepare(place, result, false, root, std::move(*both), other_root);
      }
  }

  /// The combined bindings of two matches; nothing if they disagree.
  std::optional<Matcher::Match> joined(const Property::Side& side, const Matcher::Match& match,
                                       const Property::Side& other_side, const Matcher::Match& other) const {
    Matcher::Match both = match;
    for (std::size_t i = 0; i < both.inputs.size(); ++i) {
      if (!other_side.binds_input[i]) continue;
      if (side.binds_input[i] && !graph_.equal(match.inputs[i], other.inputs[i])) return std::nullopt;
      both.inputs[i] = other.inputs[i];
    }
    for (std::size_t i = 0; i < both.variables.size(); ++i) {
      if (!other_side.binds_variable[i]) continue;
      if (side.binds_variable[i] && match.variables[i] != other.variables[i]) return std::nullopt;
      both.variables[i] = other.variables[i];
    }
    return both;
  }

  std::size_t key_of(std::size_t property, std::size_t result, bool from_target, TermId root,
                     const Matcher::Match& match) const {
    std::size_t key = mixed_hash(property * 8 + result * 2 + (from_target ? 1 : 0), graph_.find(root));
    for (const TermId input : match.inputs) key = mixed_hash(key, graph_.find(input));
    for (const FieldCode& code : match.variables) {
      key = mixed_hash(key, code.size());
      for (const std::uint32_t number : code) key = mixed_hash(key, number);
    }
    return key;
  }

  void apply() {
    for (Step& step : ready_) {
      if (graph_.size() > limits_.terms) over_ = Saturation::End::terms;
      if (++matches_ > limits_.matches) over_ = Saturation::End::matches;
      if (over_ || stop_.stop_requested()) break;
      apply(std::move(step));
    }
    ready_.clear();
  }

  /// If a dimension is 1 in all of them, nothing is stretched there. Axes are counted from the last.
  static void keep_stretched(const std::vector<std::size_t>& group, Property::Choice& choice) {
    const auto at = [&](std::size_t input, std::size_t from_last) -> std::optional<std::size_t> {
      const std::size_t rank = choice.ones[input].size();
      return from_last < rank ? std::optional(rank - 1 - from_last) : std::nullopt;
    };
    std::size_t greatest = 0;
    for (const std::size_t input : group) greatest = std::max(greatest, choice.ones[input].size());
    for (std::size_t axis = 0; axis < greatest; ++axis) {
      const bool is_one_everywhere = std::all_of(group.begin(), group.end(), [&](std::size_t input) {
        const auto place = at(input, axis);
        return !place || choice.ones[input][*place];
      });
      if (!is_one_everywhere) continue;
      for (const std::size_t input : group)
        if (const auto place = at(input, axis)) choice.ones[input][*place] = false;
    }
  }

  Property::Choice choice_of(const Property& property, const Matcher::Match& match) const {
    Property::Choice choice;
    for (std::size_t i = 0; i < match.inputs.size(); ++i) {
      const auto& shape = graph_.shape(match.inputs[i]);
      choice.ranks.push_back(shape.size());
      auto& ones = choice.ones.emplace_back();
      if (!property.broadcasts(i)) continue;
      for (const NumberId number : shape) ones.push_back(graph_.numbers.meaning(number) == Dim(1));
    }
    for (const auto& group : property.broadcast_groups()) keep_stretched(group, choice);
    for (std::size_t i = 0; i < match.variables.size(); ++i) {
      if (property.is_real(i))
        choice.values.emplace_back();
      else if (property.holds_numbers(i))
        choice.values.push_back({static_cast<std::uint32_t>(match.variables[i].size())});
      else
        choice.values.push_back(match.variables[i]);
    }
    return choice;
  }

  /// While the e-graph is unchanged since matching: checks that the property fits the match and may be used. If both
  /// sides were matched, `other_root` is the other one.
  void prepare(std::size_t place, std::size_t result, bool from_target, TermId root, Matcher::Match match,
               std::optional<TermId> other_root = std::nullopt) {
    const Property& property = properties_[place];
    const PropertyInstance* instance = property.at(choice_of(property, match));
    if (!instance) return;
    for (const auto& origin : instance->origins)
      if (!origin.is_dimension && origin.element >= match.variables[origin.index].size()) return;
    Binding binding(graph_, *instance, match.inputs, match.variables, property.variables());
    // The attributes that matching left open must be those of the property.
    const Instance& both = instance->instance;
    const auto matched = binding.lookup(from_target ? both.target[result] : both.source[result]);
    if (!matched || !graph_.equal(*matched, root)) return;
    if (other_root) {
      const auto other = binding.lookup(from_target ? both.source[result] : both.target[result]);
      if (!other || !graph_.equal(*other, *other_root)) return;
    }
    const auto failed = binding.failed_requirements();
    Step step{place, result, instance, std::move(match.inputs), std::move(match.variables), 0, 0};
    if (failed.empty())
      ready_.push_back(std::move(step));
    else if (limits_.keep_blocked)
      result_.blocked.push_back({std::move(step), failed});
  }

  void apply(Step step) {
    if (is_forbidden_ && is_forbidden_(step)) return;
    Binding binding(graph_, *step.instance, step.inputs, step.variables, properties_[step.property].variables());
    const auto left = binding.build(step.instance->instance.source[step.result]);
    const auto right = left ? binding.build(step.instance->instance.target[step.result]) : std::nullopt;
    if (!left || !right || graph_.equal(*left, *right)) return;
    if (graph_.shape(*left) != graph_.shape(*right)) return;  // the models agree by chance
    step.source = *left;
    step.target = *right;
    graph_.merge(*left, *right, static_cast<EGraph::Reason>(result_.steps.size()));
    result_.steps.push_back(std::move(step));
    ++merges_;
  }

  EGraph& graph_;
  const Properties& properties_;
  std::span<const std::pair<TermId, TermId>> goals_;
  const SaturationLimits& limits_;
  const std::stop_token& stop_;
  const std::function<bool(const Step&)>& is_forbidden_;
  std::unordered_set<std::size_t> seen_;
  std::vector<TermId> all_classes_;
  std::vector<std::vector<TermId>> classes_with_;  // by the operator's kind
  std::vector<Step> ready_;
  std::size_t matches_ = 0, merges_ = 0;
  std::optional<Saturation::End> over_;
  Saturation result_;
};

}  // namespace

std::optional<std::vector<std::vector<TermId>>> seed(EGraph& graph, const Instance& instance,
                                                     const ModelValues& models) {
  Places places;
  for (std::size_t i = 0; i < instance.unknowns.size(); ++i) places.emplace(instance.unknowns[i].name, i);
  const auto number = [&](const Dim& dim) -> std::optional<NumberId> {
    const CompiledDim compiled(dim, places);
    Sample sample;
    for (std::size_t k = 0; k < sample_count; ++k) {
      const auto value = compiled.evaluate(models[k]);
      if (!value) return std::nullopt;
      sample[k] = *value;
    }
    return graph.numbers.intern(sample, dim);
  };
  const auto list = [&](const std::vector<Dim>& dims) -> std::optional<std::vector<NumberId>> {
    std::vector<NumberId> result;
    for (const Dim& dim : dims) {
      const auto id = number(dim);
      if (!id) return std::nullopt;
      result.push_back(*id);
    }
    return result;
  };
  std::vector<std::vector<TermId>> terms;
  for (const InstanceNode& node : instance.nodes) {
    auto& results = terms.emplace_back();
    std::vector<std::vector<NumberId>> shapes;
    for (const Shape& shape : node.shapes) {
      auto numbers = list(shape);
      if (!numbers) return std::nullopt;
      shapes.push_back(std::move(*numbers));
    }
    if (node.input) {
      results.push_back(graph.add_input(static_cast<std::uint32_t>(*node.input), shapes[0]));
      continue;
    }
    FieldCodes codes;
    for (const SymbolicField& field : node.op.fields) {
      std::optional<FieldCode> code;
      if (const auto* dim = std::get_if<Dim>(&field))
        code = list({*dim});
      else if (const auto* dims = std::get_if<std::vector<Dim>>(&field))
        code = list(*dims);
      else
        code = code_of(graph, field);
      if (!code) return std::nullopt;
      codes.push_back(std::move(*code));
    }
    EGraphTerm term{static_cast<std::uint32_t>(node.op.kind), 0, graph.intern_fields(std::move(codes)), {}};
    for (const auto& [operand, output] : node.operands) term.operands.push_back(terms[operand][output]);
    for (std::size_t output = 0; output < shapes.size(); ++output) {
      term.output = static_cast<std::uint32_t>(output);
      results.push_back(graph.add(term, shapes[output]));
    }
  }
  return terms;
}

Saturation saturate(EGraph& graph, const Properties& properties, std::span<const std::pair<TermId, TermId>> goals,
                    const SaturationLimits& limits, const std::stop_token& stop,
                    const std::function<bool(const Step&)>& is_forbidden) {
  return Saturator(graph, properties, goals, limits, stop, is_forbidden).run();
}

std::vector<Dim> meanings(const EGraph& graph, const Step& step) {
  std::vector<Dim> result;
  for (const auto& origin : step.instance->origins)
    result.push_back(graph.numbers.meaning(origin.is_dimension
                                               ? graph.shape(step.inputs[origin.index]).at(origin.element)
                                               : step.variables[origin.index].at(origin.element)));
  return result;
}

}  // namespace taso::rules
