#include "onnx/export/frame.h"

#include <unordered_map>

#include <fmt/format.h>

#include "onnx/import/view.h"
#include "onnx/model/message_bytes.h"
#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_content.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/array.h"

namespace taso::onnx {
namespace {

template <class List, class Keep>
std::string bytes_of(const List& list, Keep&& keep) {
  std::string all;
  for (const auto& item : list) {
    if (!keep(item)) continue;
    const std::string bytes = item.SerializeAsString();
    all += fmt::format("{}:", bytes.size()) + bytes;
  }
  return all;
}

template <class List>
std::string bytes_of(const List& list) {
  return bytes_of(list, [](const auto&) { return true; });
}

/// The bytes of messages that contain tensors, compared by their data.
template <class List>
std::string content_bytes_of(const List& list, const Model& model) {
  std::string all;
  for (const auto& item : list) {
    const std::string bytes = content_of(item, model.folder()).SerializeAsString();
    all += fmt::format("{}:", bytes.size()) + bytes;
  }
  return all;
}

using Initializers = std::unordered_map<std::string, const proto::TensorProto*>;

Initializers initializers_of(const proto::ModelProto& model) {
  Initializers all;
  for (const auto& tensor : model.graph().initializer()) all.emplace(tensor.name(), &tensor);
  return all;
}

bool same_tensor(const proto::TensorProto& a, const Model& model, const proto::TensorProto& b, const Model& other) {
  if (a.data_type() != b.data_type()) return false;
  if (element_type_from_onnx(a.data_type()) == ElementType::undefined)
    return content_of(a, model.folder()).SerializeAsString() == content_of(b, other.folder()).SerializeAsString();
  return identical(read_tensor(a, model.folder()), read_tensor(b, other.folder()));
}

}  // namespace

std::string frame_difference(const Model& before, const Model& after, bool may_use_onnxruntime) {
  const proto::ModelProto &a = before.proto(), &b = after.proto();
  const proto::GraphProto &from = a.graph(), &to = b.graph();
  if (a.ir_version() != b.ir_version()) return "the IR version";
  const bool may_import = may_use_onnxruntime && opset_of(a, onnxruntime_domain) == 0;
  const auto is_expected = [&](const proto::OperatorSetIdProto& opset) {
    return !may_import || opset.domain() != onnxruntime_domain || opset.version() != onnxruntime_opset;
  };
  if (bytes_of(a.opset_import()) != bytes_of(b.opset_import(), is_expected)) return "the opset";
  if (content_bytes_of(a.functions(), before) != content_bytes_of(b.functions(), after)) return "the model's functions";
  if (content_bytes_of(a.training_info(), before) != content_bytes_of(b.training_info(), after))
    return "the training information";
  if (a.producer_name() != b.producer_name() || a.producer_version() != b.producer_version() ||
      a.domain() != b.domain() || a.model_version() != b.model_version() || a.doc_string() != b.doc_string() ||
      from.name() != to.name() || from.doc_string() != to.doc_string())
    return "the producer, domain, version, name or documentation";
  const auto is_foreign = [](const proto::StringStringEntryProto& entry) { return !entry.key().starts_with("taso."); };
  if (bytes_of(a.metadata_props(), is_foreign) != bytes_of(b.metadata_props(), is_foreign)) return "the metadata";
  if (bytes_of(from.quantization_annotation()) != bytes_of(to.quantization_annotation()))
    return "the quantization annotations";
  if (content_bytes_of(from.sparse_initializer(), before) != content_bytes_of(to.sparse_initializer(), after))
    return "the sparse weights";
  if (bytes_of(from.output()) != bytes_of(to.output())) return "the outputs";

  // All other fields, including those of future schemas.
  using InModel = proto::ModelProto;
  using InGraph = proto::GraphProto;
  const auto rest_of = [](const proto::ModelProto& model) {
    return bytes_without(model,
                         {InModel::kGraphFieldNumber, InModel::kFunctionsFieldNumber, InModel::kTrainingInfoFieldNumber,
                          InModel::kMetadataPropsFieldNumber, InModel::kOpsetImportFieldNumber});
  };
  const auto rest_of_graph = [](const proto::GraphProto& graph) {
    return bytes_without(
        graph, {InGraph::kNodeFieldNumber, InGraph::kInitializerFieldNumber, InGraph::kSparseInitializerFieldNumber,
                InGraph::kInputFieldNumber, InGraph::kOutputFieldNumber, InGraph::kValueInfoFieldNumber});
  };
  if (rest_of(a) != rest_of(b) || rest_of_graph(from) != rest_of_graph(to)) return "a field outside of the nodes";

  // Below IR 4 every initializer is listed as an input and is still a constant.
  const Initializers old_weights = initializers_of(a), new_weights = initializers_of(b);
  const bool constants = a.ir_version() < 4;
  const auto inputs_of = [&](const proto::GraphProto& graph, const Initializers& weights) {
    return bytes_of(graph.input(), [&](const auto& input) { return !constants || !weights.contains(input.name()); });
  };
  if (inputs_of(from, old_weights) != inputs_of(to, new_weights)) return "the inputs";
  if (constants) {  // some may be gone, but none may be declared differently
    std::unordered_map<std::string, std::string> declared;
    for (const auto& input : from.input()) declared.emplace(input.name(), input.SerializeAsString());
    for (const auto& input : to.input())
      if (const auto known = declared.find(input.name());
          known == declared.end() || known->second != input.SerializeAsString())
        return "the inputs";
    return "";
  }
  for (const auto& input : from.input()) {
    const auto old_default = old_weights.find(input.name()), new_default = new_weights.find(input.name());
    if ((old_default == old_weights.end()) != (new_default == new_weights.end()))
      return fmt::format("the default of the input '{}'", input.name());
    if (old_default != old_weights.end() && !same_tensor(*old_default->second, before, *new_default->second, after))
      return fmt::format("the default of the input '{}'", input.name());
  }
  return "";
}

}  // namespace taso::onnx
