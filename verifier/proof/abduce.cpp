#include "verifier/proof/abduce.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/core/field.h"
#include "ops/graph/evaluate.h"
#include "rules/egraph/saturation.h"
#include "rules/instance/concrete.h"
#include "rules/instance/term_value.h"
#include "rules/language/rule_text.h"

namespace taso::verifier {
namespace {

using Relation = rules::Condition::Relation;

rules::Condition equation(rules::TermPtr left, rules::TermPtr right) {
  return {Relation::equal, std::move(left), std::move(right), {}};
}
rules::TermPtr dim_term(const std::string& input, std::int64_t axis) {
  return rules::call_term("dim", {rules::variable_term(input), rules::integer_term(axis)});
}
rules::TermPtr of_input(const char* function, const std::string& input) {
  return rules::call_term(function, {rules::variable_term(input)});
}
rules::TermPtr product(rules::TermPtr a, rules::TermPtr b) {
  return rules::call_term("*", {std::move(a), std::move(b)});
}

/// What conditions may mention: the rule's convolutions, kernels, strides, and inputs.
class Vocabulary {
 public:
  explicit Vocabulary(const rules::Rule& rule) {
    for (const auto& side : {rule.source, rule.target})
      for (const rules::PatternPtr& pattern : side) visit(*pattern);
    inputs_ = rule.inputs();
  }

  std::vector<rules::Condition> conditions() const {
    std::vector<rules::Condition> result;
    const auto add = [&](rules::Condition condition) {
      if (std::find(result.begin(), result.end(), condition) == result.end()) result.push_back(std::move(condition));
    };
    for (const std::string& g : groups_) add(equation(rules::variable_term(g), rules::integer_term(1)));
    for_each_pair(groups_, [&](const std::string& g, const std::string& h) {
      add(equation(rules::variable_term(g), rules::variable_term(h)));
    });
    for (const std::string& s : strides_) {
      add(equation(rules::variable_term(s), rules::integer_term(1)));
      add({Relation::at_most, rules::variable_term(s), rules::integer_term(2), {}});
    }
    for (const std::string& p : pads_) add(equation(rules::variable_term(p), rules::integer_term(0)));
    for (const std::string& d : dilations_) add(equation(rules::variable_term(d), rules::integer_term(1)));
    for_each_pair(strides_, [&](const std::string& a, const std::string& b) {
      add(equation(rules::variable_term(a), rules::variable_term(b)));
    });
    for (const std::string& k : kernels_) {
      add({Relation::odd, rules::variable_term(k), nullptr, {}});
      add(equation(rules::variable_term(k), rules::integer_term(1)));
    }
    for (const auto& [x, w] : convolutions_) {
      if (!x.empty()) add(equation(dim_term(x, 1), dim_term(w, 1)));
      add({Relation::odd, of_input("spatial", w), nullptr, {}});
      add(equation(of_input("spatial", w), rules::integer_term(1)));
      add(equation(dim_term(w, 1), rules::integer_term(1)));
    }
    for (std::size_t i = 0; i < convolutions_.size(); ++i)
      for (std::size_t k = i + 1; k < convolutions_.size(); ++k) add_for_two(convolutions_[i], convolutions_[k], add);
    for_each_pair(inputs_, [&](const std::string& x, const std::string& y) {
      for (std::int64_t axis = 0; axis < 4; ++axis) add(equation(dim_term(x, axis), dim_term(y, axis)));
      add(equation(of_input("spatial", x), of_input("spatial", y)));
      add(equation(of_input("shape", x), of_input("shape", y)));
    });
    return result;
  }

  /// Conditions that are weak alone and sufficient together: two adjacent convolutions are one with more groups.
  std::vector<std::vector<rules::Condition>> bundles() const {
    std::vector<std::vector<rules::Condition>> result;
    for (std::size_t i = 0; i < convolutions_.size(); ++i)
      for (std::size_t k = i + 1; k < convolutions_.size(); ++k) {
        const auto& [x, w] = convolutions_[i];
        const auto& [z, v] = convolutions_[k];
        if (x.empty() || z.empty() || x == z || w == v) continue;
        result.push_back({equation(of_input("spatial", x), of_input("spatial", z)),
                          equation(of_input("spatial", w), of_input("spatial", v)),
                          equation(dim_term(w, 1), dim_term(v, 1)),
                          equation(product(dim_term(w, 0), dim_term(z, 1)), product(dim_term(v, 0), dim_term(x, 1))),
                          {Relation::divides, dim_term(w, 1), dim_term(x, 1), {}},
                          {Relation::divides, dim_term(v, 1), dim_term(z, 1), {}}});
      }
    return result;
  }

