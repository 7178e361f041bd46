#include "onnx/model/message_bytes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include "onnx/model/proto.h"

namespace taso::onnx {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int overload_of_a_node = 8, overload_of_a_function = 13;

std::string with_length(const std::string& bytes) { return fmt::format("{}:{}", bytes.size(), bytes); }

/// The value as bytes; for a repeated field, the one at `index`.
std::string value_of(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const auto number = [&](auto single, auto repeated) {
    const auto value =
        field.is_repeated() ? (reflection.*repeated)(message, &field, index) : (reflection.*single)(message, &field);
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return number(&Reflection::GetInt32, &Reflection::GetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64: return number(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32: return number(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64: return number(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT: return number(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE: return number(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    case FieldDescriptor::CPPTYPE_BOOL: return number(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case FieldDescriptor::CPPTYPE_ENUM: return number(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
    case FieldDescriptor::CPPTYPE_STRING:
      return field.is_repeated() ? reflection.GetRepeatedString(message, &field, index)
                                 : reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return (field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, index)
                                  : reflection.GetMessage(message, &field))
          .SerializeAsString();
  }
  return "";
}

std::string text_field(const Message& message, int number) {
  const Reflection& reflection = *message.GetReflection();
  if (const FieldDescriptor* field = message.GetDescriptor()->FindFieldByNumber(number))
    return reflection.GetString(message, field);
  const UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  std::string text;
  for (int i = 0; i < unknown.field_count(); ++i)  // if a field occurs twice, the last one counts
    if (unknown.field(i).number() == number && unknown.field(i).type() == UnknownField::TYPE_LENGTH_DELIMITED)
      text = unknown.field(i).length_delimited();
  return text;
}

}  // namespace

std::string bytes_without(const Message& message, std::initializer_list<int> fields) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  std::string bytes;
  for (const FieldDescriptor* field : present) {
    if (std::find(fields.begin(), fields.end(), field->number()) != fields.end()) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    bytes += fmt::format("{}×{} ", field->number(), count);
    for (int i = 0; i < count; ++i) bytes += with_length(value_of(message, *field, i));
  }
  std::string unknown;
  reflection.GetUnknownFields(message).SerializeToString(&unknown);
  return unknown.empty() ? bytes : bytes + "unknown " + with_length(unknown);
}

std::string overload_of(const proto::NodeProto& node) { return text_field(node, overload_of_a_node); }
std::string overload_of(const proto::FunctionProto& function) { return text_field(function, overload_of_a_function); }

}  // namespace taso::onnx
