// Random damage to a model that keeps it a message, so that it gets further than random bytes do.
#pragma once

#include <random>

#include "tests/onnx/build_model.h"

namespace taso::test {

class ModelMutator {
 public:
  explicit ModelMutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }

  void mutate(proto::ModelProto& model) {
    for (std::size_t rounds = 1 + below(3); rounds > 0; --rounds) mutate_once(model);
  }

 private:
  std::int64_t odd_integer() {
    static constexpr std::int64_t odd[] = {0,
                                           -1,
                                           1,
                                           2,
                                           3,
                                           5,
                                           -2,
                                           7,
                                           64,
                                           1 << 10,
                                           1 << 20,
                                           std::int64_t{1} << 31,
                                           1LL << 40,
                                           INT64_MAX,
                                           INT64_MIN,
                                           INT64_MAX - 1,
                                           (1LL << 62) + 1,
                                           -(1LL << 33)};
    return odd[below(std::size(odd))];
  }
  float odd_float() {
    static constexpr float odd[] = {0, -0.0F, 1, -1, 1e-30F, 1e30F, 3e38F, INFINITY, -INFINITY, NAN, 0.5F};
    return odd[below(std::size(odd))];
  }
  std::string any_name(const proto::GraphProto& graph) {
    std::vector<std::string> names{""};
    for (const auto& input : graph.input()) names.push_back(input.name());
    for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
    for (const auto& node : graph.node()) names.insert(names.end(), node.output().begin(), node.output().end());
    return names[below(names.size())];
  }
  std::string any_operator() {
    static constexpr const char* names[] = {"Add",
                                            "Sub",
                                            "Mul",
                                            "Div",
                                            "Pow",
                                            "Max",
                                            "Sum",
                                            "Relu",
                                            "Clip",
                                            "Erf",
                                            "Gelu",
                                            "Cast",
                                            "Identity",
                                            "Dropout",
                                            "MatMul",
                                            "Gemm",
                                            "Conv",
                                            "ConvTranspose",
                                            "Transpose",
                                            "Concat",
                                            "Split",
                                            "Slice",
                                            "Pad",
                                            "Reshape",
                                            "Flatten",
                                            "Squeeze",
                                            "Unsqueeze",
                                            "Expand",
                                            "Tile",
                                            "Range",
                                            "ConstantOfShape",
                                            "Shape",
                                            "Size",
                                            "Gather",
                                            "GatherND",
                                            "GatherElements",
                                            "ScatterND",
                                            "ScatterElements",
                                            "Where",
                                            "OneHot",
                                            "EyeLike",
                                            "Trilu",
                                            "TopK",
                                            "ArgMax",
                                            "CumSum",
                                            "NonZero",
                                            "Resize",
                                            "Upsample",
                                            "DepthToSpace",
                                            "SpaceToDepth",
                                            "ReverseSequence",
                                            "Compress",
                                            "Unique",
                                            "ReduceSum",
                                            "ReduceMean",
                                            "ReduceMax",
                                            "ReduceProd",
                                            "ReduceL2",
                                            "Softmax",
                                            "LogSoftmax",
                                            "Hardmax",
                                            "BatchNormalization",
                                            "LayerNormalization",
                                            "InstanceNormalization",
                                            "GroupNormalization",
                                            "LRN",
                                            "LpPool",
                                            "MaxPool",
                                            "AveragePool",
                                            "GlobalAveragePool",
                                            "GlobalMaxPool",
                                            "MaxUnpool",
                                            "RoiAlign",
                                            "GridSample",
                                            "NonMaxSuppression",
                                            "QuantizeLinear",
                                            "DequantizeLinear",
                                            "DynamicQuantizeLinear",
                                            "QLinearMatMul",
                                            "QLinearConv",
                                            "MatMulInteger",
                                            "ConvInteger",
                                            "Einsum",
                                            "Det",
                                            "Mod",
                                            "BitShift",
                                            "BitwiseAnd",
                                            "Equal",
                                            "Less",
                                            "And",
                                            "Not",
                                            "IsNaN",
                                            "Sign",
                                            "Floor",
                                            "Round",
                                            "LSTM",
                                            "GRU",
                                            "RNN",
                                            "DFT",
                                            "STFT",
                                            "HannWindow",
                                            "MelWeightMatrix",
                                            "CenterCropPad",
                                            "Col2Im",
                                            "Attention",
                                            "SoftmaxCrossEntropyLoss",
                                            "NegativeLogLikelihoodLoss",
                                            "Bernoulli",
                                            "RandomNormalLike",
                                            "Constant",
                                            "If",
                                            "Loop",
                                            "Scan",
                                            "SequenceConstruct",
                                            "Optional",
                                            "StringNormalizer",
                                            "RotaryEmbedding",
                                            "RMSNormalization",
                                            "Swish",
                                            "TensorScatter",
                                            "AffineGrid",
                                            "DeformConv",
                                            "ImageDecoder"};
    return names[below(std::size(names))];
  }

