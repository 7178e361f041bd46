#include "verifier/replay/written_values.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "onnx/model/external_data.h"
#include "onnx/model/message_bytes.h"
#include "onnx/model/model_names.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_content.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/array.h"
#include "verifier/replay/written_nodes.h"

namespace taso::verifier {
namespace {

using TensorMessage = proto::TensorProto;

/// What a tensor contains beyond its data and its location; for data that is inside, also a second location elsewhere.
std::string rest_of(const TensorMessage& tensor) {
  const int elsewhere = onnx::is_external(tensor) ? TensorMessage::kExternalDataFieldNumber : 0;
  return onnx::bytes_without(
      tensor, {TensorMessage::kFloatDataFieldNumber, TensorMessage::kInt32DataFieldNumber,
               TensorMessage::kStringDataFieldNumber, TensorMessage::kInt64DataFieldNumber,
               TensorMessage::kRawDataFieldNumber, TensorMessage::kDoubleDataFieldNumber,
               TensorMessage::kUint64DataFieldNumber, TensorMessage::kDataLocationFieldNumber, elsewhere});
}

bool same_data(const TensorMessage& a, const onnx::Model& before, const TensorMessage& b, const onnx::Model& after) {
  if (onnx::element_type_from_onnx(a.data_type()) == ElementType::undefined)
    return onnx::content_of(a, before.folder()).SerializeAsString() ==
           onnx::content_of(b, after.folder()).SerializeAsString();
  return identical(onnx::read_tensor(a, before.folder()), onnx::read_tensor(b, after.folder()));
}

bool contradicts(const proto::ValueInfoProto& info, const onnx::ImportedModel& imported) {
  const auto known = imported.values.find(info.name());
  if (known == imported.values.end() || !info.type().has_tensor_type()) return false;
  const Type& type = known->second.type();
  const auto& declared = info.type().tensor_type();
  const ElementType element = onnx::element_type_from_onnx(declared.elem_type());
  if (type.element != ElementType::undefined && element != ElementType::undefined && type.element != element)
    return true;
  if (!type.shape || !declared.has_shape()) return false;
  if (static_cast<int>(type.shape->size()) != declared.shape().dim_size()) return true;
  for (int i = 0; i < declared.shape().dim_size(); ++i) {
    const Dim& dim = (*type.shape)[static_cast<std::size_t>(i)];
    const auto& said = declared.shape().dim(i);
    if (dim.is_static() && said.has_dim_value() && said.dim_value() >= 0 && said.dim_value() != dim.value())
      return true;
  }
  return false;
}

}  // namespace

std::string trouble_with_weights(const onnx::Model& before, const onnx::Model& after) {
  std::unordered_map<std::string, const TensorMessage*> old;
  for (const TensorMessage& tensor : before.proto().graph().initializer()) old.emplace(tensor.name(), &tensor);
  std::unordered_set<std::string> used;
  for (const proto::NodeProto& node : after.proto().graph().node())
    for (std::string& name : onnx::operand_names(node)) used.insert(std::move(name));
  for (const auto& output : after.proto().graph().output()) used.insert(output.name());
  for (const TensorMessage& tensor : after.proto().graph().initializer()) {
    const auto known = old.find(tensor.name());
    if (known != old.end()) {
      if (rest_of(tensor) != rest_of(*known->second) || !same_data(*known->second, before, tensor, after))
        return fmt::format("the output has another weight {}", onnx::in_quotes(tensor.name()));
      continue;
    }
    if (!used.contains(tensor.name()))
      return fmt::format("the output has a new weight {} that nothing uses", onnx::in_quotes(tensor.name()));
    if (const std::string trouble = trouble_with_new_tensor(tensor); !trouble.empty())
      return fmt::format("the output has a new weight {} {}", onnx::in_quotes(tensor.name()), trouble);
  }
  return "";
}

std::string trouble_with_declarations(const onnx::Model& before, const onnx::ImportedModel& original,
                                      const onnx::Model& after, const onnx::ImportedModel& written) {
  std::unordered_map<std::string, std::vector<const proto::ValueInfoProto*>> old;
  for (const auto& info : before.proto().graph().value_info()) old[info.name()].push_back(&info);
  for (const auto& info : after.proto().graph().value_info()) {
    auto& known = old[info.name()];
    const std::string bytes = info.SerializeAsString();
    const auto same = std::find_if(known.begin(), known.end(),
                                   [&](const proto::ValueInfoProto* one) { return one->SerializeAsString() == bytes; });
    if (same == known.end()) return fmt::format("the output declares a new type for {}", onnx::in_quotes(info.name()));
    known.erase(same);
    if (contradicts(info, written) && !contradicts(info, original))
      return fmt::format("the output declares a type for {} that it does not have", onnx::in_quotes(info.name()));
  }
  return "";
}

}  // namespace taso::verifier
