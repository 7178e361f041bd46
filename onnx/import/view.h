// A model as import sees it: the nodes and weights that count, which may be those of the file or edited ones.
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

/// Everything pointed to belongs to somebody else, and must outlive the view and what is imported from it.
struct ModelView {
  const proto::ModelProto* model = nullptr;
  std::filesystem::path folder;
  std::vector<const proto::ValueInfoProto*> inputs;
  std::vector<const proto::NodeProto*> nodes;  ///< producers before consumers
  std::vector<const proto::TensorProto*> initializers;
};

ModelView view_of(const Model& model);

/// The version of a domain that the model imports; 0 if it imports none. "" and "ai.onnx" are one.
std::int64_t opset_of(const proto::ModelProto& model, std::string_view domain);
/// The version by which a node's operator is to be read; 0 if no version tells, also because the model defines the operator
/// itself, as a function, whatever ONNX may mean by that name; or because the node says what our schema does not know.
std::int64_t opset_of(const proto::ModelProto& model, const proto::NodeProto& node);
bool is_default_domain(std::string_view domain);

/// Names that the node's subgraphs take from the scope around it, in order of first use.
std::vector<std::string> captured_names(const proto::NodeProto& node);

/// How many results the node has, without those at the end that nobody named.
std::size_t outputs_of(const proto::NodeProto& node);

/// The operands that import gives an opaque node: those that it lists, then those that its subgraphs take from around it.
std::vector<std::string> operand_names(const proto::NodeProto& node);
/// Where each of these names is among them.
std::unordered_map<std::string, std::size_t> places_of_operands(const proto::NodeProto& node);

}  // namespace taso::onnx
