#include "onnx/validation/attributes.h"

#include "onnx/model/proto.h"

namespace taso::onnx {

std::string_view trouble_with(const proto::AttributeProto& attribute, bool by_reference) {
  using proto::AttributeProto;
  const struct {
    bool is_set;
    AttributeProto::AttributeType type;
  } values[] = {
      {attribute.has_f(), AttributeProto::FLOAT},
      {attribute.has_i(), AttributeProto::INT},
      {attribute.has_s(), AttributeProto::STRING},
      {attribute.has_t(), AttributeProto::TENSOR},
      {attribute.has_g(), AttributeProto::GRAPH},
      {attribute.has_tp(), AttributeProto::TYPE_PROTO},
      {attribute.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR},
      {attribute.floats_size() > 0, AttributeProto::FLOATS},
      {attribute.ints_size() > 0, AttributeProto::INTS},
      {attribute.strings_size() > 0, AttributeProto::STRINGS},
      {attribute.tensors_size() > 0, AttributeProto::TENSORS},
      {attribute.graphs_size() > 0, AttributeProto::GRAPHS},
      {attribute.type_protos_size() > 0, AttributeProto::TYPE_PROTOS},
      {attribute.sparse_tensors_size() > 0, AttributeProto::SPARSE_TENSORS},
  };
  int used = 0;
  for (const auto& [is_set, type] : values) {
    if (!is_set) continue;
    ++used;
    if (attribute.has_type() && attribute.type() != type) return "has a value that does not match its type";
  }
  if (used > 1) return "has more than one value";
  if (by_reference && attribute.has_ref_attr_name() && used > 0) return "has a value and refers to another attribute";
  return "";
}

}  // namespace taso::onnx
