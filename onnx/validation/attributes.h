// Detects attributes that contradict themselves; readers differ in which part they use.
#pragma once

#include <string_view>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// The problem with an attribute by itself; empty if there is none. `by_reference`: it may refer to an attribute of the
/// surrounding node or function, and then has no value of its own.
std::string_view trouble_with(const proto::AttributeProto& attribute, bool by_reference);

}  // namespace taso::onnx
