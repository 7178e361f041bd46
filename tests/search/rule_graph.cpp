#include "tests/search/rule_graph.h"

#include <map>

#include "rules/instance/assignment.h"
#include "rules/instance/concrete.h"
#include "tests/ops/random_graph.h"
#include "tests/search/agreement.h"

namespace taso::test {
namespace {

constexpr double most_work = 20'000;  // operations of one operator

/// If dimensions are unknown, the operator must also accept their sizes: throws ShapeError.
double work_at_sizes(const Operator& op, const std::vector<Value>& operands) {
  Shapes shapes;
  double elements = 0;
  for (const Value& value : operands) {
    Shape& shape = shapes.emplace_back();
    for (const Dim& dim : value.shape()) shape.push_back(dim.evaluate(size_of_unknown));
  }
  const auto note = [&](const Shape& shape) { elements += static_cast<double>(count(extents_of(shape))); };
  for (const Shape& shape : shapes) note(shape);
  for (const Shape& shape : infer(at_sizes(op), shapes)) note(shape);
  const bool multiplies =
      ops::name_of(op) == "conv" || ops::name_of(op) == "conv_transpose" || ops::name_of(op) == "matmul";
  return multiplies ? elements * static_cast<double>(count(extents_of(shapes[1]))) : elements * 8;
}

/// A graph under construction.
class Growing {
 public:
  Growing(Random& random, const GraphMakeUp& makeup, bool shares) : random_(random), makeup_(makeup), shares_(shares) {
    graph_.pool = std::make_shared<Pool>();
    if (!random_.chance(makeup.unknown)) return;
    symbols_ = {Dim::symbol("N"), Dim::symbol("T")};
    // The interpreter learns the sizes of the names from this input.
    graph_.inputs.push_back(graph_.pool->input("sizes", {ElementType::float64, Shape(symbols_)}));
  }

  /// Adds the source of the instance; false if it is too large, or does not fit with unknown dimensions.
  bool plant(const rules::Instance& instance) {
    const auto assignment = rules::AssignmentSampler(instance).sample(random_, makeup_.bound);
    if (!assignment) return false;
    if (!std::holds_alternative<rules::ConcreteInstance>(rules::Concretizer(instance).at(*assignment))) return false;
    std::map<std::string, Dim, std::less<>> unknowns;
    for (std::size_t i = 0; i < instance.unknowns.size(); ++i)
      unknowns.emplace(instance.unknowns[i].name, Dim(assignment->unknowns[i]));
    if (!symbols_.empty() && random_.chance(0.7)) make_unknown(instance, unknowns);
    std::map<std::string, double, std::less<>> reals;
    for (std::size_t i = 0; i < instance.real_variables.size(); ++i)
      reals.emplace(instance.real_variables[i], assignment->reals[i]);
    const auto ground = [&](const Dim& dim) {
      return substitute(dim, [&](std::string_view name) -> std::optional<Dim> {
        const auto found = unknowns.find(name);
        return found == unknowns.end() ? std::nullopt : std::optional(found->second);
      });
    };
    std::vector<bool> needed(instance.nodes.size(), false);
    for (const auto& [node, output] : instance.source) needed[node] = true;
    for (std::size_t i = instance.nodes.size(); i-- > 0;)
      if (needed[i])
        for (const auto& [node, output] : instance.nodes[i].operands) needed[node] = true;
    std::vector<const ops::Node*> nodes(instance.nodes.size());
    std::vector<Value> values(instance.nodes.size());  // of inputs
    std::vector<const ops::Node*> planted;
    for (std::size_t i = 0; i < instance.nodes.size(); ++i) {
      const rules::InstanceNode& node = instance.nodes[i];
      if (!needed[i]) continue;
      if (node.input) {
        Shape shape;
        for (const Dim& dim : node.shapes[0]) shape.push_back(ground(dim));
        values[i] = operand(shape);
        continue;
      }
      std::vector<Value> operands;
      for (const auto& [from, output] : node.operands)
        operands.push_back(instance.nodes[from].input ? values[from] : nodes[from]->output(output));
      const auto op = operator_of(node.op, ground, reals);
      if (!op) return false;
      try {
        nodes[i] = &graph_.pool->add(*op, operands);
        if (work_at_sizes(*op, operands) > most_work) return false;
      } catch (const ShapeError&) {
        return false;
      }
      planted.push_back(nodes[i]);
    }
    for (const ops::Node* node : planted) keep(*node);
    return true;
  }

