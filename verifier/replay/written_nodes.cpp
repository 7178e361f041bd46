#include "verifier/replay/written_nodes.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "onnx/export/rewiring.h"
#include "onnx/import/branches.h"
#include "onnx/import/view.h"
#include "onnx/model/attributes.h"
#include "onnx/model/external_data.h"
#include "onnx/model/message_bytes.h"
#include "onnx/model/model_names.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_content.h"
#include "ops/graph/operator.h"

namespace taso::verifier {
namespace {

/// An operator of ONNX from an opset on, until the next row of that name.
struct Kind {
  std::string_view name;
  std::int64_t since = 0;
  int operands = 0;             ///< at most
  std::string_view attributes;  ///< each with its type: "axis:INT perm:INTS"
};

constexpr int any_number = std::numeric_limits<int>::max();

/// The kinds of nodes that rewriting writes, with every attribute that ONNX knows for them; but not output_shape, which
/// readers understand differently. Operators whose form in ONNX has no attributes say so themselves (ops::OnnxForm).
constexpr Kind table[] = {
    {"AveragePool", 7, 1, "auto_pad:STRING count_include_pad:INT kernel_shape:INTS pads:INTS strides:INTS"},
    {"AveragePool", 10, 1,
     "auto_pad:STRING ceil_mode:INT count_include_pad:INT kernel_shape:INTS pads:INTS strides:INTS"},
    {"AveragePool", 19, 1,
     "auto_pad:STRING ceil_mode:INT count_include_pad:INT dilations:INTS kernel_shape:INTS pads:INTS strides:INTS"},
    {"BatchNormalization", 7, 5, "epsilon:FLOAT momentum:FLOAT spatial:INT"},
    {"BatchNormalization", 9, 5, "epsilon:FLOAT momentum:FLOAT"},
    {"BatchNormalization", 14, 5, "epsilon:FLOAT momentum:FLOAT training_mode:INT"},
    {"Clip", 7, 1, "max:FLOAT min:FLOAT"},
    {"Clip", 11, 3, ""},
    {"Concat", 4, any_number, "axis:INT"},
    {"Constant", 1, 0, "value:TENSOR"},
    {"Conv", 1, 3, "auto_pad:STRING dilations:INTS group:INT kernel_shape:INTS pads:INTS strides:INTS"},
    {"ConvTranspose", 1, 3,
     "auto_pad:STRING dilations:INTS group:INT kernel_shape:INTS output_padding:INTS pads:INTS strides:INTS"},
    {"GRU", 7, 6,
     "activation_alpha:FLOATS activation_beta:FLOATS activations:STRINGS clip:FLOAT direction:STRING hidden_size:INT "
     "linear_before_reset:INT"},
    {"GRU", 14, 6,
     "activation_alpha:FLOATS activation_beta:FLOATS activations:STRINGS clip:FLOAT direction:STRING hidden_size:INT "
     "layout:INT linear_before_reset:INT"},
    {"Gelu", 20, 1, "approximate:STRING"},
    {"Gemm", 7, 3, "alpha:FLOAT beta:FLOAT transA:INT transB:INT"},
    {"GlobalAveragePool", 1, 1, ""},
    {"HardSigmoid", 6, 1, "alpha:FLOAT beta:FLOAT"},
    {"HardSwish", 14, 1, ""},
    {"Identity", 1, 1, ""},
    {"LRN", 1, 1, "alpha:FLOAT beta:FLOAT bias:FLOAT size:INT"},
    {"LSTM", 7, 8,
     "activation_alpha:FLOATS activation_beta:FLOATS activations:STRINGS clip:FLOAT direction:STRING hidden_size:INT "
     "input_forget:INT"},
    {"LSTM", 14, 8,
     "activation_alpha:FLOATS activation_beta:FLOATS activations:STRINGS clip:FLOAT direction:STRING hidden_size:INT "
     "input_forget:INT layout:INT"},
    {"LayerNormalization", 17, 3, "axis:INT epsilon:FLOAT stash_type:INT"},
    {"LeakyRelu", 6, 1, "alpha:FLOAT"},
    {"MatMul", 1, 2, ""},
    {"Max", 6, any_number, ""},
    {"MaxPool", 1, 1, "auto_pad:STRING kernel_shape:INTS pads:INTS strides:INTS"},
    {"MaxPool", 8, 1, "auto_pad:STRING kernel_shape:INTS pads:INTS storage_order:INT strides:INTS"},
    {"MaxPool", 10, 1,
     "auto_pad:STRING ceil_mode:INT dilations:INTS kernel_shape:INTS pads:INTS storage_order:INT strides:INTS"},
    {"Min", 6, any_number, ""},
    {"Mul", 7, 2, ""},
    {"Pad", 2, 1, "mode:STRING pads:INTS value:FLOAT"},
    {"Pad", 11, 3, "mode:STRING"},
    {"Pad", 18, 4, "mode:STRING"},
    {"RNN", 7, 6,
     "activation_alpha:FLOATS activation_beta:FLOATS activations:STRINGS clip:FLOAT direction:STRING hidden_size:INT"},
    {"RNN", 14, 6,
     "activation_alpha:FLOATS activation_beta:FLOATS activations:STRINGS clip:FLOAT direction:STRING hidden_size:INT "
     "layout:INT"},
    {"ReduceMax", 1, 1, "axes:INTS keepdims:INT"},
    {"ReduceMax", 18, 2, "keepdims:INT noop_with_empty_axes:INT"},
    {"ReduceMean", 1, 1, "axes:INTS keepdims:INT"},
    {"ReduceMean", 18, 2, "keepdims:INT noop_with_empty_axes:INT"},
    {"ReduceSum", 1, 1, "axes:INTS keepdims:INT"},
    {"ReduceSum", 13, 2, "keepdims:INT noop_with_empty_axes:INT"},
    {"Reshape", 5, 2, ""},
    {"Reshape", 14, 2, "allowzero:INT"},
    {"Slice", 1, 1, "axes:INTS ends:INTS starts:INTS"},
    {"Slice", 10, 5, ""},
    {"Softmax", 1, 1, "axis:INT"},
    {"Split", 2, 1, "axis:INT split:INTS"},
    {"Split", 13, 2, "axis:INT"},
    {"Split", 18, 2, "axis:INT num_outputs:INT"},
    {"Swish", 24, 1, "alpha:FLOAT"},
    {"Transpose", 1, 1, "perm:INTS"},
};

/// The kinds that only ONNX Runtime has.
constexpr Kind of_onnxruntime[] = {{"MultiHeadAttention", 1, 6, "num_heads:INT scale:FLOAT"}};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> result(std::begin(table), std::end(table));
    for (const Operator& op : all_operators())
      if (const auto form = onnx_form_of(op))
        result.push_back({form->name, form->since, static_cast<int>(max_inputs(op)), ""});
    return result;
  }();
  return all;
}

