// The attributes of an ONNX node in our own terms, so that operators need not know protobuf.
#pragma once

#include <filesystem>

#include "onnx/model/messages.h"
#include "runtime/host/host.h"

namespace taso::onnx {

/// Attributes that we cannot represent (graphs, sparse tensors, types, tensors of types that we do not model) are left
/// out; what needs them does not model the node. External tensors are looked for in `folder`.
runtime::Attributes read_attributes(const proto::NodeProto& node, const std::filesystem::path& folder);

/// Whether the node holds a subgraph, and with it names of the outer scope that no operand list shows.
bool has_subgraph(const proto::NodeProto& node);

/// The node's attributes as bytes, in an order of their own: equal exactly if the attributes are.
std::string attribute_bytes(const proto::NodeProto& node);

}  // namespace taso::onnx