  bool add_operator(const Operator& kind) {
    const std::optional<Value> first =
        usable_.empty() || random_.chance(0.1) ? std::nullopt : std::optional(random_.pick(usable_));
    RandomShapes shapes;
    shapes.largest = makeup_.bound + 1;
    shapes.most_axes = 4;
    shapes.empty = false;
    if (!symbols_.empty()) shapes.symbols = {"N", "T"};
    const auto found = random_application(random_, kind, shapes, ElementType::float64,
                                          first ? std::optional(first->shape()) : std::nullopt);
    if (!found) return false;
    std::vector<Value> operands;
    for (const Shape& shape : found->operands) operands.push_back(operands.empty() && first ? *first : operand(shape));
    try {
      if (work_at_sizes(found->op, operands) > most_work) return false;
    } catch (const ShapeError&) {
      return false;
    }
    keep(graph_.pool->add(found->op, operands));
    return true;
  }

  bool add_opaque() {
    if (usable_.empty()) return false;
    const std::size_t results = 1 + random_.below(2);
    Opaque opaque;
    opaque.kind = "Mixture";
    std::vector<Value> operands{random_.pick(usable_)};
    if (random_.chance(0.5)) operands.push_back(random_.chance(0.5) ? random_.pick(usable_) : Value{});
    if (!made_.empty() && random_.chance(0.3)) operands.push_back(random_.pick(made_));  // of any element type
    opaque.outputs.push_back(operands[0].type());
    if (results > 1) opaque.outputs.push_back({ElementType::int64, Shape{}});
    opaque.body = std::make_shared<Mixture>(random_.below(3), results);
    const ops::Node& node = graph_.pool->add_opaque(std::move(opaque), operands);
    keep(node);
    return true;
  }

  Graph finish() {
    std::unordered_set<const ops::Node*> used;
    for (const Value& value : made_)
      for (const Value& input : value.node->inputs())
        if (input) used.insert(input.node);
    for (const Value& value : made_)
      if (!used.contains(value.node) || random_.chance(0.1)) graph_.outputs.push_back(value);
    if (graph_.outputs.empty()) graph_.outputs.push_back(operand({2, 2}));
    return std::move(graph_);
  }

 private:
  Value operand(const Shape& shape) {
    auto& fitting = there_[ops::text_of(shape)];
    if (shares_ && !fitting.empty() && random_.chance(0.7)) return random_.pick(fitting);
    const Type type{ElementType::float64, shape};
    const std::string name = "x" + std::to_string(names_++);
    const auto extents = static_extents(shape);
    const bool is_constant = extents && random_.chance(makeup_.constants);
    const Value value =
        is_constant ? graph_.pool->constant(name, type, std::make_shared<HeldWeight>(whole_array(random_, *extents)))
                    : graph_.pool->input(name, type);
    if (!is_constant) graph_.inputs.push_back(value);
    fitting.push_back(value);
    usable_.push_back(value);
    return value;
  }

  void keep(const ops::Node& node) {
    for (std::size_t output = 0; output < node.outputs().size(); ++output) {
      const Value value = node.output(output);
      if (std::find(made_.begin(), made_.end(), value) != made_.end()) continue;
      made_.push_back(value);
      if (value.type().element != ElementType::float64) continue;
      usable_.push_back(value);
      there_[ops::text_of(value.shape())].push_back(value);
    }
  }

  /// Makes a dimension unknown that no hypothesis mentions.
  void make_unknown(const rules::Instance& instance, std::map<std::string, Dim, std::less<>>& unknowns) {
    std::vector<std::string> free;
    for (const rules::Unknown& unknown : instance.unknowns) {
      const auto mentions = [&](const Dim& dim) {
        const auto names = dim.symbols();
        return std::find(names.begin(), names.end(), unknown.name) != names.end();
      };
      const bool bound =
          std::any_of(instance.hypotheses.begin(), instance.hypotheses.end(),
                      [&](const rules::Requirement& r) { return mentions(r.left) || mentions(r.right); });
      if (!bound && unknown.name.find('.') != std::string::npos) free.push_back(unknown.name);
    }
    if (free.empty()) return;
    const Dim symbol = random_.pick(symbols_);
    unknowns[random_.pick(free)] = random_.chance(0.8) ? symbol : symbol * 2;
  }

