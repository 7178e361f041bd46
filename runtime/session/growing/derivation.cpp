#include "runtime/session/growing/derivation.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/import/branches.h"
#include "onnx/import/import.h"
#include "onnx/model/attributes.h"
#include "onnx/model/tensor_data.h"
#include "ops/text/characters.h"
#include "runtime/session/growing/rules.h"

namespace taso::runtime::growing {
namespace {

constexpr std::int64_t oldest_opset = 11;  // has ScatterElements

void set_extents(proto::ValueInfoProto& value, const Extents& extents) {
  auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  for (const std::int64_t extent : extents) shape.add_dim()->set_dim_value(extent);
}

void set_attribute(proto::NodeProto& node, const char* name, std::int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(proto::AttributeProto::INT);
  attribute.set_i(value);
}

bool is_constant(const Derivation& derivation, const Dim& dim) {
  const std::optional<Affine> number = derivation.affine(dim);
  return number && number->slope == 0;
}

/// Whether the numbers of a value are known without running anything.
bool is_told(const Fact& fact) { return fact.constant || fact.content; }

}  // namespace

Derivation::Derivation(const onnx::Model& model, std::int64_t capacity, const Lengths& lengths)
    : model_(model),
      capacity_(capacity),
      lengths_(lengths),
      symbol_(Dim::symbol("the length of the past#")),
      past_length_{"", capacity},
      derived_(std::make_unique<proto::GraphProto>()) {}

Derivation::~Derivation() = default;

void Derivation::run() {
  const proto::GraphProto& own = model_.proto().graph();
  if (onnx::opset_of(model_.proto(), "") < oldest_opset)
    throw InputError(fmt::format("a past needs a model of opset {} or newer", oldest_opset));
  const auto add_names = [&](const auto& list) { names_.insert(list.begin(), list.end()); };
  for (const auto& node : own.node()) {
    add_names(node.input());
    add_names(node.output());
    add_names(onnx::captured_names(node));
  }
  for (const auto& tensor : own.initializer()) names_.insert(tensor.name());
  for (const auto& input : own.input()) names_.insert(input.name());
  *derived_->mutable_input() = own.input();
  *derived_->mutable_output() = own.output();
  read_inputs();
  read_constants();
  for (const auto& node : own.node()) derive(node);
  write_outputs();
}

onnx::Model Derivation::model() const {
  onnx::Model made = model_.copy();
  proto::GraphProto& graph = *made.mutable_proto().mutable_graph();
  *graph.mutable_input() = derived_->input();
  *graph.mutable_output() = derived_->output();
  *graph.mutable_node() = derived_->node();
  graph.clear_value_info();
  graph.clear_quantization_annotation();
  return made;
}

void Derivation::read_inputs() {
  std::unordered_set<std::string> initialized;
  for (const auto& tensor : model_.proto().graph().initializer()) initialized.insert(tensor.name());
  for (auto& input : *derived_->mutable_input()) {
    if (initialized.contains(input.name()) && model_.proto().ir_version() < 4) continue;
    Tracked value{{onnx::declared_type(input), {}, {}}, {}, input.name()};
    if (value.fact.type.shape) {
      for (Dim& dim : *value.fact.type.shape) {
        if (dim.is_static()) continue;
        const std::string name = dim.symbols().front();
        if (const auto rows = lengths_.by_more.find(name); rows != lengths_.by_more.end())
          dim = this->dim({1, rows->second});
        else if (const auto number = lengths_.numbers.find(name); number != lengths_.numbers.end())
          dim = number->second;
        else
          throw InputError(fmt::format("the size '{}' is not known", on_one_line(name)));
      }
      value.rows = rows_in(*value.fact.type.shape);
      if (value.rows && value.rows->more == 0) {
        value.rows->beyond = Beyond::finite;
        value.rows->cache = input.name();
      }
      set_extents(input, extents_of(*value.fact.type.shape));
    }
    set(input.name(), std::move(value));
  }
  past_length_.input = fresh("past_length");
  auto& input = *derived_->add_input();
  input.set_name(past_length_.input);
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::onnx_data_type(ElementType::int64));
  input.mutable_type()->mutable_tensor_type()->mutable_shape();
}

void Derivation::read_constants() {
  for (const auto& tensor : model_.proto().graph().initializer())
    if (!values_.contains(tensor.name()))
      set(tensor.name(), {onnx::fact_of(tensor, model_.folder()), {}, tensor.name()});
  for (const auto& sparse : model_.proto().graph().sparse_initializer())
    set(sparse.values().name(), {{}, {}, sparse.values().name()});
}

