// Messages as bytes, fields that our schema does not know included: newer models carry some that change what they
// compute.
#pragma once

#include <initializer_list>
#include <string>

#include "onnx/model/messages.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace taso::onnx {

/// The message but for the fields of these numbers; empty exactly if it says nothing else. Two messages say the same
/// outside of these fields exactly if this is equal. Nothing is copied but what is returned.
std::string bytes_without(const google::protobuf::Message& message, std::initializer_list<int> fields);

/// Which of several functions of one name is meant; empty in models that do not tell them apart. Older schemas have no
/// such field, and keep it among the unknown ones.
std::string overload_of(const proto::NodeProto& node);
std::string overload_of(const proto::FunctionProto& function);

}  // namespace taso::onnx