  template <class Ground>
  static std::optional<Operator> operator_of(const rules::SymbolicOperator& symbolic, const Ground& ground,
                                             const std::map<std::string, double, std::less<>>& reals) {
    Operator op = rules::prototype(symbolic.kind);
    set_field(op, "type", ElementType::float64);
    const auto& names = rules::symbolic_fields(symbolic.kind);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto set = [&](const FieldValue& value) { return set_field(op, names[i].name, value); };
      bool done = false;
      if (const auto* number = std::get_if<Dim>(&symbolic.fields[i])) {
        const Dim dim = ground(*number);
        done = dim.is_static() ? set(dim.value()) : set(dim);
      } else if (const auto* list = std::get_if<std::vector<Dim>>(&symbolic.fields[i])) {
        Shape dims;
        for (const Dim& dim : *list) dims.push_back(ground(dim));
        const auto extents = static_extents(dims);
        done = extents ? set(*extents) : set(dims);
      } else if (const auto* real = std::get_if<rules::RealAttribute>(&symbolic.fields[i])) {
        done = set(real->variable.empty() ? real->value : reals.at(real->variable));
      } else if (const auto* truth = std::get_if<bool>(&symbolic.fields[i])) {
        done = set(*truth);
      } else if (const auto* axis = std::get_if<std::int64_t>(&symbolic.fields[i])) {
        done = set(*axis);
      } else {
        done = set(std::get<std::vector<std::int64_t>>(symbolic.fields[i]));
      }
      if (!done) return std::nullopt;
    }
    return op;
  }

  Random& random_;
  const GraphMakeUp& makeup_;
  bool shares_;  // whether operands may be existing values
  Graph graph_;
  std::vector<Dim> symbols_;
  std::map<std::string, std::vector<Value>> there_;  // by shape
  std::vector<Value> usable_, made_;
  std::size_t names_ = 0;
};

}  // namespace

RuleGraphs::RuleGraphs(std::vector<rules::Rule> rules) : rules_(std::move(rules)), instances_(rules_.size()) {}

Graph RuleGraphs::make(std::uint64_t seed, const GraphMakeUp& makeup) const {
  static const auto operators = all_operators();
  Random random(seed);
  Growing growing(random, makeup, true);
  std::size_t parts = makeup.parts;
  for (std::size_t tries = 0; parts > 0 && tries < 50; ++tries) {
    bool done = false;
    if (random.chance(makeup.opaque)) {
      done = growing.add_opaque();
    } else if (random.chance(makeup.operators)) {
      done = growing.add_operator(random.pick(operators));
    } else {
      const auto& all = instances_of(random.below(rules_.size()));
      done = !all.empty() && growing.plant(random.pick(all));
    }
    if (done) --parts;
  }
  return growing.finish();
}

std::optional<Graph> RuleGraphs::plant(std::size_t rule, std::uint64_t seed, std::size_t attempt,
                                       double unknown) const {
  Random random(seed * 1000 + attempt);
  GraphMakeUp makeup;
  makeup.constants = 0.2;
  makeup.unknown = unknown;
  makeup.bound = attempt < 10 ? 3 : 6;
  const auto& all = instances_of(rule);
  if (all.empty()) return std::nullopt;
  Growing growing(random, makeup, false);
  if (!growing.plant(random.pick(all))) return std::nullopt;
  return growing.finish();
}

const std::vector<rules::Instance>& RuleGraphs::instances_of(std::size_t rule) const {
  auto& known = instances_[rule];
  if (!known) {
    known.emplace();
    for (rules::Instance& instance : rules::instances(rules_[rule]))
      if (instance.target_fits && known->size() < 200) known->push_back(std::move(instance));
  }
  return *known;
}

}  // namespace taso::test
