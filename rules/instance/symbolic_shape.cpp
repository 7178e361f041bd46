// Operators whose attributes may be unknown, asked what they themselves say (ops/operators).
#include <limits>

#include "rules/instance/symbolic_operator.h"

namespace taso::rules {
namespace {

void assign(bool& field, const SymbolicField& value, double) { field = std::get<bool>(value); }
void assign(std::int64_t& field, const SymbolicField& value, double) { field = std::get<std::int64_t>(value); }
void assign(Dim& field, const SymbolicField& value, double) { field = std::get<Dim>(value); }
template <class Number>
void assign(std::vector<Number>& field, const SymbolicField& value, double) {
  field = std::get<std::vector<Number>>(value);
}
void assign(double& field, const SymbolicField& value, double unknown) {
  const auto& real = std::get<RealAttribute>(value);
  field = real.variable.empty() ? real.value : unknown;
}

/// Calls `ask` with the operator. `unknown` stands for real attributes that are variables.
template <class Ask>
auto ask_operator(const SymbolicOperator& symbolic, double unknown, Ask&& ask) {
  return std::visit(
      [&]<class Op>(const Op&) {
        op::WithUnknowns<Op> op;
        std::size_t next = 0;
        op.fields(op, [&]<class Field>(std::string_view, Field& field) {
          if constexpr (!std::is_same_v<Field, ElementType>) assign(field, symbolic.fields.at(next++), unknown);
        });
        return ask(op);
      },
      prototype(symbolic.kind));
}

}  // namespace

std::optional<Shapes> infer(const SymbolicOperator& op, std::span<const Shape> operands,
                            std::vector<Requirement>& requirements) {
  const Operator& sample = prototype(op.kind);
  if (operands.size() < min_inputs(sample) || operands.size() > max_inputs(sample)) return std::nullopt;
  // A variable stands for any finite number; 0 is one that fits every operator.
  return ask_operator(op, 0, [&]<class Op>(const Op& o) -> std::optional<Shapes> {
    op::Fit fit(Op::name, requirements);
    try {
      if constexpr (requires { Op::outputs; })
        return o.infer(operands, fit);
      else
        return Shapes{o.infer(operands, fit)};
    } catch (const op::Misfit&) {
      return std::nullopt;
    }
  });
}

bool may_be_undefined(const SymbolicOperator& op) {
  // Nothing can be said of what is no number: every comparison with it is false.
  return ask_operator(op, std::numeric_limits<double>::quiet_NaN(), []<class Op>(const Op& o) {
    if constexpr (requires { o.is_partial(); })
      return o.is_partial();
    else
      return Op::traits.has(Trait::partial);
  });
}

}  // namespace taso::rules