  void mutate_once(proto::ModelProto& model) {
    auto& graph = *model.mutable_graph();
    if (graph.node_size() == 0) return;
    auto& node = *graph.mutable_node(static_cast<int>(below(static_cast<std::size_t>(graph.node_size()))));
    switch (below(13)) {
      case 0: node.set_op_type(any_operator()); break;
      case 1:
        if (node.input_size() > 0)
          node.set_input(static_cast<int>(below(static_cast<std::size_t>(node.input_size()))), any_name(graph));
        break;
      case 2: mutate_attribute(graph, node); break;
      case 3:
      case 4: mutate_tensor(graph); break;
      case 5:
      case 6: mutate_declaration(graph); break;
      case 7: mutate_arity(graph, node); break;
      case 8: model.mutable_opset_import(0)->set_version(static_cast<std::int64_t>(1 + below(25))); break;
      case 9: model.set_ir_version(static_cast<std::int64_t>(3 + below(8))); break;
      case 10: {
        auto& output = *graph.mutable_output(0);
        output.set_name(any_name(graph));
        break;
      }
      case 11: {  // an input that is the default of a constant, or a constant that no longer is one
        if (graph.initializer_size() == 0) break;
        const auto& tensor =
            graph.initializer(static_cast<int>(below(static_cast<std::size_t>(graph.initializer_size()))));
        declare(*graph.add_input(), tensor.name(), Dims(tensor.dims().begin(), tensor.dims().end()),
                tensor.data_type());
        break;
      }
      default: {
        auto& copy = *graph.add_node();
        copy = node;
        for (auto& output : *copy.mutable_output())
          if (!output.empty()) output += "_copy";
        if (copy.output_size() > 0 && below(2) == 0) graph.add_output()->set_name(copy.output(0));
      }
    }
  }

  void mutate_attribute(proto::GraphProto& graph, proto::NodeProto& node) {
    if (node.attribute_size() == 0 || below(5) == 0) {
      // An attribute of another node, which means something else here or nothing.
      const auto& other = graph.node(static_cast<int>(below(static_cast<std::size_t>(graph.node_size()))));
      if (other.attribute_size() > 0) *node.add_attribute() = other.attribute(0);
      return;
    }
    const int index = static_cast<int>(below(static_cast<std::size_t>(node.attribute_size())));
    auto& attribute = *node.mutable_attribute(index);
    switch (below(4)) {
      case 0: node.mutable_attribute()->DeleteSubrange(index, 1); break;
      case 1:
        attribute.set_i(odd_integer());
        for (auto& value : *attribute.mutable_ints())
          if (below(2) == 0) value = odd_integer();
        attribute.set_f(odd_float());
        break;
      case 2:
        if (below(2) == 0 && attribute.ints_size() > 0)
          attribute.mutable_ints()->RemoveLast();
        else
          attribute.add_ints(odd_integer());
        break;
      default: attribute.set_type(static_cast<proto::AttributeProto::AttributeType>(1 + below(10)));
    }
  }

  void mutate_tensor(proto::GraphProto& graph) {
    if (graph.initializer_size() == 0) return;
    auto& tensor =
        *graph.mutable_initializer(static_cast<int>(below(static_cast<std::size_t>(graph.initializer_size()))));
    std::string bytes = tensor.raw_data();
    switch (below(4)) {
      case 0:
        if (tensor.data_type() == proto::TensorProto::INT64 && bytes.size() >= 8) {
          const std::int64_t value = odd_integer();
          bytes.replace(below(bytes.size() / 8) * 8, 8, reinterpret_cast<const char*>(&value), 8);
        } else if (bytes.size() >= 4) {
          const float value = odd_float();
          bytes.replace(below(bytes.size() / 4) * 4, 4, reinterpret_cast<const char*>(&value), 4);
        }
        tensor.set_raw_data(bytes);
        break;
      case 1:  // another rank
        if (below(2) == 0)
          tensor.add_dims(1);
        else if (tensor.dims_size() > 0)
          tensor.mutable_dims()->SwapElements(0, tensor.dims_size() - 1);
        break;
      case 2:  // one element, or none
        tensor.clear_dims();
        if (below(2) == 0) tensor.add_dims(static_cast<std::int64_t>(below(2)));
        tensor.set_raw_data(tensor.dims_size() > 0 && tensor.dims(0) == 0
                                ? ""
                                : bytes.substr(0, tensor.data_type() == proto::TensorProto::INT64 ? 8 : 4));
        break;
      default: {  // a type of the same size
        const bool wide = tensor.data_type() == proto::TensorProto::INT64;
        static constexpr int wides[] = {7, 11, 13}, narrows[] = {1, 6, 12};
        tensor.set_data_type(wide ? wides[below(3)] : narrows[below(3)]);
      }
    }
  }

  void mutate_declaration(proto::GraphProto& graph) {
    if (graph.input_size() == 0) return;
    auto& input = *graph.mutable_input(static_cast<int>(below(static_cast<std::size_t>(graph.input_size()))));
    auto& type = *input.mutable_type()->mutable_tensor_type();
    if (below(4) == 0) type.set_elem_type(static_cast<int>(1 + below(18)));
    if (below(6) == 0) type.clear_shape();
    if (!type.has_shape()) return;
    auto& shape = *type.mutable_shape();
    if (shape.dim_size() == 0 || below(5) == 0) {
      shape.add_dim()->set_dim_value(1);
      return;
    }
    auto& dim = *shape.mutable_dim(static_cast<int>(below(static_cast<std::size_t>(shape.dim_size()))));
    if (below(3) == 0)
      dim.set_dim_param(below(2) == 0 ? "N" : "M");
    else
      dim.set_dim_value(odd_integer());
  }

  void mutate_arity(proto::GraphProto& graph, proto::NodeProto& node) {
    switch (below(4)) {
      case 0: node.add_input(any_name(graph)); break;
      case 1:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        break;
      case 2: node.add_output("extra" + std::to_string(below(1000))); break;
      default: node.add_output("");
    }
  }

  std::mt19937_64 random_;
};

}  // namespace taso::test
