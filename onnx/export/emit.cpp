#include "onnx/export/emit.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// The emission of one operator.
class Emission {
 public:
  Emission(std::span<const Type> input_types, std::span<const std::string> inputs, std::span<const Type> output_types,
           std::span<const std::string> outputs, NodeSink& sink)
      : input_types_(input_types), inputs_(inputs), output_types_(output_types), outputs_(outputs), sink_(sink) {}

  // --- Element-wise ---
  template <class Op>
  requires requires { Op::onnx; }
  void operator()(const Op&) {
    need(Op::onnx.since, Op::onnx.name);
    plain(Op::onnx.name);
  }
  void operator()(const op::Mul&) { plain("Mul"); }
  void operator()(const op::ScalarMul&) { plain("Mul"); }
  void operator()(const op::Max&) { extreme("Max"); }
  void operator()(const op::Min&) { extreme("Min"); }
  void operator()(const op::LeakyRelu& op) { add_float(*plain("LeakyRelu"), "alpha", op.alpha); }
  void operator()(const op::Silu&) {
    if (opset() >= 24)
      plain("Swish");
    else
      node("Mul", {inputs_[0], step("Sigmoid", {inputs_[0]})}, {outputs_[0]});
  }
  void operator()(const op::Clip& op) {
    if (opset() < 11) {
      auto& node = *plain("Clip");
      if (std::isfinite(op.low)) add_float(node, "min", op.low);
      if (std::isfinite(op.high)) add_float(node, "max", op.high);
      return;
    }
    std::vector<std::string> operands{inputs_[0], "", ""};
    if (op.low != -std::numeric_limits<double>::infinity()) operands[1] = number(op.low);
    if (op.high != std::numeric_limits<double>::infinity()) operands[2] = number(op.high);
    while (operands.back().empty()) operands.pop_back();
    node("Clip", operands, {outputs_[0]});
  }
  void operator()(const op::Gelu& op) {
    if (opset() >= 20) {
      auto& gelu = *plain("Gelu");
      if (op.tanh) add_text(gelu, "approximate", "tanh");
      return;
    }
    if (op.tanh) {  // x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
      const std::string square = step("Mul", {inputs_[0], inputs_[0]});
      const std::string cube = step("Mul", {square, inputs_[0]});
      const std::string bent = step("Add", {inputs_[0], step("Mul", {cube, number(0.044715)})});
      const std::string scaled = step("Mul", {bent, number(std::sqrt(2 / std::acos(-1.0)))});
      finish_gelu(step("Tanh", {scaled}));
    } else {  // x/2 · (1 + erf(x / √2))
      need(9, "Erf");
      finish_gelu(step("Erf", {step("Div", {inputs_[0], number(std::sqrt(2.0))})}));
    }
  }
  void operator()(const op::HardSwish&) {
    if (opset() >= 14) {
      plain("HardSwish");
      return;
    }
    auto& gate = *node("HardSigmoid", {inputs_[0]}, {temporary()});
    add_float(gate, "alpha", 1.0 / 6);
    add_float(gate, "beta", 0.5);
    node("Mul", {inputs_[0], gate.output(0)}, {outputs_[0]});
  }

  // --- Linear algebra ---
  void operator()(const op::MatMul&) { plain("MatMul"); }
  void operator()(const op::Conv& op) {
    auto& conv = *plain("Conv");
    add_integers(conv, "strides", op.strides);
    add_integers(conv, "dilations", op.dilations);
    add_integers(conv, "pads", op.pads);
    add_integer(conv, "group", op.groups);
  }
  void operator()(const op::ConvTranspose& op) {
    auto& conv = *plain("ConvTranspose");
    add_integers(conv, "strides", op.strides);
    add_integers(conv, "dilations", op.dilations);
    add_integers(conv, "pads", op.pads);
    if (op.output_padding != Integers(op.output_padding.size(), 0))
      add_integers(conv, "output_padding", op.output_padding);
    add_integer(conv, "group", op.groups);
  }
  void operator()(const op::Transpose& op) { add_integers(*plain("Transpose"), "perm", op.permutation); }

