// A model as import sees it: its present nodes and weights, from the file or edited.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/model/messages.h"

namespace taso::onnx {

class Model;

/// The view owns nothing. Everything that it points to must outlive it and what is imported from it.
struct ModelView {
  const proto::ModelProto* model = nullptr;
  std::filesystem::path folder;
  std::vector<const proto::ValueInfoProto*> inputs;
  std::vector<const proto::NodeProto*> nodes;  ///< producers before consumers
  std::vector<const proto::TensorProto*> initializers;
};

ModelView view_of(const Model& model);

/// The version of a domain that the model imports; 0 if it imports none. "" and "ai.onnx" are the same domain.
std::int64_t opset_of(const proto::ModelProto& model, std::string_view domain);
/// The opset version of a node's operator. 0 if there is none: the domain is not imported, the model defines the
/// operator itself as a function, or the node has fields that our schema does not know.
std::int64_t opset_of(const proto::ModelProto& model, const proto::NodeProto& node);
bool is_default_domain(std::string_view domain);
/// The domain of operators that only ONNX Runtime has, and the version of it that we know.
inline constexpr std::string_view onnxruntime_domain = "com.microsoft";
inline constexpr std::int64_t onnxruntime_opset = 1;
/// Whether the node is one of these operators. An edit may add the first of them to a model that does not import the
/// domain yet.
bool is_of_onnxruntime(const proto::ModelProto& model, const proto::NodeProto& node);

/// The names that the node's subgraphs take from the outer scope, in order of first use.
std::vector<std::string> captured_names(const proto::NodeProto& node);

/// The number of results of the node, without unnamed ones at the end.
std::size_t outputs_of(const proto::NodeProto& node);

/// The operands that import gives to an opaque node: those that it lists, then those that its subgraphs capture.
std::vector<std::string> operand_names(const proto::NodeProto& node);
/// The index of each name in operand_names().
std::unordered_map<std::string, std::size_t> places_of_operands(const proto::NodeProto& node);

}  // namespace taso::onnx
