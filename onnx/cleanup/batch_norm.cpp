// Folds batch normalisation at inference, a scale and a shift per channel, into the weights of the operator before it.
#include <cmath>

#include "onnx/cleanup/passes.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx::cleanup {
namespace {

/// y = scale · x + shift, per channel.
struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Array> read_constant(const Context& context, const std::string& name) {
  const proto::TensorProto* tensor = context.edit.constant(name);
  if (tensor == nullptr || element_type_from_onnx(tensor->data_type()) == ElementType::undefined) return std::nullopt;
  if (raw_bytes_of(*tensor).value_or(SIZE_MAX) > context.options.memory_limit) return std::nullopt;
  return read_tensor(*tensor, context.edit.folder());
}

std::optional<Affine> read_affine(const Context& context, const proto::NodeProto& norm, double epsilon) {
  std::vector<std::vector<double>> parameters;
  for (int i = 1; i < 5; ++i) {
    const auto array = read_constant(context, norm.input(i));
    if (!array) return std::nullopt;
    parameters.push_back(array->doubles());
  }
  Affine affine;
  for (std::size_t c = 0; c < parameters[0].size(); ++c) {
    const double spread = std::sqrt(parameters[3][c] + epsilon);
    const double scale = parameters[0][c] / spread;
    const double shift = parameters[1][c] - parameters[2][c] * scale;
    if (!(spread > 0) || !std::isfinite(scale) || !std::isfinite(shift)) return std::nullopt;
    affine.scale.push_back(scale);
    affine.shift.push_back(shift);
  }
  return affine;
}

/// Where the output channels are in a weight.
struct Channels {
  std::size_t axis = 0;
  std::size_t groups = 1;  ///< of a transposed convolution: the axis runs over the channels of one group
};

std::size_t count_of(const Channels& channels, const Array& weight) {
  return static_cast<std::size_t>(weight.extents()[channels.axis]) * channels.groups;
}

/// The weight with each slice along the channels scaled, computed in double and rounded once; nothing if a number
/// overflows.
std::optional<Array> scaled(const Array& weight, const Channels& channels, const std::vector<double>& scale) {
  Array result(weight.type(), weight.extents());
  const auto run = static_cast<std::size_t>(strides_of(weight.extents())[channels.axis]);
  const auto own = static_cast<std::size_t>(weight.extents()[channels.axis]);
  // The first axis of a transposed convolution's weight runs over the groups and the input channels of each.
  const std::size_t rows = channels.groups == 1 ? 1 : static_cast<std::size_t>(weight.extents()[0]) / channels.groups;
  const auto channel_at = [&](std::size_t slice) {
    return channels.groups == 1 ? slice % own : slice / own / rows * own + slice % own;
  };
  bool finite = true;
  with_element_type(weight.type(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      const auto from = weight.values<T>();
      const auto to = result.mutable_values<T>();
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      for (std::size_t begin = 0; begin < from.size(); begin += run) {
        const double factor = scale[channel_at(begin / run)];
        for (std::size_t i = begin; i < begin + run; ++i) {
          const auto value = static_cast<Wide>(static_cast<double>(static_cast<Wide>(from[i])) * factor);
          to[i] = static_cast<T>(value);
          finite = finite && std::isfinite(static_cast<Wide>(to[i]));
        }
      }
    }
  });
  return finite && is_floating(weight.type()) ? std::optional(result) : std::nullopt;
}

std::optional<Array> new_bias(const std::optional<Array>& bias, const Affine& affine, ElementType type) {
  // One number per channel, in a row. A column of as many numbers is one per sample.
  if (bias && bias->size() > 1 && bias->extents().back() != bias->size()) return std::nullopt;
  const auto old = bias ? bias->doubles() : std::vector<double>(affine.scale.size(), 0.0);
  if (old.size() != affine.scale.size()) return std::nullopt;
  std::vector<double> values;
  for (std::size_t c = 0; c < old.size(); ++c) values.push_back(old[c] * affine.scale[c] + affine.shift[c]);
  const Array result = Array::of<double>({static_cast<std::int64_t>(values.size())}, values).cast(type);
  for (const double value : result.doubles())
    if (!std::isfinite(value)) return std::nullopt;
  return result;
}

