#include "ops/text/characters.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace taso::ops {

std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 || lead == '\n' || lead == '\t' ? 1 : 0;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  std::uint32_t point = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
    point = point << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
  return point < least[size] || point > 0x10ffff || is_surrogate || point == 0xfffe || point == 0xffff ? 0 : size;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (text.front() == '\n' || text.front() == '\t')
      line += ' ';
    else if (size == 0 || text.front() == '\x7f')
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      line += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return line;
}

std::string on_lines(std::string_view text) {
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) lines += '\n';
    lines += on_one_line(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
    text.insert(static_cast<std::size_t>(i), ",");
  return text;
}

}  // namespace taso::ops
