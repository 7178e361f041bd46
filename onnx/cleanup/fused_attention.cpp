#include "onnx/cleanup/fused_attention.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "onnx/export/needed_nodes.h"
#include "onnx/export/part.h"
#include "onnx/lowering/lowering.h"
#include "onnx/model/proto.h"
#include "ops/text/graph_text.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {
namespace {

using Permutation = std::vector<std::int64_t>;

template <class Op>
const Op* as(const Value& value) {
  const Operator* const op = value.node->as_operator();
  return op == nullptr ? nullptr : std::get_if<Op>(op);
}

Value operand(const Value& value, std::size_t place) { return value.node->inputs()[place]; }

bool is_transposed(const Value& value, const Permutation& permutation) {
  const auto* const transpose = as<op::Transpose>(value);
  return transpose != nullptr && transpose->permutation == permutation;
}

/// The number in a constant of one element.
std::optional<double> number_in(const Value& value) {
  const Constant* const constant = value.node->as_constant();
  if (constant == nullptr || !constant->weight || !value.type().shape) return std::nullopt;
  const auto extents = static_extents(value.shape());
  if (!extents || count(*extents) != 1) return std::nullopt;
  return constant->weight->load().doubles().front();
}

/// What a value was before it was multiplied by numbers, which `factor` takes.
Value without_factors(Value value, double& factor) {
  for (;;) {
    const bool is_product = as<op::Mul>(value) != nullptr || as<op::ScalarMul>(value) != nullptr;
    const bool is_quotient = as<op::Div>(value) != nullptr;
    if (!is_product && !is_quotient) return value;
    const Value first = operand(value, 0), second = operand(value, 1);
    if (const auto number = number_in(second); number && first.type() == value.type()) {
      factor *= is_product ? *number : 1 / *number;
      value = first;
    } else if (const auto other = number_in(first); other && is_product && second.type() == value.type()) {
      factor *= *other;
      value = second;
    } else {
      return value;
    }
  }
}

class Finder {
 public:
  explicit Finder(const ImportedModel& imported) {
    for (const auto& [name, value] : imported.values) {
      if (name.empty()) continue;
      const auto [known, is_new] = names_.emplace(value, name);
      if (!is_new && name < known->second) known->second = name;
    }
  }

  std::optional<FusedAttention> at(const std::string& name, const Value& result) const {
    FusedAttention found;
    found.result = name;
    if (as<op::Reshape>(result) == nullptr || !is_transposed(operand(result, 0), {0, 2, 1, 3})) return std::nullopt;
    const Value product = operand(operand(result, 0), 0);
    if (as<op::MatMul>(product) == nullptr) return std::nullopt;
    const Value weights = operand(product, 0), values = operand(product, 1);
    const auto* const softmax = as<op::Softmax>(weights);
    const auto extents = static_extents(product.shape()), of_values = static_extents(values.shape());
    if (softmax == nullptr || softmax->axis != 3 || !extents || !of_values || of_values->size() != 4)
      return std::nullopt;
    found.batch = (*extents)[0], found.heads = (*extents)[1], found.length = (*extents)[2];
    const Extents packed{found.batch, found.length, found.heads * (*extents)[3]};
    if (static_extents(result.shape()) != packed || !is_floating(result.type().element)) return std::nullopt;

    Value scores = operand(weights, 0);
    Value mask;
    if (as<op::Add>(scores) != nullptr) {
      const Value sum = scores;
      for (const std::size_t place : {0U, 1U}) {
        double unused = 1;
        if (as<op::MatMul>(without_factors(operand(sum, place), unused)) == nullptr) continue;
        scores = operand(sum, place);
        mask = operand(sum, 1 - place);
        break;
      }
      if (!mask || !(scores.type() == sum.type())) return std::nullopt;
    }
    scores = without_factors(scores, found.scale);
    if (as<op::MatMul>(scores) == nullptr || scores.shape().size() != 4) return std::nullopt;
    const auto of_queries = static_extents(operand(scores, 0).shape());
    const std::int64_t keys = (*of_values)[2];
    if (!of_queries || *of_queries != Extents{found.batch, found.heads, found.length, of_queries->back()} ||
        static_extents(operand(scores, 1).shape()) != Extents{found.batch, found.heads, of_queries->back(), keys} ||
        *of_values != Extents{found.batch, found.heads, keys, of_values->back()})
      return std::nullopt;
    found.size = of_queries->back();

    const Extents queries{found.batch, found.length, found.heads, found.size},
        keys_apart{found.batch, keys, found.heads, found.size},
        values_apart{found.batch, keys, found.heads, of_values->back()};
    const Forms q = forms_of(operand(scores, 0), queries, {0, 2, 1, 3});
    const Forms k = forms_of(operand(scores, 1), keys_apart, {0, 2, 3, 1});
    const Forms v = forms_of(values, values_apart, {0, 2, 1, 3});
    const auto& of_q = q.packed ? q.packed : q.apart;
    // ONNX Runtime takes keys and values in the same form. Those of values have no place for a factor.
    const bool are_packed = k.packed && v.packed && v.packed->factor == 1;
    const auto &of_k = are_packed ? k.packed : k.apart, &of_v = are_packed ? v.packed : v.apart;
    if (!of_q || !of_k || !of_v || of_v->factor != 1) return std::nullopt;
    found.scale *= of_q->factor * of_k->factor;
    found.q = {of_q->name, !q.packed};
    found.k = {of_k->name, !are_packed};
    found.v = {of_v->name, !are_packed};
    if (mask) {
      const auto name_of_mask = names_.find(mask);
      const auto of_mask = static_extents(mask.shape());
      if (name_of_mask == names_.end() || !of_mask || of_mask->size() != 4) return std::nullopt;
      const auto is_one_or = [](std::int64_t extent, std::int64_t full) { return extent == 1 || extent == full; };
      if (!is_one_or((*of_mask)[0], found.batch) || !is_one_or((*of_mask)[1], found.heads) ||
          (*of_mask)[2] != found.length || (*of_mask)[3] != keys)
        return std::nullopt;
      found.mask = name_of_mask->second;
    }
    if (!std::isfinite(found.scale) || found.scale == 0) return std::nullopt;
    found.form = fmt::format("{}: {} x {} x {} x {} by {} x {}, {}{}{}{}", name_of(result.type().element), found.batch,
                             found.heads, found.length, found.size, keys, of_values->back(), found.scale,
                             found.q.is_apart ? ", queries apart" : "", found.k.is_apart ? ", keys apart" : "",
                             mask ? ", mask " + ops::text_of(mask.shape()) : "");
    return found;
  }