 private:
  using Convolution = std::pair<std::string, std::string>;  // input and kernel

  template <class F>
  static void for_each_pair(const std::vector<std::string>& names, F&& f) {
    for (std::size_t i = 0; i < names.size(); ++i)
      for (std::size_t k = i + 1; k < names.size(); ++k) f(names[i], names[k]);
  }

  /// Two adjacent convolutions need equally many filters per group; groups are channels over the kernel's.
  static void add_for_two(const Convolution& a, const Convolution& b,
                          const std::function<void(rules::Condition)>& add) {
    if (a.second == b.second) return;
    if (!a.first.empty() && !b.first.empty()) {
      // dim(w, 0) / (dim(x, 1) / dim(w, 1)) on both sides, without quotients.
      add(equation(product(product(dim_term(a.second, 0), dim_term(a.second, 1)), dim_term(b.first, 1)),
                   product(product(dim_term(b.second, 0), dim_term(b.second, 1)), dim_term(a.first, 1))));
      if (a.first != b.first)
        add(equation(product(dim_term(a.second, 0), dim_term(b.first, 1)),
                     product(dim_term(b.second, 0), dim_term(a.first, 1))));
    }
    add(equation(dim_term(a.second, 0), dim_term(b.second, 0)));
    add(equation(dim_term(a.second, 1), dim_term(b.second, 1)));
    add(equation(of_input("spatial", a.second), of_input("spatial", b.second)));
  }

  static void note(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  void visit(const rules::Pattern& pattern) {
    if (pattern.is_input()) return;
    for (const auto& [field, term] : pattern.attributes) {
      if (term->kind != rules::Term::Kind::variable) continue;
      if (field == "groups") note(groups_, term->name);
      if (field == "strides") note(strides_, term->name);
      if (field == "dilations") note(dilations_, term->name);
      if (field == "pads") note(pads_, term->name);
      if (field == "kernel") note(kernels_, term->name);
    }
    if (pattern.op == "conv" && pattern.operands[1]->is_input()) {
      const Convolution convolution{pattern.operands[0]->input, pattern.operands[1]->input};
      if (std::find(convolutions_.begin(), convolutions_.end(), convolution) == convolutions_.end())
        convolutions_.push_back(convolution);
    }
    for (const rules::PatternPtr& operand : pattern.operands) visit(*operand);
  }

  std::vector<std::string> inputs_, groups_, strides_, dilations_, pads_, kernels_;
  std::vector<Convolution> convolutions_;
};

/// Writes a polynomial over an instance's unknowns as a term of the rule; nothing if it contains an unknown that the
/// solver introduced.
class TermWriter {
 public:
  TermWriter(const rules::Rule& rule) {
    for (const std::string& input : rule.inputs()) inputs_.insert(input);
  }

  rules::TermPtr write(const Dim& dim) const {
    if (dim.is_static()) return rules::integer_term(dim.value());
    rules::TermPtr sum;
    for (const DimTerm& term : terms_of(dim)) {
      rules::TermPtr part;
      const Dim size = term.coefficient < 0 ? Dim(-1) * term.coefficient : Dim(term.coefficient);
      if (size != Dim(1) || term.factors.empty()) part = rules::integer_term(size.value());
      for (const DimFactor& factor : term.factors) {
        rules::TermPtr written = write(factor);
        if (!written) return nullptr;
        part = part ? product(part, written) : written;
      }
      if (!sum)
        sum = term.coefficient < 0 ? rules::call_term("-", {rules::integer_term(0), part}) : part;
      else
        sum = rules::call_term(term.coefficient < 0 ? "-" : "+", {sum, part});
    }
    return sum;
  }

