// How messages show names from a model: on one line, whatever the file contains.
#pragma once

#include <string>
#include <string_view>

namespace taso::onnx {

/// 'name' in quotes, with control characters escaped, and shortened if very long.
std::string in_quotes(std::string_view name);

}  // namespace taso::onnx
