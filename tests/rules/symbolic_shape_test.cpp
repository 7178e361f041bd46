// Symbolic shape inference agrees with each operator's own inference at every number.
#include "ops/core/error.h"
#include "rules/instance/symbolic_operator.h"
#include "tests/catch.h"
#include "tests/ops/random_operator.h"

namespace taso::test {

using namespace rules;

namespace {

/// An application whose numbers are replaced by unknowns, and their values.
class Abstraction {
 public:
  Abstraction(const Application& application, Random& random) : random_(random) {
    for (const Shape& shape : application.operands) {
      Shape& mine = operands.emplace_back();
      for (const Dim& dim : shape) mine.push_back(unknown(dim.value()));
    }
    op.kind = *kind_named(ops::name_of(application.op));
    for (const NamedField& field : fields_of(application.op)) {
      if (field.name == "type") continue;
      const SymbolicField& sample = symbolic_fields(op.kind)[op.fields.size()].sample;
      op.fields.push_back(std::visit([&](const auto& value) { return symbolic(value, sample); }, field.value));
    }
  }

  std::int64_t operator()(std::string_view name) const { return values_.at(std::string(name)); }

  SymbolicOperator op;
  Shapes operands;

 private:
  /// Ones stay numbers: only a literal 1 is broadcast.
  Dim unknown(std::int64_t value) {
    if (value == 1 || random_.chance(0.3)) return value;
    const std::string name = "u" + std::to_string(values_.size());
    values_[name] = value;
    return Dim::symbol(name);
  }
  SymbolicField symbolic(bool value, const SymbolicField&) { return value; }
  SymbolicField symbolic(double value, const SymbolicField&) { return RealAttribute{{}, value}; }
  SymbolicField symbolic(ElementType, const SymbolicField& sample) { return sample; }
  SymbolicField symbolic(const Dim& value, const SymbolicField&) { return unknown(value.value()); }
  SymbolicField symbolic(std::int64_t value, const SymbolicField& sample) {
    return std::holds_alternative<Dim>(sample) ? SymbolicField(unknown(value)) : SymbolicField(value);
  }
  SymbolicField symbolic(const std::vector<Dim>& list, const SymbolicField&) {
    std::vector<Dim> dims;
    for (const Dim& value : list) dims.push_back(unknown(value.value()));
    return dims;
  }
  SymbolicField symbolic(const std::vector<std::int64_t>& list, const SymbolicField& sample) {
    if (!std::holds_alternative<std::vector<Dim>>(sample)) return list;
    return symbolic(std::vector<Dim>(list.begin(), list.end()), sample);
  }

  Random& random_;
  std::map<std::string, std::int64_t> values_;
};

void nudge(std::int64_t& number, Random& random) { number += random.pick<std::int64_t>({-2, -1, 1, 2}); }

/// Changes one number, so that the operator may no longer fit.
void spoil(Application& application, Random& random) {
  auto fields = fields_of(application.op);
  const std::size_t choice = random.below(application.operands.size() + fields.size());
  if (choice < application.operands.size()) {
    Shape& shape = application.operands[choice];
    if (shape.empty()) return;
    Dim& dim = shape[random.below(shape.size())];
    std::int64_t value = dim.value();
    nudge(value, random);
    dim = std::max<std::int64_t>(value, 1);
    return;
  }
  NamedField& field = fields[choice - application.operands.size()];
  if (auto* number = std::get_if<std::int64_t>(&field.value)) nudge(*number, random);
  if (auto* dim = std::get_if<Dim>(&field.value)) *dim = dim->value() + random.pick<std::int64_t>({-2, -1, 1, 2});
  if (auto* list = std::get_if<std::vector<std::int64_t>>(&field.value); list && !list->empty())
    nudge((*list)[random.below(list->size())], random);
  if (auto* list = std::get_if<std::vector<Dim>>(&field.value); list && !list->empty()) {
    Dim& dim = (*list)[random.below(list->size())];
    dim = dim.value() + random.pick<std::int64_t>({-1, 1});
  }
  REQUIRE(set_field(application.op, field.name, field.value));
}

/// The shapes of the results by the operator's own inference; nothing if it refuses, or if a dimension is below 1.
std::optional<Shapes> concrete_shapes(const Application& application) {
  try {
    Shapes shapes = ops::infer(application.op, application.operands);
    for (const Shape& shape : shapes)
      for (const Dim& dim : shape)
        if (dim.value() < 1) return std::nullopt;
    return shapes;
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

bool rounds_up(const Operator& op) {
  for (const NamedField& field : fields_of(op))
    if (field.name == "ceil") return std::get<bool>(field.value);
  return false;
}

}  // namespace

bool may_see_nothing(const auto& application) {
  const auto* pool = std::get_if<op::MaxPool>(&application.op);
  return pool && std::any_of(pool->dilations.begin(), pool->dilations.end(), [](std::int64_t d) { return d > 1; });
}

TEST_CASE("shape inference with unknowns agrees with every operator's own") {
  const RandomShapes shapes{.symbols = {}, .largest = 6, .most_axes = 5, .empty = false};
  Random random(11);
  for (const Operator& kind : all_operators()) {
    CAPTURE(ops::name_of(kind));
    std::size_t fitting = 0, refused = 0;
    for (int round = 0; round < 400; ++round) {
      auto application = random_application(random, kind, shapes);
      REQUIRE(application);
      if (rounds_up(application->op)) continue;  // its shape is not a polynomial
      if (round % 2 == 1) spoil(*application, random);
      if (may_see_nothing(*application)) continue;  // rules leave out windows that dilation empties
      const auto expected = concrete_shapes(*application);
      const Abstraction abstraction(*application, random);
      std::vector<Requirement> requirements;
      const auto inferred = rules::infer(abstraction.op, abstraction.operands, requirements);
      const auto binding = [&](std::string_view name) { return abstraction(name); };
      bool fits = inferred.has_value();
      std::string broken = "ranks";
      for (const Requirement& requirement : requirements) {
        if (holds(requirement, binding)) continue;
        fits = false;
        broken = rules::text_of(requirement);
      }
      CAPTURE(rules::text_of(abstraction.op), broken);
      for (const Shape& operand : application->operands) UNSCOPED_INFO(ops::text_of(operand));
      REQUIRE(fits == expected.has_value());
      ++(fits ? fitting : refused);
      if (!fits) continue;
      REQUIRE(inferred->size() == expected->size());
      for (std::size_t i = 0; i < expected->size(); ++i) {
        REQUIRE((*inferred)[i].size() == (*expected)[i].size());
        for (std::size_t axis = 0; axis < (*expected)[i].size(); ++axis)
          CHECK((*inferred)[i][axis].evaluate(binding) == (*expected)[i][axis].value());
      }
    }
    CHECK(fitting > 50);
    // Some fit for all numbers.
    const bool takes_reals_only =
        ops::name_of(kind) == "leaky_relu" || ops::name_of(kind) == "clip" || ops::name_of(kind) == "gelu";
    if ((max_inputs(kind) != 1 || !fields_of(kind).empty()) && !takes_reals_only) CHECK(refused >= 5);
  }
}

}  // namespace taso::test
