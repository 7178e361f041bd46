// The attributes of an ONNX node in our own terms, so that operators need not know protobuf.
#pragma once

#include <filesystem>

#include "runtime/host/host.h"

namespace onnx {
class NodeProto;
}

namespace taso {

/// Attributes that we cannot represent (graphs, sparse tensors, types, tensors of types that we do not model) are left
/// out; what needs them does not model the node. External tensors are looked for in `folder`.
Attributes read_attributes(const onnx::NodeProto& node, const std::filesystem::path& folder);

/// Whether the node holds a subgraph, and with it names of the outer scope that no operand list shows.
bool has_subgraph(const onnx::NodeProto& node);

/// The node's attributes as bytes, in an order of their own: equal exactly if the attributes are.
std::string attribute_bytes(const onnx::NodeProto& node);

}  // namespace taso