 private:
  rules::TermPtr write(const DimFactor& factor) const {
    if (factor.name.empty()) {
      rules::TermPtr above = write(factor.numerator), below = write(factor.denominator);
      return above && below ? rules::call_term("/", {above, below}) : nullptr;
    }
    const std::size_t dot = factor.name.rfind('.');
    if (rules::is_made_up(factor.name)) return nullptr;
    if (dot == std::string::npos) return rules::variable_term(factor.name);
    const std::string stem = factor.name.substr(0, dot);
    const rules::TermPtr index = rules::integer_term(std::stoll(factor.name.substr(dot + 1)));
    if (inputs_.contains(stem)) return rules::call_term("dim", {rules::variable_term(stem), index});
    return rules::call_term("[]", {rules::variable_term(stem), index});
  }
  std::set<std::string> inputs_;
};

/// The requirements that keep properties from being used, as conditions.
std::vector<rules::Condition> obstacles(const rules::Rule& rule, const rules::Instance& instance,
                                        const rules::Properties& properties, std::uint64_t seed_number) {
  std::vector<rules::Condition> result;
  const rules::AssignmentSampler sampler(instance);
  const auto assignments = sampler.samples(rules::sample_count, seed_number, 19);
  if (assignments.empty() || !instance.target_fits) return result;
  rules::ModelValues models;
  for (std::size_t k = 0; k < rules::sample_count; ++k) models[k] = assignments[k % assignments.size()].unknowns;
  rules::EGraph graph;
  if (!rules::seed(graph, instance, models)) return result;
  rules::SaturationLimits limits;
  limits.rounds = 3;
  limits.terms = 600;
  limits.keep_blocked = true;
  const rules::Saturation saturation = rules::saturate(graph, properties, {}, limits);
  const TermWriter writer(rule);
  for (const rules::BlockedStep& blocked : saturation.blocked) {
    if (blocked.failed.size() > 2) continue;
    const rules::Instance& property = blocked.step.instance->instance;
    const auto values = rules::meanings(graph, blocked.step);
    const auto replaced = [&](const Dim& dim) {
      return substitute(dim, [&](std::string_view name) -> std::optional<Dim> {
        for (std::size_t i = 0; i < property.unknowns.size(); ++i)
          if (property.unknowns[i].name == name) return values[i];
        return std::nullopt;
      });
    };
    for (const std::size_t place : blocked.failed) {
      if (place >= property.hypotheses.size()) continue;
      const rules::Requirement& requirement = property.hypotheses[place];
      try {
        rules::TermPtr left = writer.write(replaced(requirement.left)),
                       right = writer.write(replaced(requirement.right));
        if (!left || !right) continue;
        rules::Condition condition{Relation::equal, left, right, {}};
        if (requirement.kind == rules::Requirement::Kind::not_equal) condition.relation = Relation::not_equal;
        if (requirement.kind == rules::Requirement::Kind::at_least) condition = {Relation::at_most, right, left, {}};
        if (requirement.kind == rules::Requirement::Kind::divides) condition.relation = Relation::divides;
        if (std::find(result.begin(), result.end(), condition) == result.end()) result.push_back(std::move(condition));
      } catch (const ShapeError&) {
        continue;
      }
    }
    if (result.size() > 60) break;
  }
  return result;
}

/// A point at which the rule was tried, with everything that conditions may mention.
struct Point {
  bool is_good = false;
  std::map<std::string, Shape> shapes;             ///< of the inputs
  std::map<std::string, rules::TermValue> values;  ///< of the attribute variables

