// Recognises the kind of network from the operators of a graph. Rules that pay off for one network of a kind tend to
// pay off for others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ops/graph/graph.h"

namespace taso::search {

enum class NetworkKind : std::uint8_t {
  unknown,
  resnet,     ///< convolutions with residual sums
  mobilenet,  ///< many of the convolutions are depthwise
  ssd,        ///< convolutional heads at several sizes, joined
  bert,       ///< attention: softmax over products of activations
  inception,  ///< branches that start from one value and are concatenated
  dense,      ///< a layer's output is concatenated with its input
  recurrent,  ///< gates, or recurrent operators
};

/// All but `unknown`.
std::span<const NetworkKind> network_kinds();
/// "resnet", in files.
std::string_view name_of(NetworkKind kind);
std::optional<NetworkKind> network_kind_named(std::string_view name);
/// "ResNet-like", for people.
std::string_view text_of(NetworkKind kind);

struct Architecture {
  NetworkKind kind = NetworkKind::unknown;
  std::string reason;  ///< one line: why it was recognised, or why not
};

/// A graph with few convolutions and products is of unknown kind. Opaque operators count by their name.
Architecture recognise(const Graph& graph);

}  // namespace taso::search
