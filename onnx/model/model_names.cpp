#include "onnx/model/model_names.h"

#include <fmt/format.h>

namespace taso::onnx {

std::string in_quotes(std::string_view name) {
  constexpr std::size_t longest = 120;
  std::string text = "'";
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i >= longest) return text + "…'";
    const auto byte = static_cast<unsigned char>(name[i]);
    // Control characters would break the line or control a terminal; bytes above 127 are kept as UTF-8.
    if (byte < 0x20 || byte == 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += name[i];
  }
  return text + "'";
}

}  // namespace taso::onnx