  // --- Pooling ---
  void operator()(const op::AveragePool& op) {
    auto& pool = *plain("AveragePool");
    add_window(pool, op);
    if (op.count_padding) add_integer(pool, "count_include_pad", 1);
    if (any_above_one(op.dilations)) {
      need(19, "dilated AveragePool");
      add_integers(pool, "dilations", op.dilations);
    }
    if (op.ceil) {
      need(10, "AveragePool with ceil_mode");
      add_integer(pool, "ceil_mode", 1);
    }
  }
  void operator()(const op::MaxPool& op) {
    auto& pool = *plain("MaxPool");
    add_window(pool, op);
    if (any_above_one(op.dilations)) {
      need(10, "dilated MaxPool");
      add_integers(pool, "dilations", op.dilations);
    }
    if (op.ceil) {
      need(10, "MaxPool with ceil_mode");
      add_integer(pool, "ceil_mode", 1);
    }
  }
  void operator()(const op::GlobalAveragePool&) { plain("GlobalAveragePool"); }

  void operator()(const op::LocalResponseNorm& op) {
    auto& norm = *plain("LRN");
    add_integer(norm, "size", op.size);
    add_float(norm, "alpha", op.alpha);
    add_float(norm, "beta", op.beta);
    add_float(norm, "bias", op.bias);
  }

  // --- Geometry ---
  void operator()(const op::Concat& op) { add_integer(*plain("Concat"), "axis", op.axis); }
  void operator()(const op::Split& op) {
    std::vector<Dim> parts;  // two, or more if the writer has merged splits
    for (const Type& type : output_types_) parts.push_back((*type.shape)[static_cast<std::size_t>(op.axis)]);
    // Equal parts need no lengths, so these may be unknown.
    const bool are_equal = !parts[0].is_static() &&
                           std::all_of(parts.begin(), parts.end(), [&](const Dim& part) { return part == parts[0]; });
    const Integers lengths = are_equal ? Integers() : numbers(parts, "Split");
    std::vector<std::string> operands{inputs_[0]};
    if (opset() >= 13 && !are_equal) operands.push_back(list(lengths));
    auto& split = *node("Split", operands, {outputs_.begin(), outputs_.end()});
    add_integer(split, "axis", op.axis);
    if (opset() < 13 && !are_equal) add_integers(split, "split", lengths);
    if (opset() >= 18 && are_equal) add_integer(split, "num_outputs", static_cast<std::int64_t>(parts.size()));
  }
  void operator()(const op::Slice& op) {
    const Dim size = (*input_types_[0].shape)[static_cast<std::size_t>(op.axis)];
    const Integers begin = numbers({op.begin}, "Slice");
    // The end of an unknown dimension can still be expressed.
    const Integers end = op.end == size && !size.is_static()       ? Integers{std::numeric_limits<std::int64_t>::max()}
                         : op.end == size - 1 && !size.is_static() ? Integers{-1}
                                                                   : numbers({op.end}, "Slice");
    if (opset() >= 10) {
      node("Slice", {inputs_[0], list(begin), list(end), list({op.axis})}, {outputs_[0]});
      return;
    }
    auto& slice = *plain("Slice");
    add_integers(slice, "starts", begin);
    add_integers(slice, "ends", end);
    add_integers(slice, "axes", {op.axis});
  }
  void operator()(const op::Pad& op) { pad(op.before, op.after, op.value); }
  void operator()(const op::Enlarge& op) {
    const Shape& from = *input_types_[0].shape;
    Integers before(from.size(), 0), after(from.size(), 0);
    for (std::size_t i = 2; i < from.size(); ++i) {
      const std::int64_t added = op.kernel[i - 2] - numbers({from[i]}, "Pad").front();
      before[i] = added / 2;
      after[i] = added - added / 2;
    }
    pad(before, after, 0);
  }
  void operator()(const op::Reshape& op) {
    const Shape& from = *input_types_[0].shape;
    Integers target;
    bool open = false, zero = false, copies = false;
    for (std::size_t i = 0; i < op.shape.size(); ++i) {
      const Dim& dim = op.shape[i];
      if (dim.is_static()) {
        target.push_back(dim.value());
        zero = zero || dim == Dim(0);
      } else if (i < from.size() && from[i] == dim) {
        target.push_back(0);
        copies = true;
      } else if (!open) {
        target.push_back(-1);
        open = true;
      } else {
        throw InputError(fmt::format("Reshape to {} needs dimensions known only at run time", text_of(op.shape)));
      }
    }
    // In one node, 0 means either an empty dimension or a copied one.
    if (zero && (open || copies || opset() < 14)) throw InputError("Reshape to an empty tensor");
    auto& reshape = *node("Reshape", {inputs_[0], list(target)}, {outputs_[0]});
    if (zero) add_integer(reshape, "allowzero", 1);
  }

