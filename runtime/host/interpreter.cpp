#include "runtime/host/interpreter.h"

#include <fmt/format.h>

#include "ops/core/binding.h"
#include "ops/graph/plain.h"
#include "ops/support/threads.h"
#include "runtime/host/kernels/fast.h"
#include "runtime/host/overwriting.h"

namespace taso::runtime {
namespace {

/// Replaces unknown dimensions in attributes by their numbers in this run.
Operator with_numbers(Operator op, const Binding& binding) {
  std::visit(
      [&](auto& o) {
        o.fields(o, [&](std::string_view, auto& field) {
          using Field = std::remove_cvref_t<decltype(field)>;
          if constexpr (std::is_same_v<Field, Dim>)
            field = binding.number(field);
          else if constexpr (std::is_same_v<Field, std::vector<Dim>>)
            for (Dim& dim : field) dim = binding.number(dim);
        });
      },
      op);
  return op;
}

void check_operands(const Operator& op, std::span<const Array> inputs) {
  for (const Array& input : inputs) {
    if (input.type() == ElementType::undefined)
      throw InputError(fmt::format("{}: an operand has no element type that we model", name_of(op)));
    if (input.type() != inputs[0].type())
      throw InputError(fmt::format("{}: operands of types {} and {}", name_of(op), name_of(inputs[0].type()),
                                   name_of(input.type())));
  }
}

std::vector<Array> evaluate_owned(const Operator& op, std::vector<Array> inputs, const InterpreterOptions& options) {
  check_operands(op, inputs);
  if (!options.plain) {
    Shapes shapes;
    for (const Array& input : inputs) shapes.push_back(shape_of(input.extents()));
    std::vector<Extents> results;
    for (const Shape& shape : infer(op, shapes)) {
      const auto extents = static_extents(shape);
      if (!extents) throw ShapeError(fmt::format("{}: the value of a dimension is not known", name_of(op)));
      results.push_back(*extents);
    }
    if (auto fast = kernels::evaluate_fast(op, inputs, results, thread_count(options.threads))) return std::move(*fast);
  }
  return evaluate_plainly(op, inputs);
}

/// One run of a graph: the values that are alive, and the values of the unknown dimensions.
class Run {
 public:
  Run(const Graph& graph, const InterpreterOptions& options, std::span<const Overwritable> overwritable)
      : graph_(graph), nodes_(graph.nodes()), options_(options), overwritable_(overwritable) {
    for (const Node* node : nodes_)
      for (const Value& value : node->inputs())
        if (value) ++uses_[value];
    for (const Value& value : graph.outputs) ++uses_[value];
  }

  std::vector<Array> operator()(std::span<const Array> inputs) {
    count_owners();
    bind_inputs(inputs);
    for (const Node* node : nodes_) {
      if (const Operator* op = node->as_operator()) {
        std::vector<Array> operands;
        for (const Value& value : node->inputs()) operands.push_back(take(value));
        keep(*node, evaluate_owned(with_numbers(*op, binding_), std::move(operands), options_), name_of(*op));
      } else if (const Opaque* opaque = node->as_opaque()) {
        keep(*node, run_opaque(*node, *opaque), opaque->kind);
      }
    }
    std::vector<Array> outputs;
    for (const Value& value : graph_.outputs) outputs.push_back(take(value));
    return outputs;
  }

 private:
  void bind_inputs(std::span<const Array> inputs) {
    if (inputs.size() != graph_.inputs.size())
      throw InputError(fmt::format("the program takes {} inputs, not {}", graph_.inputs.size(), inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Input* input = graph_.inputs[i] ? graph_.inputs[i].node->as_input() : nullptr;
      check(input != nullptr, "the inputs of a graph are inputs");
      if (const auto problem = binding_.learn(input->type, inputs[i]))
        throw InputError(fmt::format("input '{}': {}", input->name, *problem));
    }
    // Now that all names have values, dimensions computed from names can be checked too.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Input& input = *graph_.inputs[i].node->as_input();
      if (const auto problem = binding_.mismatch(input.type, inputs[i]))
        throw InputError(fmt::format("input '{}': {}", input.name, *problem));
      if (uses_.contains(graph_.inputs[i])) values_.insert_or_assign(graph_.inputs[i], inputs[i]);
    }
  }