  Point(const rules::Instance& instance, const rules::Assignment& assignment, bool good) : is_good(good) {
    const rules::Places places = rules::places_of(instance);
    const auto number = [&](const Dim& dim) {
      return dim.is_static() ? dim : Dim(rules::CompiledDim(dim, places).evaluate(assignment.unknowns).value_or(0));
    };
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      Shape shape = instance.nodes[i].shapes[0];
      for (Dim& dim : shape) dim = number(dim);
      shapes.emplace(instance.inputs[i], std::move(shape));
    }
    std::map<std::string, std::map<std::size_t, Dim>> lists;
    const auto note = [&](const std::string& name, const Dim& value) {
      if (rules::is_made_up(name)) return;
      const std::size_t dot = name.rfind('.');
      if (dot == std::string::npos)
        values.insert_or_assign(name, value);
      else if (!shapes.contains(name.substr(0, dot)))
        lists[name.substr(0, dot)][std::stoul(name.substr(dot + 1))] = value;
    };
    for (std::size_t i = 0; i < instance.unknowns.size(); ++i) note(instance.unknowns[i].name, assignment.unknowns[i]);
    for (const auto& [name, dim] : instance.determined) note(name, number(dim));
    for (const auto& [name, elements] : lists) {
      std::vector<Dim> list;
      for (const auto& [place, value] : elements) list.push_back(value);
      values.insert_or_assign(name, std::move(list));
    }
  }
};

/// Whether a condition holds at a point; false also if it is not well-formed there.
bool holds_at(const rules::Condition& condition, const Point& point) {
  rules::TermContext context;
  context.shape = [&](const std::string& input) {
    const auto found = point.shapes.find(input);
    if (found == point.shapes.end()) throw rules::NoValue{};
    return found->second;
  };
  context.variable = [&](const std::string& name, std::size_t) -> rules::TermValue {
    const auto found = point.values.find(name);
    if (found == point.values.end()) throw rules::NoValue{};
    return found->second;
  };
  context.is_non_negative = [](const Dim& number) { return number.is_static() && number.value() >= 0; };
  context.require = [](const rules::Requirement&) {};
  try {
    const auto spread = [](const rules::TermValue& v) {
      return std::holds_alternative<Dim>(v) ? std::vector<Dim>{std::get<Dim>(v)} : rules::as_list(v);
    };
    auto left = spread(rules::evaluate(*condition.left, context));
    if (condition.relation == Relation::odd || condition.relation == Relation::even)
      return std::all_of(left.begin(), left.end(), [&](const Dim& dim) {
        return (dim.value() % 2 != 0) == (condition.relation == Relation::odd);
      });
    auto right = spread(rules::evaluate(*condition.right, context));
    if (left.size() != right.size()) {
      if (left.size() == 1) left.resize(right.size(), left[0]);
      if (right.size() == 1) right.resize(left.size(), right[0]);
    }
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::int64_t a = left[i].value(), b = right[i].value();
      const bool fine = condition.relation == Relation::equal       ? a == b
                        : condition.relation == Relation::not_equal ? a != b
                        : condition.relation == Relation::at_most   ? a <= b
                        : condition.relation == Relation::less      ? a < b
                                                                    : a > 0 && b % a == 0;
      if (!fine) return false;
    }
    return true;
  } catch (const rules::NoValue&) {
    return false;
  } catch (const rules::Undecided&) {
    return false;
  } catch (const InputError&) {  // ShapeError among them
    return false;
  }
}

/// Whether the two sides agree over the prime field; nothing if that takes too long or the source is not well-formed.
std::optional<bool> agrees_at(const rules::Concretizer& concretizer, const rules::Assignment& assignment,
                              std::uint64_t seed_number) {
  const auto made = concretizer.at(assignment);
  if (const auto* misfit = std::get_if<rules::Misfit>(&made))
    return misfit->in_target ? std::optional(false) : std::nullopt;
  const auto& concrete = std::get<rules::ConcreteInstance>(made);
  if (concrete.work > 3e5) return std::nullopt;
  Random random(seed_number);
  std::vector<Tensor<Field>> inputs;
  for (const Extents& extents : concrete.inputs) {
    Tensor<Field> tensor(extents, Field());
    for (Field& element : tensor.data) element = Field::from_bits(random.next() >> 3);
    inputs.push_back(std::move(tensor));
  }
  const auto sides = rules::evaluate_sides(concrete, inputs);
  for (std::size_t i = 0; i < sides.source.size(); ++i)
    if (sides.source[i].extents != sides.target[i].extents || sides.source[i].data != sides.target[i].data)
      return false;
  return true;
}

std::vector<Point> try_out(const std::vector<rules::Instance>& instances, std::uint64_t seed_number) {
  std::vector<Point> points;
  // More than a dozen ranks and axes add little.
  const std::size_t stride = (instances.size() + 11) / 12;
  for (std::size_t i = 0; i < instances.size(); i += stride) {
    const rules::AssignmentSampler sampler(instances[i]);
    const rules::Concretizer concretizer(instances[i]);
    std::vector<rules::Assignment> assignments = sampler.samples(60, seed_number, 3);
    for (rules::Assignment& more : sampler.samples(30, seed_number + 1, 6)) assignments.push_back(std::move(more));
    for (rules::Assignment& assignment : assignments) {
      const auto good = agrees_at(concretizer, assignment, seed_number);
      if (good) points.emplace_back(instances[i], assignment, *good);
    }
  }
  return points;
}

}  // namespace

