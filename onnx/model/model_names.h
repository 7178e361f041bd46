// How names out of a model are shown in messages: on one line, whatever the file holds.
#pragma once

#include <string>
#include <string_view>

namespace taso::onnx {

/// 'name', with everything but printable ASCII and UTF-8 letters escaped, cut when it is very long.
std::string in_quotes(std::string_view name);

}  // namespace taso::onnx