void Derivation::derive(const proto::NodeProto& node) {
  const std::int64_t opset = onnx::opset_of(model_.proto(), node);
  const bool is_known = opset > 0 && onnx::is_default_domain(node.domain());
  if (is_known && node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).has_t()) {
    append(node);
    return set(node.output(0), {onnx::fact_of(node.attribute(0).t(), model_.folder()), {}, node.output(0)});
  }
  const Attributes attributes = onnx::read_attributes(node, model_.folder());
  bool is_reached = false;  // by the length
  std::vector<const Fact*> facts;
  for (const std::string& name : onnx::operand_names(node)) {
    if (name.empty()) {
      facts.push_back(nullptr);
      continue;
    }
    const Tracked& value = find(name);
    facts.push_back(&value.fact);
    is_reached |= value.rows.has_value();
    for (const Dim& dim : value.fact.content.value_or(std::vector<Dim>())) is_reached |= !is_constant(*this, dim);
  }
  std::vector<Fact> inferred(onnx::outputs_of(node));
  if (is_known) inferred = infer_facts({node.domain(), node.op_type(), opset, attributes, facts, inferred.size()});
  inferred.resize(onnx::outputs_of(node));
  for (const Fact& fact : inferred)
    for (const Dim& dim : fact.type.shape.value_or(Shape())) is_reached |= !is_constant(*this, dim);

  Step step{*this, node, opset, attributes, std::move(inferred)};
  if (!step.facts.empty() && std::all_of(step.facts.begin(), step.facts.end(), is_told)) {
    for (std::size_t i = 0; i < step.facts.size(); ++i) set(node.output(static_cast<int>(i)), {step.facts[i], {}, {}});
    return;
  }
  if (!is_reached) {
    step.add_copy();
    return step.results(std::nullopt);
  }
  if (!is_known) step.refuse("is not an operator of ONNX");
  if (onnx::has_subgraph(node)) step.refuse("has a graph of its own");
  if (const Rule rule = rule_for(node.op_type())) return rule(step);
  for (const std::string& name : node.input())
    if (!name.empty() && find(name).rows) step.refuse("takes a tensor with a row for each token");
  for (const Fact& fact : step.facts)
    if (!fact.type.shape || !is_static(*fact.type.shape)) step.refuse("has a result whose shape depends on the length");
  step.add_copy();
  step.results(std::nullopt);
}

void Derivation::write_outputs() {
  for (auto& output : *derived_->mutable_output()) {
    const Tracked value = find(output.name());
    if (value.rows && value.rows->cache.empty())
      throw InputError(fmt::format(
          "a past of fixed capacity cannot be derived: the output '{}' has a row for each token, and is not "
          "a past with new rows behind it",
          on_one_line(output.name())));
    const std::string name = data(output.name());
    if (name != output.name())
      add("Identity", {name}, output.name(), [&](proto::NodeProto& node) { node.set_output(0, output.name()); });
    if (value.fact.type.shape) set_extents(output, extents_of(*value.fact.type.shape));
  }
  if (past_length_.most < 0)
    throw InputError(fmt::format("a past of {} rows is too small for the new ones of a run", capacity_));
}

const Tracked& Derivation::find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw InputError(fmt::format("nothing computes '{}'", on_one_line(name)));
  return found->second;
}

std::optional<Affine> Derivation::affine(const Dim& dim) const {
  Affine number;
  for (const DimTerm& term : terms_of(dim)) {
    if (term.factors.empty()) {
      number.offset += term.coefficient;
    } else if (term.factors.size() == 1 && term.factors[0].name == symbol_.symbols().front()) {
      number.slope += term.coefficient;
      number.offset += term.coefficient;
    } else {
      return std::nullopt;
    }
  }
  return number;
}

Dim Derivation::dim(const Affine& affine) const { return Dim(affine.slope) * (symbol_ - 1) + affine.offset; }

std::optional<Rows> Derivation::rows_in(const Shape& shape) const {
  std::optional<Rows> found;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (is_constant(*this, shape[axis])) continue;
    const std::optional<Affine> number = affine(shape[axis]);
    if (found) throw InputError("two axes have a row for each token");
    if (!number || number->slope != 1) throw InputError("an extent is computed from the length");
    if (number->offset < 0) throw InputError("an extent is smaller than the length");
    found = Rows{axis, number->offset};
  }
  return found;
}

Extents Derivation::extents_of(const Shape& shape) const {
  Extents extents;
  for (const Dim& dim : shape) {
    const std::optional<Affine> number = affine(dim);
    check(number && (number->slope == 0 || number->slope == 1), "extents are numbers or rows of tokens");
    extents.push_back(number->slope == 0 ? number->offset : capacity_);
  }
  return extents;
}

std::string Derivation::data(const std::string& name) {
  if (name.empty()) return name;
  const Tracked& value = find(name);
  if (value.name.empty()) values_.at(name).name = written_numbers(value.fact);
  return find(name).name;
}

std::string Derivation::written_numbers(const Fact& fact) {
  if (fact.constant) return constant(*fact.constant);
  check(fact.content.has_value() && fact.type.shape.has_value(), "a value has a name or a content");
  std::vector<Affine> numbers;
  for (const Dim& one : *fact.content) {
    const std::optional<Affine> number = affine(one);
    if (!number) throw InputError("a past of fixed capacity cannot be derived: a number is no sum of lengths");
    numbers.push_back(*number);
  }
  const std::string written = integers(numbers, extents_of(*fact.type.shape));
  if (fact.type.element == ElementType::int64) return written;
  return add("Cast", {written}, written + "_cast",
             [&](proto::NodeProto& node) { set_attribute(node, "to", onnx::onnx_data_type(fact.type.element)); });
}