std::vector<std::vector<rules::Condition>> conceivable_conditions(const rules::Rule& rule,
                                                                  const std::vector<rules::Instance>& instances,
                                                                  const rules::Properties& properties,
                                                                  std::uint64_t seed_number) {
  const std::vector<Point> points = try_out(instances, seed_number);
  const Vocabulary vocabulary(rule);
  std::vector<rules::Condition> candidates = vocabulary.conditions();
  for (std::size_t i = 0; i < instances.size() && i < 4; ++i)
    for (rules::Condition& condition : obstacles(rule, instances[i], properties, seed_number))
      if (std::find(candidates.begin(), candidates.end(), condition) == candidates.end())
        candidates.push_back(std::move(condition));

  struct Judged {
    std::size_t candidate;
    std::vector<bool> holds;
  };
  std::vector<Judged> judged;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    Judged one{c, {}};
    bool drops_bad = false, keeps_good = false;
    for (const Point& point : points) {
      const bool holds = holds_at(candidates[c], point);
      one.holds.push_back(holds);
      drops_bad = drops_bad || (!holds && !point.is_good);
      keeps_good = keeps_good || (holds && point.is_good);
    }
    // If two conditions hold at the same points, keep the first, which is simpler.
    const bool is_new =
        std::none_of(judged.begin(), judged.end(), [&](const Judged& j) { return j.holds == one.holds; });
    if (drops_bad && keeps_good && is_new) judged.push_back(std::move(one));
  }

  struct Found {
    std::size_t kept;
    std::vector<rules::Condition> conditions;
  };
  std::vector<Found> found;
  const auto consider = [&](const std::vector<std::size_t>& places) {
    std::size_t kept = 0;
    for (std::size_t p = 0; p < points.size(); ++p) {
      const bool holds = std::all_of(places.begin(), places.end(), [&](std::size_t j) { return judged[j].holds[p]; });
      if (holds && !points[p].is_good) return false;
      kept += holds && points[p].is_good ? 1 : 0;
    }
    if (kept == 0) return false;
    Found one{kept, {}};
    for (const std::size_t j : places) one.conditions.push_back(candidates[judged[j].candidate]);
    found.push_back(std::move(one));
    return true;
  };
  std::vector<bool> settled(judged.size());
  for (std::size_t a = 0; a < judged.size(); ++a) settled[a] = consider({a});
  for (std::size_t a = 0; a < judged.size(); ++a)
    for (std::size_t b = a + 1; b < judged.size(); ++b)
      if (!settled[a] && !settled[b]) consider({a, b});
  if (found.empty())
    for (std::size_t a = 0; a < judged.size(); ++a)
      for (std::size_t b = a + 1; b < judged.size(); ++b)
        for (std::size_t c = b + 1; c < judged.size(); ++c) consider({a, b, c});
  for (std::vector<rules::Condition>& bundle : vocabulary.bundles()) {
    // Without conditions that always hold.
    std::erase_if(bundle, [&](const rules::Condition& condition) {
      return std::all_of(points.begin(), points.end(), [&](const Point& point) { return holds_at(condition, point); });
    });
    Found one{0, {}};
    bool keeps_bad = bundle.empty();
    for (const Point& point : points) {
      const bool holds =
          std::all_of(bundle.begin(), bundle.end(), [&](const rules::Condition& c) { return holds_at(c, point); });
      keeps_bad = keeps_bad || (holds && !point.is_good);
      one.kept += holds ? 1 : 0;
    }
    if (keeps_bad || one.kept == 0) continue;
    one.conditions = std::move(bundle);
    found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.kept > b.kept; });
  std::vector<std::vector<rules::Condition>> result;
  for (Found& one : found) result.push_back(std::move(one.conditions));
  return result;
}

}  // namespace taso::verifier