/// The output channels in the weight of a node; nothing if a norm cannot be folded into it.
std::optional<Channels> channels_of(const Context& context, const proto::NodeProto& node) {
  if (!is_default_domain(node.domain())) return std::nullopt;
  if (node.op_type() == "Conv") return Channels{};
  if (node.op_type() == "ConvTranspose") {
    const Operator* const op = context.imported.values.at(node.output(0)).node->as_operator();
    const auto* const conv = op != nullptr ? std::get_if<op::ConvTranspose>(op) : nullptr;
    if (conv == nullptr) return std::nullopt;
    return Channels{1, static_cast<std::size_t>(conv->groups)};
  }
  if (node.op_type() != "Gemm") return std::nullopt;
  std::size_t axis = 1;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "transB" && attribute.i() != 0) axis = 0;
    // The bias is scaled by beta, so a shift can be added to it only if beta is 1.
    if (attribute.name() == "beta" && attribute.f() != 1.0F) return std::nullopt;
  }
  return Channels{axis, 1};
}

bool fold(const Context& context, const proto::NodeProto& norm) {
  GraphEdit& edit = context.edit;
  const auto value = context.imported.values.find(norm.output(0));
  if (value == context.imported.values.end() || value->second.node->as_operator() == nullptr) return false;
  const auto* batch_norm = std::get_if<op::BatchNorm>(value->second.node->as_operator());
  if (batch_norm == nullptr || norm.input_size() != 5) return false;

  const proto::NodeProto* before = edit.producer(norm.input(0));
  if (before == nullptr || opset_of(edit.model(), *before) == 0 || before->output_size() != 1 ||
      edit.uses(norm.input(0)) != 1)
    return false;
  const auto channels = channels_of(context, *before);
  if (!channels || before->input_size() < 2) return false;
  // A weight with other users would be in the file twice.
  const std::string weight_name = before->input(1);
  if (edit.uses(weight_name) != 1) return false;
  const auto weight = read_constant(context, weight_name);
  if (!weight || weight->rank() <= channels->axis || weight->size() == 0) return false;
  const bool has_bias = before->input_size() > 2 && !before->input(2).empty();
  const auto bias = has_bias ? read_constant(context, before->input(2)) : std::nullopt;
  if (has_bias && !bias) return false;

  const auto affine = read_affine(context, norm, batch_norm->epsilon);
  if (!affine || affine->scale.size() != count_of(*channels, *weight)) return false;
  const auto folded_weight = scaled(*weight, *channels, affine->scale);
  const auto folded_bias = new_bias(bias, *affine, weight->type());
  if (!folded_weight || !folded_bias) return false;

  const std::string output = norm.output(0);
  const std::string new_weight = edit.fresh_name(weight_name + "_folded");
  const std::string bias_name = edit.fresh_name((has_bias ? before->input(2) : weight_name + "_bias") + "_folded");
  edit.add_constant(new_weight, *folded_weight);
  edit.add_constant(bias_name, *folded_bias);
  edit.remove(norm);
  edit.modify(*before, [&](proto::NodeProto& copy) {
    copy.set_input(1, new_weight);
    while (copy.input_size() < 3) copy.add_input("");
    copy.set_input(2, bias_name);
    copy.set_output(0, output);
  });
  return true;
}

}  // namespace

void batch_norm(const Context& context) {
  context.edit.for_each_node([&](const proto::NodeProto& node) {
    std::string name = name_of(node);
    if (node.op_type() == "BatchNormalization" && is_default_domain(node.domain()) && node.output_size() >= 1 &&
        fold(context, node))
      context.done.push_back(std::move(name));
  });
}

}  // namespace taso::onnx::cleanup