std::string Derivation::fresh(const std::string& base) {
  std::string name = base;
  for (int number = 2; !names_.insert(name).second; ++number) name = fmt::format("{}_{}", base, number);
  return name;
}

std::string Derivation::add(const std::string& type, const std::vector<std::string>& operands, const std::string& base,
                            const std::function<void(proto::NodeProto&)>& change) {
  proto::NodeProto node;
  node.set_op_type(type);
  for (const std::string& operand : operands) node.add_input(operand);
  node.add_output("");
  if (change) change(node);
  std::string key;
  if (node.output(0).empty()) {  // equal nodes are one
    key = node.SerializeAsString();
    if (const auto known = made_.find(key); known != made_.end()) return known->second;
    node.set_output(0, fresh(base));
    made_.emplace(key, node.output(0));
  }
  append(node);
  return node.output(0);
}

std::string Derivation::constant(const Array& array) {
  return add("Constant", {}, past_length_.input + "_constant", [&](proto::NodeProto& node) {
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(proto::AttributeProto::TENSOR);
    *attribute.mutable_t() = onnx::write_tensor(array, "");
  });
}

std::string Derivation::integers(const std::vector<std::int64_t>& numbers, const Extents& extents) {
  return constant(Array::of<std::int64_t>(extents, numbers));
}

std::string Derivation::integers(const std::vector<Affine>& numbers, const Extents& extents) {
  std::vector<std::int64_t> slopes, offsets;
  for (const Affine& number : numbers) {
    slopes.push_back(number.slope);
    offsets.push_back(number.offset);
  }
  const std::string sum = integers(offsets, extents), length = past_length_.input;
  const auto all_are = [&](std::int64_t slope) {
    return std::count(slopes.begin(), slopes.end(), slope) == std::ssize(slopes);
  };
  if (all_are(0)) return sum;
  const std::string part = all_are(1) ? length : add("Mul", {integers(slopes, extents), length}, length + "_multiple");
  return add("Add", {sum, part}, length + "_number");
}

std::string Derivation::places(std::int64_t first, std::int64_t count) {
  std::vector<Affine> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back({1, first + i});
  return integers(numbers, {count});
}

std::string Derivation::reshaped(const std::string& name, const Extents& extents) {
  return add("Reshape", {name, integers(extents, {std::ssize(extents)})}, name + "_reshaped");
}

std::string Derivation::filled(std::size_t axis, std::size_t rank, std::int64_t more) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < capacity_; ++i) numbers.push_back(i);
  Extents extents(rank, 1);
  extents[axis] = capacity_;
  const std::string end = integers(std::vector<Affine>{{1, more}}, {});
  return add("Less", {integers(numbers, extents), end}, past_length_.input + "_filled");
}

std::string Derivation::with_fill(const Tracked& value, double fill) {
  const std::size_t rank = value.fact.type.shape->size();
  const std::string other = constant(Array::scalar<double>(fill).cast(value.fact.type.element));
  return add("Where", {filled(value.rows->axis, rank, value.rows->more), value.name, other}, value.name + "_filled");
}

std::string Derivation::hidden_beyond(const Tracked& value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (beyond_of(value) < Beyond::number) return with_fill(value, -infinity);
  const auto number = [&](double of) { return constant(Array::scalar<double>(of).cast(value.fact.type.element)); };
  const std::string rows = filled(value.rows->axis, value.fact.type.shape->size(), value.rows->more);
  const std::string most = add("Where", {rows, number(infinity), number(-infinity)}, past_length_.input + "_most");
  return add("Min", {value.name, most}, value.name + "_hidden");
}

std::string Derivation::finite(const std::string& name) {
  const Tracked& value = find(name);
  return beyond_of(value) >= Beyond::finite ? data(name) : with_fill(value, 0);
}

std::string Derivation::zero_beyond(const std::string& name) {
  const Tracked& value = find(name);
  return value.rows->beyond == Beyond::zero ? data(name) : with_fill(value, 0);
}

std::string Derivation::written_behind(const Tracked& value, const std::string& updates, const Extents& extents) {
  const Rows& rows = *value.rows;
  const std::int64_t count = extents[rows.axis];
  limit(capacity_ - rows.more - count);
  if (!rows.cache.empty()) {
    written_.insert(rows.cache);
    new_rows_ = std::max(new_rows_, rows.more + count);
  }
  Extents along(extents.size(), 1);
  along[rows.axis] = count;
  const std::string row = reshaped(places(rows.more, count), along);
  const std::string indices = add("Expand", {row, integers(extents, {std::ssize(extents)})}, row + "_expanded");
  return add("ScatterElements", {value.name, indices, updates}, value.name + "_extended",
             [&](proto::NodeProto& node) { set_attribute(node, "axis", static_cast<std::int64_t>(rows.axis)); });
}

}  // namespace taso::runtime::growing