  // --- Normalisation and reduction ---
  void operator()(const op::BatchNorm& op) { add_float(*plain("BatchNormalization"), "epsilon", op.epsilon); }
  void operator()(const op::LayerNorm& op) {
    if (opset() >= 17) {
      auto& norm = *plain("LayerNormalization");
      add_integer(norm, "axis", op.axis);
      add_float(norm, "epsilon", op.epsilon);
      return;
    }
    Integers axes(input_types_[0].shape->size() - static_cast<std::size_t>(op.axis));
    std::iota(axes.begin(), axes.end(), op.axis);
    const std::string mean = temporary(), variance = temporary();
    reduce("ReduceMean", inputs_[0], mean, axes, true);
    const std::string centred = step("Sub", {inputs_[0], mean});
    reduce("ReduceMean", step("Mul", {centred, centred}), variance, axes, true);
    const std::string spread = step("Sqrt", {step("Add", {variance, number(op.epsilon)})});
    const std::string normal = step("Div", {centred, spread});
    if (inputs_.size() == 2)
      node("Mul", {normal, inputs_[1]}, {outputs_[0]});
    else
      node("Add", {step("Mul", {normal, inputs_[1]}), inputs_[2]}, {outputs_[0]});
  }
  void operator()(const op::Softmax& op) {
    // Before opset 13 a softmax runs over all axes from its axis on.
    if (opset() < 13 && op.axis + 1 != static_cast<std::int64_t>(input_types_[0].shape->size()))
      throw InputError("Softmax over an inner axis before opset 13");
    add_integer(*plain("Softmax"), "axis", op.axis);
  }
  void operator()(const op::ReduceSum& op) { reduce("ReduceSum", inputs_[0], outputs_[0], op.axes, op.keep); }
  void operator()(const op::ReduceMean& op) { reduce("ReduceMean", inputs_[0], outputs_[0], op.axes, op.keep); }
  void operator()(const op::ReduceMax& op) { reduce("ReduceMax", inputs_[0], outputs_[0], op.axes, op.keep); }

  // --- Constants ---
  void operator()(const op::IdentityMatrix& op) { constant(Operator(op)); }
  void operator()(const op::IdentityKernel& op) { constant(Operator(op)); }
  void operator()(const op::PoolingKernel& op) { constant(Operator(op)); }
  void operator()(const op::Ones& op) { constant(Operator(op)); }

 private:
  std::int64_t opset() const { return sink_.opset(); }
  void need(std::int64_t version, std::string_view what) const {
    if (opset() < version) throw InputError(fmt::format("{} needs opset {}", what, version));
  }
  ElementType element() const { return output_types_[0].element; }