  /// Remembers how many arrays of memory that may be overwritten the caller has.
  void count_owners() {
    for (const Overwritable& one : overwritable_) owners_.push_back(one.owner.use_count());
  }

  /// Where the operator may write over its first operand: in memory that no other value needs. Else null.
  std::byte* overwritten(const std::vector<std::optional<Array>>& operands) const {
    if (operands.empty() || !operands[0]) return nullptr;
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      const Overwritable& one = overwritable_[i];
      if (operands[0]->data() == one.data && one.owner.use_count() == owners_[i] + 1) return one.data;
    }
    return nullptr;
  }

  /// Returns the value for one more use. The last use removes it, so that the reader may be its only owner.
  Array take(const Value& value) {
    const auto left = uses_.find(value);
    check(left != uses_.end() && left->second > 0, "a value is taken as often as it is used");
    --left->second;
    auto found = values_.find(value);
    if (found == values_.end()) found = values_.emplace(value, first_use(*value.node)).first;
    if (left->second > 0) return found->second;
    return std::move(values_.extract(found).mapped());
  }

  /// Constants are read when they are first needed; everything else exists before it is used.
  Array first_use(const Node& node) {
    if (const Input* input = node.as_input())
      throw InputError(fmt::format("the value '{}' is not among the inputs of the program", input->name));
    const Constant* constant = node.as_constant();
    check(constant != nullptr, "operands are computed before what uses them");
    if (!constant->weight) throw InputError(fmt::format("the constant '{}' has no data", constant->name));
    Array data = constant->weight->load();
    if (const auto problem = binding_.mismatch(constant->type, data))
      throw InputError(fmt::format("constant '{}': {}", constant->name, *problem));
    return data;
  }

  std::vector<Array> run_opaque(const Node& node, const Opaque& opaque) {
    if (!opaque.body) throw InputError(fmt::format("cannot run {}: unknown operator", opaque.kind));
    if (const std::string obstacle = opaque.body->obstacle(); !obstacle.empty())
      throw InputError(fmt::format("cannot run {}: {}", opaque.kind, obstacle));
    std::vector<std::optional<Array>> operands;
    for (const Value& value : node.inputs()) {
      if (value)
        operands.emplace_back(take(value));
      else
        operands.emplace_back(std::nullopt);
    }
    const OverwritePermission permission(opaque.body->has_programs() ? nullptr : overwritten(operands));
    return opaque.body->run(operands);
  }

  void keep(const Node& node, std::vector<Array> results, std::string_view name) {
    if (results.size() < node.outputs().size())
      throw InputError(fmt::format("{} gave {} results, not {}", name, results.size(), node.outputs().size()));
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Type& type = node.outputs()[i];
      auto problem = binding_.learn(type, results[i]);
      if (!problem) problem = binding_.mismatch(type, results[i]);
      if (problem) throw TypeMismatch(fmt::format("result {} of {}: {}", i, name, *problem));
      if (uses_.contains(node.output(i))) values_.emplace(node.output(i), std::move(results[i]));
    }
  }

  const Graph& graph_;
  std::vector<const Node*> nodes_;
  const InterpreterOptions& options_;
  std::span<const Overwritable> overwritable_;
  Binding binding_;
  std::unordered_map<Value, std::size_t, HashValue> uses_;
  std::unordered_map<Value, Array, HashValue> values_;
  std::vector<long> owners_;  // of each overwritable input, before the run
};

}  // namespace

std::vector<Array> evaluate(const Operator& op, std::span<const Array> inputs, const InterpreterOptions& options) {
  return evaluate_owned(op, {inputs.begin(), inputs.end()}, options);
}

std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs, const InterpreterOptions& options) {
  return Run(graph, options, {})(inputs);
}

std::vector<Array> interpret_in_place(const Graph& graph, std::span<const Array> inputs,
                                      const InterpreterOptions& options, std::span<const Overwritable> overwritable) {
  return Run(graph, options, overwritable)(inputs);
}

}  // namespace taso::runtime