const Kind* kind_of(std::string_view name, std::int64_t opset) {
  const Kind* found = nullptr;
  for (const Kind& kind : kinds())
    if (kind.name == name && kind.since <= opset) found = &kind;
  return found;
}

std::string name_and_type(const proto::AttributeProto& attribute) {
  return fmt::format("{}:{}", attribute.name(), proto::AttributeProto_AttributeType_Name(attribute.type()));
}

bool leaves_pads_to_be_found(const proto::AttributeProto& attribute) {
  return attribute.name() == "auto_pad" && attribute.s() != "NOTSET";
}

std::string operator_of(const proto::NodeProto& node) {
  return fmt::format("{}\n{}", onnx::is_default_domain(node.domain()) ? "" : node.domain(), node.op_type());
}

using NodeMessage = proto::NodeProto;

/// Everything in a node except names. The number of its operands and results, and which are omitted, is recorded
/// separately.
std::string form_of(const NodeMessage& node, const onnx::Model& model) {
  const NodeMessage content = onnx::content_of(node, model.folder());
  return fmt::format("{}\n{}\n{}", operator_of(node), onnx::attribute_bytes(content),
                     onnx::bytes_without(content, {NodeMessage::kInputFieldNumber, NodeMessage::kOutputFieldNumber,
                                                   NodeMessage::kNameFieldNumber, NodeMessage::kOpTypeFieldNumber,
                                                   NodeMessage::kAttributeFieldNumber}));
}

std::string places_of(const NodeMessage& node) {
  std::string places;
  for (const std::string& name : node.input()) places += name.empty() ? '-' : '+';
  places += ' ';
  for (const std::string& name : node.output()) places += name.empty() ? '-' : '+';
  return places;
}

bool is_listed(std::string_view attributes, std::string_view name_and_type) {
  while (!attributes.empty()) {
    const std::size_t end = std::min(attributes.find(' '), attributes.size());
    if (attributes.substr(0, end) == name_and_type) return true;
    attributes.remove_prefix(std::min(end + 1, attributes.size()));
  }
  return false;
}

