// Decides whether a graph that was written to a model and read again is still the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/graph/graph.h"

namespace taso::verifier {

/// Whether the result of the operator has the elements of its operand in the same order.
bool is_view(const Value& value);

/// Nothing if both compute their outputs in the same way: by the same operators on inputs of the same names, by opaque
/// nodes that are identical byte for byte, and with identical bits where they depend on constants only. Forms that ONNX
/// does not distinguish count as one: concats of concats, parts of parts, operators without effect. Otherwise returns
/// the first difference, where `describe` names a value of the second graph. `other_way`, if given, is asked about two
/// values that are not the same: whether they are still equal, and which pairs must be equal for that. Before values
/// are compared, each is replaced by what `simplify`, if given, makes of it: an equal value of the same graph.
using OpenPairs = std::vector<std::pair<Value, Value>>;
/// `comes_first`, if given, is asked the same as `accounts_for`, but about all values that are no constants.
struct OtherWay {
  std::function<Value(const Value& value)> simplify;
  std::function<bool(const Value&expected, const Value&actual, OpenPairs&open)> accounts_for, comes_first;
};
std::optional<std::string> difference(const Graph& expected, const Graph& actual,
                                      const std::function<std::string(const Value&)>& describe,
                                      const OtherWay& other_way = {});

}  // namespace taso::verifier
