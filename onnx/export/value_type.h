// Declares the type of a value in a model.
#pragma once

#include "onnx/model/messages.h"
#include "ops/graph/graph.h"

namespace taso::onnx {

/// Dimensions that ONNX has no words for are left open.
void write_type(const Type& type, proto::ValueInfoProto& info);

}  // namespace taso::onnx