/// The attributes that ONNX requires of a kind, at the opsets at which it has them.
constexpr std::pair<std::string_view, std::string_view> required[] = {
    {"AveragePool", "kernel_shape"}, {"Concat", "axis"}, {"Constant", "value"}, {"LRN", "size"},
    {"MaxPool", "kernel_shape"},     {"Pad", "pads"},    {"Slice", "ends"},     {"Slice", "starts"},
};

bool lists(std::string_view attributes, std::string_view name) {
  return fmt::format(" {}", attributes).find(fmt::format(" {}:", name)) != std::string::npos;
}

bool has(const proto::NodeProto& node, std::string_view attribute) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [&](const auto& one) { return one.name() == attribute; });
}

const Kind* kind_of(const proto::NodeProto& node, const proto::ModelProto& model, bool may_use_onnxruntime) {
  if (may_use_onnxruntime && onnx::is_of_onnxruntime(model, node))
    for (const Kind& kind : of_onnxruntime)
      if (kind.name == node.op_type()) return &kind;
  const std::int64_t opset = onnx::opset_of(model, node);
  return onnx::is_default_domain(node.domain()) && opset > 0 ? kind_of(node.op_type(), opset) : nullptr;
}

/// Whether ONNX allows the value, as far as readers could interpret it differently.
bool is_allowed(const proto::AttributeProto& attribute) {
  static constexpr std::string_view switches[] = {
      "allowzero", "ceil_mode",     "count_include_pad", "keepdims", "noop_with_empty_axes",
      "spatial",   "storage_order", "training_mode",     "transA",   "transB"};
  static constexpr std::string_view paddings[] = {"NOTSET", "SAME_LOWER", "SAME_UPPER", "VALID"};
  static constexpr std::string_view modes[] = {"constant", "edge", "reflect", "wrap"};
  const auto one_of = [](const auto& list, const auto& value) {
    return std::find(std::begin(list), std::end(list), value) != std::end(list);
  };
  const std::string& name = attribute.name();
  if (one_of(switches, name)) return attribute.i() == 0 || attribute.i() == 1;
  if (name == "group" || name == "size" || name == "num_outputs") return attribute.i() >= 1;
  if (name == "stash_type") return attribute.i() == 1;
  if (name == "auto_pad") return one_of(paddings, attribute.s());
  if (name == "mode") return one_of(modes, attribute.s());
  if (name == "approximate") return attribute.s() == "none" || attribute.s() == "tanh";
  return true;
}

/// What an attribute contains beyond its name, its type and the value of that type.
std::string rest_of(const proto::AttributeProto& attribute) {
  using Attribute = proto::AttributeProto;
  return onnx::bytes_without(
      attribute, {Attribute::kNameFieldNumber, Attribute::kTypeFieldNumber, Attribute::kFFieldNumber,
                  Attribute::kIFieldNumber, Attribute::kSFieldNumber, Attribute::kTFieldNumber,
                  Attribute::kFloatsFieldNumber, Attribute::kIntsFieldNumber, Attribute::kStringsFieldNumber});
}

std::string trouble_with_attributes(const proto::NodeProto& node, const Kind* kind) {
  bool finds_pads = false, lists_pads = false;
  for (const proto::AttributeProto& attribute : node.attribute()) {
    if (!is_listed(kind->attributes, name_and_type(attribute)))
      return fmt::format("with an attribute {} that ONNX does not know for it", onnx::in_quotes(attribute.name()));
    if (!is_allowed(attribute))
      return fmt::format("with a value of {} that ONNX does not allow", onnx::in_quotes(attribute.name()));
    if (!rest_of(attribute).empty())
      return fmt::format("with an attribute {} that says more than its value", onnx::in_quotes(attribute.name()));
    if (attribute.has_t())
      if (const std::string trouble = trouble_with_new_tensor(attribute.t()); !trouble.empty())
        return fmt::format("with a tensor {}", trouble);
    finds_pads = finds_pads || leaves_pads_to_be_found(attribute);
    lists_pads = lists_pads || attribute.name() == "pads";
  }
  for (const auto& [name, needed] : required)
    if (kind->name == name && lists(kind->attributes, needed) && !has(node, needed))
      return fmt::format("without the attribute {}", onnx::in_quotes(needed));
  return finds_pads && lists_pads ? "with pads beside auto_pad" : "";
}