 private:
  /// A value that becomes the operand if it is multiplied by a number and its heads are told apart.
  struct Form {
    std::string name;
    double factor = 1;
  };
  struct Forms {
    std::optional<Form> packed, apart;
  };

  std::optional<Form> named(const Value& value, double factor) const {
    const auto name = names_.find(value);
    return name == names_.end() ? std::nullopt : std::optional(Form{name->second, factor});
  }

  /// The forms of an operand that is `value` in the product: transposed by `permutation` if it has the shape `apart`,
  /// which is [batch, length, heads, size].
  Forms forms_of(Value value, const Extents& apart, const Permutation& permutation) const {
    const Extents packed{apart[0], apart[1], apart[2] * apart[3]}, turned{apart[0], apart[2], apart[1], apart[3]};
    const op::Reshape to_heads{.shape = shape_of(apart)};
    const op::Transpose to_value{.permutation = permutation}, from_turned{.permutation = after_turning(permutation)};
    Forms forms;
    double factor = 1;
    std::vector<Operator> steps;  // from a value to the operand, the last first
    for (;;) {
      value = without_factors(value, factor);
      const auto extents = static_extents(value.shape());
      if (extents == packed && !forms.packed && are_alike(packed, steps, {to_value, to_heads}))
        forms.packed = named(value, factor);
      if (extents == turned && !forms.apart && are_alike(turned, steps, {from_turned}))
        forms.apart = named(value, factor);
      if (as<op::Reshape>(value) == nullptr && as<op::Transpose>(value) == nullptr) return forms;
      steps.push_back(*value.node->as_operator());
      value = operand(value, 0);
    }
  }

  /// What is left of the permutation for a value whose middle axes are exchanged already.
  static Permutation after_turning(const Permutation& permutation) {
    constexpr std::int64_t exchanged[] = {0, 2, 1, 3};
    Permutation left;
    for (const std::int64_t axis : permutation) left.push_back(exchanged[axis]);
    return left;
  }

