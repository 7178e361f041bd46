// Whether a graph that was written to a model and read again is still the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/graph/graph.h"

namespace taso::verifier {

/// Nothing if both compute their outputs in the same way: by the same operators over inputs of the same names, what we
/// do not model by nodes that are the same to the letter, what depends on constants only bit by bit. Forms that ONNX
/// does not tell apart are one: concats of concats, parts of parts, what changes nothing. Otherwise where they differ
/// first, as `describe` has it for a value of the second. `other_way`, if it is given, is asked where two values are
/// not the same: whether they are equal all the same, and which pairs have to be equal for that.
using OpenPairs = std::vector<std::pair<Value, Value>>;
using OtherWay = std::function<bool(const Value& expected, const Value& actual, OpenPairs& open)>;
std::optional<std::string> difference(const Graph& expected, const Graph& actual,
                                      const std::function<std::string(const Value&)>& describe,
                                      const OtherWay& other_way = nullptr);

}  // namespace taso::verifier