/// Whether ONNX has that many operands and results for such a node, and each result is named.
std::string trouble_with_places(const NodeMessage& node, const Kind& kind) {
  if (node.input_size() > kind.operands) return "with more operands than ONNX has for it";
  const bool splits = node.op_type() == "Split", is_lstm = node.op_type() == "LSTM";
  const bool recurs = is_lstm || node.op_type() == "GRU" || node.op_type() == "RNN";
  const bool named =
      std::none_of(node.output().begin(), node.output().end(), [](const auto& name) { return name.empty(); });
  const int most = is_lstm ? 3 : recurs ? 2 : splits ? any_number : 1;
  if ((!named && !recurs) || node.output_size() < 1 || node.output_size() > most)
    return "with results that it does not have";
  return "";
}

/// The nodes that a model has already.
class Familiar {
 public:
  Familiar(const onnx::Model& model, bool may_use_onnxruntime) : may_use_onnxruntime_(may_use_onnxruntime) {
    add(model.proto().graph(), model);
  }

  std::string trouble_with(const NodeMessage& node, const onnx::Model& model) const {
    if (onnx::has_subgraph(node)) {  // where values of the enclosing graph may have new names
      const NodeMessage content = onnx::content_of(node, model.folder());
      const bool known = std::any_of(with_subgraphs_.begin(), with_subgraphs_.end(), [&](const NodeMessage& old) {
        return onnx::rewiring_of(old, content).has_value();
      });
      return known ? "" : "which rewriting never writes";
    }
    const auto form = forms_.find(form_of(node, model));
    if (form != forms_.end() && form->second.contains(places_of(node))) return "";
    const Kind* const kind = kind_of(node, model.proto(), may_use_onnxruntime_);
    if (kind == nullptr)
      return form != forms_.end() ? "with other operands or results" : "which rewriting never writes";
    if (form == forms_.end()) {
      if (std::string trouble = trouble_with_attributes(node, kind); !trouble.empty()) return trouble;
      const bool has_domain = node.domain() == onnx::onnxruntime_domain;  // of this kind
      if (!onnx::bytes_without(
               node, {NodeMessage::kInputFieldNumber, NodeMessage::kOutputFieldNumber, NodeMessage::kNameFieldNumber,
                      NodeMessage::kOpTypeFieldNumber, NodeMessage::kAttributeFieldNumber,
                      has_domain ? NodeMessage::kDomainFieldNumber : 0})
               .empty())
        return "that says more than its operator needs";
    }
    return trouble_with_places(node, *kind);
  }

 private:
  void add(const proto::GraphProto& graph, const onnx::Model& model) {
    for (const NodeMessage& node : graph.node()) {
      if (!onnx::has_subgraph(node)) {
        forms_[form_of(node, model)].insert(places_of(node));
        continue;
      }
      with_subgraphs_.push_back(onnx::content_of(node, model.folder()));
      // A branch that is always taken may stand in place of the node.
      if (const auto branches = onnx::branches_of(node)) {
        add(*branches->then_branch, model);
        add(*branches->else_branch, model);
      }
    }
  }

  bool may_use_onnxruntime_;
  std::vector<NodeMessage> with_subgraphs_;
  std::unordered_map<std::string, std::unordered_set<std::string>> forms_;  // with the places of their names
};

}  // namespace

std::string trouble_with_new_tensor(const proto::TensorProto& tensor) {
  using Tensor = proto::TensorProto;
  const int elsewhere = onnx::is_external(tensor) ? Tensor::kExternalDataFieldNumber : 0;
  const std::string rest =
      onnx::bytes_without(tensor, {Tensor::kNameFieldNumber, Tensor::kDimsFieldNumber, Tensor::kDataTypeFieldNumber,
                                   Tensor::kRawDataFieldNumber, Tensor::kDataLocationFieldNumber, elsewhere});
  return rest.empty() ? "" : "that says more than its numbers";
}

std::string trouble_with_new_nodes(const onnx::Model& before, const onnx::Model& after, bool may_use_onnxruntime) {
  const Familiar familiar(before, may_use_onnxruntime);
  for (const proto::NodeProto& node : after.proto().graph().node())
    if (const std::string trouble = familiar.trouble_with(node, after); !trouble.empty())
      return fmt::format("the output has a node {} ({}) {}",
                         onnx::in_quotes(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name()),
                         onnx::in_quotes(node.op_type()), trouble);
  return "";
}

}  // namespace taso::verifier
