// The attributes of an ONNX node as our own types, so that operators need not know protobuf.
#pragma once

#include <filesystem>

#include "onnx/model/messages.h"
#include "runtime/host/host.h"

namespace taso::onnx {

/// Omits attributes that we cannot represent (graphs, sparse tensors, types, tensors of types that we do not model);
/// operators that need them do not model the node. `folder` is where external tensors are.
runtime::Attributes read_attributes(const proto::NodeProto& node, const std::filesystem::path& folder);

/// Whether the node holds a subgraph, which may use outer names that no operand list shows.
bool has_subgraph(const proto::NodeProto& node);

/// The node's attributes as bytes, in a canonical order: equal exactly if the attributes are.
std::string attribute_bytes(const proto::NodeProto& node);

}  // namespace taso::onnx
