#include "verifier/written_nodes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "ops/onnx/model_names.h"
#include "ops/onnx/proto.h"
#include "ops/onnx/view.h"

namespace taso {
namespace {

/// What ONNX has of an operator from an opset on, until the next row of that name.
struct Kind {
  std::string_view name;
  std::int64_t since = 0;
  int operands = 0;             ///< at most
  std::string_view attributes;  ///< each with its type: "axis:INT perm:INTS"
};

constexpr int any_number = std::numeric_limits<int>::max();

/// All kinds of nodes that are written, with every attribute that ONNX knows for them.
constexpr Kind kinds[] = {
    {"Add", 7, 2, ""},
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
    {"Div", 7, 2, ""},
    {"Erf", 9, 1, ""},
    {"Exp", 6, 1, ""},
    {"Gelu", 20, 1, "approximate:STRING"},
    {"GlobalAveragePool", 1, 1, ""},
    {"HardSigmoid", 6, 1, "alpha:FLOAT beta:FLOAT"},
    {"HardSwish", 14, 1, ""},
    {"Identity", 1, 1, ""},
    {"LRN", 1, 1, "alpha:FLOAT beta:FLOAT bias:FLOAT size:INT"},
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
    {"Pow", 7, 2, ""},
    {"ReduceMax", 1, 1, "axes:INTS keepdims:INT"},
    {"ReduceMax", 18, 2, "keepdims:INT noop_with_empty_axes:INT"},
    {"ReduceMean", 1, 1, "axes:INTS keepdims:INT"},
    {"ReduceMean", 18, 2, "keepdims:INT noop_with_empty_axes:INT"},
    {"ReduceSum", 1, 1, "axes:INTS keepdims:INT"},
    {"ReduceSum", 13, 2, "keepdims:INT noop_with_empty_axes:INT"},
    {"Relu", 6, 1, ""},
    {"Reshape", 5, 2, ""},
    {"Reshape", 14, 2, "allowzero:INT"},
    {"Sigmoid", 6, 1, ""},
    {"Slice", 1, 1, "axes:INTS ends:INTS starts:INTS"},
    {"Slice", 10, 5, ""},
    {"Softmax", 1, 1, "axis:INT"},
    {"Split", 2, 1, "axis:INT split:INTS"},
    {"Split", 13, 2, "axis:INT"},
    {"Split", 18, 2, "axis:INT num_outputs:INT"},
    {"Sqrt", 6, 1, ""},
    {"Sub", 7, 2, ""},
    {"Tanh", 6, 1, ""},
    {"Transpose", 1, 1, "perm:INTS"},
};

const Kind* kind_of(std::string_view name, std::int64_t opset) {
  const Kind* found = nullptr;
  for (const Kind& kind : kinds)
    if (kind.name == name && kind.since <= opset) found = &kind;
  return found;
}

std::string name_and_type(const onnx::AttributeProto& attribute) {
  return fmt::format("{}:{}", attribute.name(), onnx::AttributeProto_AttributeType_Name(attribute.type()));
}

bool leaves_pads_to_be_found(const onnx::AttributeProto& attribute) {
  return attribute.name() == "auto_pad" && attribute.s() != "NOTSET";
}

std::string operator_of(const onnx::NodeProto& node) {
  return fmt::format("{}\n{}", is_default_domain(node.domain()) ? "" : node.domain(), node.op_type());
}

/// The operator and which attributes it has. What they hold is compared elsewhere, or has moved to another file.
std::string form_of(const onnx::NodeProto& node) {
  std::vector<std::string> parts;
  for (const onnx::AttributeProto& attribute : node.attribute())
    parts.push_back(name_and_type(attribute) + (leaves_pads_to_be_found(attribute) ? attribute.s() : ""));
  std::sort(parts.begin(), parts.end());
  std::string form = operator_of(node) + "\n";
  for (const std::string& part : parts) form += fmt::format("{}:{}", part.size(), part);
  return form;
}

bool is_listed(std::string_view attributes, std::string_view name_and_type) {
  while (!attributes.empty()) {
    const std::size_t end = std::min(attributes.find(' '), attributes.size());
    if (attributes.substr(0, end) == name_and_type) return true;
    attributes.remove_prefix(std::min(end + 1, attributes.size()));
  }
  return false;
}

const Kind* kind_of(const onnx::NodeProto& node, const onnx::ModelProto& model) {
  const std::int64_t opset = opset_of(model, node);
  return is_default_domain(node.domain()) && opset > 0 ? kind_of(node.op_type(), opset) : nullptr;
}

std::string trouble_with_attributes(const onnx::NodeProto& node, const onnx::ModelProto& model) {
  const Kind* const kind = kind_of(node, model);
  if (kind == nullptr) return "which no rewriting writes";
  bool finds_pads = false, lists_pads = false;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!is_listed(kind->attributes, name_and_type(attribute)))
      return fmt::format("with an attribute {} that ONNX does not know for it", in_quotes(attribute.name()));
    finds_pads = finds_pads || leaves_pads_to_be_found(attribute);
    lists_pads = lists_pads || attribute.name() == "pads";
  }
  return finds_pads && lists_pads ? "with pads beside auto_pad" : "";
}

/// What the nodes of a model say that has been there before.
class Familiar {
 public:
  explicit Familiar(const Model& model) {
    for (const onnx::NodeProto& node : model.proto().graph().node()) {
      forms_.insert(form_of(node));
      int& most = operands_[operator_of(node)];
      most = std::max(most, node.input_size());
    }
  }

  std::string trouble_with(const onnx::NodeProto& node, const onnx::ModelProto& model) const {
    if (!forms_.contains(form_of(node)))
      if (std::string trouble = trouble_with_attributes(node, model); !trouble.empty()) return trouble;
    const auto most = operands_.find(operator_of(node));
    if (most != operands_.end() && node.input_size() <= most->second) return "";
    const Kind* const kind = kind_of(node, model);
    return kind != nullptr && node.input_size() > kind->operands ? "with more operands than ONNX has for it" : "";
  }

 private:
  std::unordered_set<std::string> forms_;
  std::map<std::string, int> operands_;  // of each operator, at most
};

}  // namespace

std::string trouble_with_new_nodes(const Model& before, const Model& after) {
  const Familiar familiar(before);
  for (const onnx::NodeProto& node : after.proto().graph().node())
    if (const std::string trouble = familiar.trouble_with(node, after.proto()); !trouble.empty())
      return fmt::format("the output has a node {} ({}) {}",
                         in_quotes(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name()),
                         in_quotes(node.op_type()), trouble);
  return "";
}

}  // namespace taso
