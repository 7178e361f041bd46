// Attributes that contradict themselves: readers differ in which part they believe.
#pragma once

#include <string_view>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// What is wrong with an attribute, taken by itself; empty if nothing is. `by_reference` says that it may stand for an
/// attribute of the node around it, and then has no value of its own.
std::string_view trouble_with(const proto::AttributeProto& attribute, bool by_reference);

}  // namespace taso::onnx
