// Messages as bytes, including fields that our schema does not know: newer models have some that change what they
// compute.
#pragma once

#include <initializer_list>
#include <string>

#include "onnx/model/messages.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace taso::onnx {

/// The message without the fields of these numbers; empty exactly if it has no other fields. Two messages agree in all
/// other fields exactly if the results are equal. Copies only what it returns.
std::string bytes_without(const google::protobuf::Message& message, std::initializer_list<int> fields);

/// Selects one of several functions with the same name; empty in models that have no overloads. Older schemas keep it
/// among the unknown fields.
std::string overload_of(const proto::NodeProto& node);
std::string overload_of(const proto::FunctionProto& function);

}  // namespace taso::onnx