  /// Whether both move the elements of a tensor alike: shown with the numbers of the elements.
  static bool are_alike(const Extents& extents, const std::vector<Operator>& steps,
                        const std::vector<Operator>& others) {
    constexpr std::int64_t most_elements = std::int64_t{1} << 24;
    if (count(extents) > most_elements) return false;
    std::vector<double> numbers(static_cast<std::size_t>(count(extents)));
    std::iota(numbers.begin(), numbers.end(), 0.0);
    std::vector<Array> moved(2, Array::of<double>(extents, numbers));
    for (const std::size_t i : {0U, 1U}) {
      const std::vector<Operator>& path = i == 0 ? steps : others;
      for (auto step = path.rbegin(); step != path.rend(); ++step)
        moved[i] = runtime::evaluate(*step, std::vector{moved[i]}).front();
    }
    return identical(moved[0], moved[1]);
  }

  std::unordered_map<Value, std::string, HashValue> names_;
};

std::unique_ptr<proto::NodeProto> node(const std::string& op_type, std::initializer_list<std::string> inputs,
                                       const std::string& output) {
  auto made = std::make_unique<proto::NodeProto>();
  made->set_op_type(op_type);
  made->set_name(output);
  for (const std::string& input : inputs) made->add_input(input);
  made->add_output(output);
  return made;
}

proto::AttributeProto& add_attribute(proto::NodeProto& node, const std::string& name,
                                     proto::AttributeProto::AttributeType type) {
  proto::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

/// The nodes between the operands and the result.
std::unordered_set<const proto::NodeProto*> nodes_of(const GraphEdit& edit, const FusedAttention& place) {
  const std::unordered_set<std::string> operands{place.q.name, place.k.name, place.v.name, place.mask};
  std::unordered_set<const proto::NodeProto*> found;
  std::vector<std::string> open{place.result};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    const proto::NodeProto* const producer = operands.contains(name) ? nullptr : edit.producer(name);
    if (producer == nullptr || !found.insert(producer).second) continue;
    open.insert(open.end(), producer->input().begin(), producer->input().end());
  }
  return found;
}

}  // namespace

std::vector<FusedAttention> fused_attentions(const GraphEdit& edit) {
  const auto imported = edit.imported();
  const Finder finder(*imported);
  std::vector<FusedAttention> found;
  for (const proto::NodeProto* one : edit.view().nodes) {
    if (!is_default_domain(one->domain()) || one->output_size() != 1) continue;
    const auto value = imported->values.find(one->output(0));
    if (value == imported->values.end() || !value->second.type().shape) continue;
    if (auto place = finder.at(one->output(0), value->second)) found.push_back(std::move(*place));
  }
  return found;
}

void fuse_attention(GraphEdit& edit, const FusedAttention& place) {
  const auto kept = needless_nodes(edit);
  std::string q = place.q.name;
  if (place.q.is_apart) {
    const std::string turned = edit.fresh_name(place.result + "_query");
    auto transpose = node("Transpose", {q}, turned);
    auto& permutation = add_attribute(*transpose, "perm", proto::AttributeProto::INTS);
    for (const std::int64_t axis : {0, 2, 1, 3}) permutation.add_ints(axis);
    edit.add(std::move(transpose));
    const std::string shape = edit.fresh_name(place.result + "_shape");
    edit.add_constant(shape, Array::of<std::int64_t>({3}, {place.batch, place.length, place.heads * place.size}));
    q = edit.fresh_name(place.result + "_packed");
    edit.add(node("Reshape", {turned, shape}, q));
  }
  auto fused = node("MultiHeadAttention", {q, place.k.name, place.v.name}, place.result);
  fused->set_domain(std::string(onnxruntime_domain));
  if (!place.mask.empty()) {
    for (int omitted = 0; omitted < 2; ++omitted) fused->add_input("");
    fused->add_input(place.mask);
  }
  add_attribute(*fused, "num_heads", proto::AttributeProto::INT).set_i(place.heads);
  add_attribute(*fused, "scale", proto::AttributeProto::FLOAT).set_f(static_cast<float>(place.scale));
  edit.remove(*edit.producer(place.result));
  edit.add(std::move(fused));
  remove_needless_nodes(edit, kept);
}

std::pair<Model, Model> attention_models(const GraphEdit& edit, const Model& model, const FusedAttention& place) {
  const Model whole = edit.edited_copy(model);
  std::unordered_set<std::string> results;
  for (const proto::NodeProto* const one : nodes_of(edit, place)) results.insert(one->output(0));
  std::vector<bool> kept;
  for (const proto::NodeProto& one : whole.proto().graph().node())
    kept.push_back(one.output_size() > 0 && results.contains(one.output(0)));
  Model part = part_of(whole, kept, *edit.imported());
  GraphEdit fusing(part);
  fuse_attention(fusing, place);
  Model fused = fusing.edited_copy(part);
  return {std::move(part), std::move(fused)};
}

}  // namespace taso::onnx
