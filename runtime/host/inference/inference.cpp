#include "runtime/host/inference/inference.h"

#include <algorithm>
#include <map>

#include "ops/core/minimum.h"
#include "runtime/host/inference/rules.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace inference {

std::optional<Dim> smaller_of(Dim a, Dim b) {
  if (surely_at_least(a, b)) return b;
  if (surely_at_least(b, a)) return a;
  return std::nullopt;
}

bool may_vanish(const Dim& extent) {
  const std::vector<std::string> names = extent.symbols();
  return has_minimum_that_may_vanish(extent) || !surely_at_least(extent, 1) ||
         std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(computed_mark); });
}

const Shape* Inference::shape(std::size_t operand) const {
  return has(operand) && call.inputs[operand]->type.shape ? &*call.inputs[operand]->type.shape : nullptr;
}

std::optional<std::vector<Dim>> Inference::content(std::size_t operand) const {
  if (!has(operand)) return std::nullopt;
  const Fact& fact = *call.inputs[operand];
  if (fact.content) return fact.content;
  if (!fact.constant || !is_integer(fact.constant->type()) || fact.constant->rank() > 1 ||
      fact.constant->size() > static_cast<std::int64_t>(longest_content))
    return std::nullopt;
  const auto values = fact.constant->integers();
  return std::vector<Dim>(values.begin(), values.end());
}

std::optional<std::vector<std::int64_t>> Inference::integers(std::size_t operand) const {
  const auto dims = content(operand);
  return dims ? static_extents(*dims) : std::nullopt;
}

std::optional<Dim> Inference::only(std::size_t operand) const {
  const auto dims = content(operand);
  return dims && dims->size() == 1 ? std::optional(dims->front()) : std::nullopt;
}

std::optional<std::vector<std::optional<Dim>>> Inference::elements(std::size_t operand) const {
  if (const auto known = content(operand)) return partial(*known);
  if (!has(operand)) return std::nullopt;
  if (const auto& part = call.inputs[operand]->known_part) return part;
  const Shape* const own = shape(operand);
  if (own == nullptr || own->size() != 1 || !own->front().is_static()) return std::nullopt;
  const std::int64_t length = own->front().value();
  if (length < 0 || length > static_cast<std::int64_t>(longest_content)) return std::nullopt;
  return untold(static_cast<std::size_t>(length));
}

void Inference::set_shape(std::size_t index, const std::optional<PartialShape>& shape) {
  Fact* const fact = result(index);
  if (fact == nullptr) return;
  fact->type.shape.reset();
  if (!shape) return;
  Shape told;
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    if (!(*shape)[axis] && !call.unknown) return;
    told.push_back((*shape)[axis] ? *(*shape)[axis] : call.unknown(index, axis));
  }
  fact->type.shape = std::move(told);
}

PartialShape partial(const Shape& shape) { return PartialShape(shape.begin(), shape.end()); }
PartialShape untold(std::size_t rank) { return PartialShape(rank, std::nullopt); }

std::optional<Array> Inference::constant(std::size_t operand) const {
  if (!has(operand)) return std::nullopt;
  const Fact& fact = *call.inputs[operand];
  if (fact.constant) return fact.constant;
  const auto values = integers(operand);
  if (!values || !fact.type.shape || !is_integer(fact.type.element)) return std::nullopt;
  const auto extents = static_extents(*fact.type.shape);
  if (!extents || count(*extents) != static_cast<std::int64_t>(values->size())) return std::nullopt;
  return Array::of(*extents, *values).cast(fact.type.element);
}

Inference::List Inference::list(std::string_view attribute, std::size_t operand, std::int64_t opset) const {
  if (call.opset < opset) {
    if (!call.attributes.has(attribute)) return {};
    return {true, call.attributes.integers(attribute)};
  }
  if (!has(operand)) return {};
  return {true, integers(operand)};
}

ElementType Inference::type_attribute(std::string_view name, ElementType otherwise) const {
  const std::int64_t code = integer(name, 0);
  if (code == 0) return otherwise;
  const HostCall empty{call.op_type, call.opset, call.attributes, {}, 1};
  try {
    return runtime::type_coded(empty, code);
  } catch (const InputError&) {
    return ElementType::undefined;
  }
}

void Inference::set_like(std::size_t index, std::size_t operand) {
  if (has(operand)) set(index, call.inputs[operand]->type.element, call.inputs[operand]->type.shape);
}