  proto::NodeProto* node(std::string_view op_type, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
    auto made = std::make_unique<proto::NodeProto>();
    made->set_op_type(std::string(op_type));
    made->set_name(sink_.fresh_name(fmt::format("{}/{}", outputs_[0], op_type)));
    for (const std::string& input : inputs) made->add_input(input);
    for (const std::string& output : outputs) made->add_output(output);
    nodes_.push_back(std::move(made));
    return nodes_.back().get();
  }
  /// Writes the operator as one ONNX node, with operands and results as they are.
  proto::NodeProto* plain(std::string_view op_type) {
    return node(op_type, {inputs_.begin(), inputs_.end()}, {outputs_.begin(), outputs_.end()});
  }
  std::string temporary() { return sink_.fresh_name(outputs_[0] + "/part"); }
  std::string step(std::string_view op_type, const std::vector<std::string>& inputs) {
    const std::string name = temporary();
    node(op_type, inputs, {name});
    return name;
  }
  void extreme(std::string_view op_type) {
    if (input_types_[0].shape != input_types_[1].shape) need(8, "broadcasting in Max and Min");
    plain(op_type);
  }
  void finish_gelu(const std::string& curve) {
    const std::string gate = step("Add", {curve, number(1)});
    node("Mul", {step("Mul", {inputs_[0], gate}), number(0.5)}, {outputs_[0]});
  }
  std::string number(double value) { return sink_.add_constant(Array::scalar(value).cast(element())); }
  std::string list(const Integers& values) {
    return sink_.add_constant(Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  static Integers numbers(const std::vector<Dim>& dims, std::string_view what) {
    const auto known = static_extents(dims);
    if (!known) throw InputError(fmt::format("{} with a position that is known only at run time", what));
    return *known;
  }

  void pad(const Integers& before, const Integers& after, double value) {
    Integers pads = before;
    pads.insert(pads.end(), after.begin(), after.end());
    if (opset() >= 11) {
      node("Pad", {inputs_[0], list(pads), number(value)}, {outputs_[0]});
      return;
    }
    auto& node = *plain("Pad");
    add_integers(node, "pads", pads);
    add_float(node, "value", value);
  }
  void reduce(std::string_view op_type, const std::string& input, const std::string& output, const Integers& axes,
              bool keep) {
    if (axes.empty()) {  // ONNX takes an empty list as all axes
      node("Identity", {input}, {output});
      return;
    }
    const bool as_operand = opset() >= (op_type == "ReduceSum" ? 13 : 18);
    std::vector<std::string> operands{input};
    if (as_operand) operands.push_back(list(axes));
    auto& reduction = *node(op_type, operands, {output});
    if (!as_operand) add_integers(reduction, "axes", axes);
    add_integer(reduction, "keepdims", keep ? 1 : 0);
  }
  void constant(const Operator& op) {
    const auto tensor = evaluate<double>(op, {}).front();
    const std::string name = sink_.add_constant(Array::of<double>(tensor.extents, tensor.data).cast(element()));
    node("Identity", {name}, {outputs_[0]});
  }
  template <class Pool>
  void add_window(proto::NodeProto& node, const Pool& op) {
    add_integers(node, "kernel_shape", op.kernel);
    add_integers(node, "strides", op.strides);
    add_integers(node, "pads", op.pads);
  }
  static bool any_above_one(const Integers& values) {
    return std::any_of(values.begin(), values.end(), [](std::int64_t value) { return value > 1; });
  }

  static proto::AttributeProto& attribute(proto::NodeProto& node, std::string_view name,
                                          proto::AttributeProto::AttributeType type) {
    auto& added = *node.add_attribute();
    added.set_name(std::string(name));
    added.set_type(type);
    return added;
  }
  static void add_integer(proto::NodeProto& node, std::string_view name, std::int64_t value) {
    attribute(node, name, proto::AttributeProto::INT).set_i(value);
  }
  static void add_integers(proto::NodeProto& node, std::string_view name, const Integers& values) {
    auto& list = attribute(node, name, proto::AttributeProto::INTS);
    for (const std::int64_t value : values) list.add_ints(value);
  }
  static void add_float(proto::NodeProto& node, std::string_view name, double value) {
    attribute(node, name, proto::AttributeProto::FLOAT).set_f(static_cast<float>(value));
  }
  static void add_text(proto::NodeProto& node, std::string_view name, const std::string& value) {
    attribute(node, name, proto::AttributeProto::STRING).set_s(value);
  }

 public:
  /// Adds the nodes to the sink. This comes last, so that an operator that cannot be expressed leaves nothing behind.
  void deliver() {
    for (auto& node : nodes_) sink_.add_node(std::move(node));
  }

 private:
  std::span<const Type> input_types_;
  std::span<const std::string> inputs_;
  std::span<const Type> output_types_;
  std::span<const std::string> outputs_;
  NodeSink& sink_;
  std::vector<std::unique_ptr<proto::NodeProto>> nodes_;
};

}  // namespace

void emit(const Operator& op, std::span<const Type> input_types, std::span<const std::string> inputs,
          std::span<const Type> output_types, std::span<const std::string> outputs, NodeSink& sink) {
  Emission emission(input_types, inputs, output_types, outputs, sink);
  std::visit(emission, op);
  emission.deliver();
}

}  // namespace taso::onnx
