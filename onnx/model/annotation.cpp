#include "onnx/model/annotation.h"

#include <google/protobuf/unknown_field_set.h>

#include "onnx/model/proto.h"

namespace taso::onnx {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

// The field's number in ONNX's schema. Libraries before 1.16 do not know it, but keep and write unknown fields.
constexpr int metadata_of_a_node = 9;
constexpr const char* prefix = "taso.";

const FieldDescriptor* metadata_field() {
  return proto::NodeProto::descriptor()->FindFieldByNumber(metadata_of_a_node);
}

bool is_note(const std::string& bytes) {
  proto::StringStringEntryProto entry;
  return entry.ParseFromString(bytes) && entry.key().starts_with(prefix);
}

void remove_metadata_of(proto::NodeProto& node) {
  const Reflection& reflection = *node.GetReflection();
  if (const FieldDescriptor* field = metadata_field()) {
    // Removal keeps the order of the others.
    for (int i = 0; i < reflection.FieldSize(node, field);) {
      if (!is_note(reflection.GetRepeatedMessage(node, field, i).SerializeAsString())) {
        ++i;
        continue;
      }
      for (int k = i; k + 1 < reflection.FieldSize(node, field); ++k) reflection.SwapElements(&node, field, k, k + 1);
      reflection.RemoveLast(&node, field);
    }
    return;
  }
  UnknownFieldSet& unknown = *reflection.MutableUnknownFields(&node);
  for (int i = unknown.field_count(); i-- > 0;) {
    const auto& field = unknown.field(i);
    if (field.number() == metadata_of_a_node && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        is_note(field.length_delimited()))
      unknown.DeleteSubrange(i, 1);
  }
}

}  // namespace

bool nodes_have_metadata(const proto::ModelProto& model) { return model.ir_version() >= 10; }

void annotate(proto::NodeProto& node, const std::vector<std::pair<std::string, std::string>>& entries,
              bool has_metadata) {
  if (!has_metadata) {
    if (node.has_doc_string() && !node.doc_string().starts_with(prefix)) return;
    std::string text;
    for (const auto& [key, value] : entries) text += (text.empty() ? "" : "\n") + key + ": " + value;
    node.set_doc_string(text);
    return;
  }
  remove_metadata_of(node);
  const Reflection& reflection = *node.GetReflection();
  for (const auto& [key, value] : entries) {
    proto::StringStringEntryProto entry;
    entry.set_key(key);
    entry.set_value(value);
    if (const FieldDescriptor* field = metadata_field())
      reflection.AddMessage(&node, field)->ParseFromString(entry.SerializeAsString());
    else
      reflection.MutableUnknownFields(&node)->AddLengthDelimited(metadata_of_a_node, entry.SerializeAsString());
  }
}

void remove_annotations(Model& model) {
  for (proto::NodeProto& node : *model.mutable_proto().mutable_graph()->mutable_node()) {
    remove_metadata_of(node);
    if (node.doc_string().starts_with(prefix)) node.clear_doc_string();
  }
}

}  // namespace taso::onnx