void Inference::set_content(std::size_t index, std::vector<Dim> content) {
  Fact* const fact = result(index);
  if (fact != nullptr && content.size() <= longest_content) fact->content = std::move(content);
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

namespace {

/// The extent of two combined dimensions: they are equal, or one of them is 1.
std::optional<Dim> combined(const std::optional<Dim>& a, const std::optional<Dim>& b) {
  if (!a || !b) {
    // The other one is a number other than 1: the unknown extent is that number or 1.
    const std::optional<Dim>& told = a ? a : b;
    return told && told->is_static() && *told != Dim(1) ? told : std::nullopt;
  }
  if (*a == *b || *b == Dim(1)) return a;
  if (*a == Dim(1) || (b->is_static() && !a->is_static())) return b;
  if (a->is_static()) return a;
  // They are equal, or the smaller one is 1, because extents are at least 1.
  if (surely_at_least(*a, *b)) return a;
  return surely_at_least(*b, *a) ? b : std::nullopt;
}

}  // namespace

std::optional<PartialShape> broadcast_shapes(const PartialShape& a, const PartialShape& b) {
  const PartialShape& longer = a.size() >= b.size() ? a : b;
  const PartialShape& shorter = a.size() >= b.size() ? b : a;
  PartialShape result = longer;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::optional<Dim>& dim = result[longer.size() - shorter.size() + i];
    const std::optional<Dim>& other = shorter[i];
    const bool numbers = dim && other && dim->is_static() && other->is_static();
    if (numbers && *dim != *other && *dim != Dim(1) && *other != Dim(1)) return std::nullopt;
    dim = combined(dim, other);
  }
  return result;
}

namespace {

const std::map<std::string_view, Rule>& table() {
  static const auto all = [] {
    std::map<std::string_view, Rule> rules;
    for (const Rules family :
         {elementwise_rules(), movement_rules(), assembly_rules(), reduction_rules(), window_rules()})
      for (const auto& [name, rule] : family) check(rules.emplace(name, rule).second, "one rule for each operator");
    return rules;
  }();
  return all;
}

// Computes small results of known operands. Leaves quantisation alone, because its nodes must stay visible.
void compute(Inference& node, std::vector<Fact>& results) {
  const InferenceCall& call = node.call;
  if (call.op_type.find("Quantize") != std::string_view::npos || call.op_type == "Dropout") return;
  const HostFunction function = find_host_function(call.domain, call.op_type);
  if (function == nullptr) return;
  for (const Fact& fact : results) {
    if (!fact.type.shape || fact.type.element == ElementType::undefined) return;
    const auto extents = static_extents(*fact.type.shape);
    if (!extents || count(*extents) > static_cast<std::int64_t>(longest_content)) return;
  }
  HostCall host{call.op_type, call.opset, call.attributes, {}, call.outputs};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    host.inputs.emplace_back();
    if (call.inputs[i] == nullptr) continue;
    host.inputs.back() = node.constant(i);
    if (!host.inputs.back() || host.inputs.back()->size() > 16 * static_cast<std::int64_t>(longest_content)) return;
  }
  const std::vector<Array> values = function(host);
  for (std::size_t i = 0; i < results.size() && i < values.size(); ++i)
    if (values[i].type() == results[i].type.element && shape_of(values[i].extents()) == *results[i].type.shape)
      results[i].constant = values[i];
}

// Keeps content only for the integer types of shapes, and only if it agrees with the shape.
void tidy(Fact& fact) {
  const bool shape_type = fact.type.element == ElementType::int64 || fact.type.element == ElementType::int32;
  if (fact.constant && shape_type && fact.constant->rank() <= 1 &&
      fact.constant->size() <= static_cast<std::int64_t>(longest_content)) {
    const auto values = fact.constant->integers();
    fact.content = std::vector<Dim>(values.begin(), values.end());
  }
  if (fact.known_part && (!shape_type || !fact.type.shape || fact.type.shape->size() != 1 ||
                          fact.type.shape->front() != dim(fact.known_part->size())))
    fact.known_part.reset();
  if (!fact.content) return;
  const bool fits =
      shape_type && fact.type.shape && fact.type.shape->size() <= 1 &&
      (fact.type.shape->empty() ? fact.content->size() == 1 : fact.type.shape->front() == dim(fact.content->size()));
  if (!fits) fact.content.reset();
}

}  // namespace
}  // namespace inference

std::vector<Fact> infer_facts(const InferenceCall& call) {
  using namespace inference;
  std::vector<Fact> results(call.outputs);
  if (!call.domain.empty() && call.domain != "ai.onnx") return results;
  const auto rule = table().find(call.op_type);
  if (rule == table().end()) return results;
  Inference node(call, results);
  // A rule that fails (an attribute of the wrong kind, a dimension that overflows) keeps what it has set so far.
  const auto attempt = [](auto step) {
    try {
      step();
    } catch (const std::exception&) {
    }
  };
  attempt([&] { rule->second(node); });
  attempt([&] { infer_content(node); });
  attempt([&] { compute(node, results); });
  for (Fact& fact : results) attempt([&] { tidy(fact); });
  return results;
}

}  // namespace taso::runtime
