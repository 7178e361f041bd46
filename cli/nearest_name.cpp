#include "cli/nearest_name.h"

#include <algorithm>

namespace taso {
namespace {

constexpr std::size_t longest_name = 200;

std::size_t distance(std::string_view a, std::string_view b) {
  // Row by row, for the first letters of `a`; a swap looks two rows back.
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string_view>& known) {
  if (name.size() > longest_name) return "";
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>((name.size() + 2) / 3, 1);
  for (const std::string_view other : known) {
    const std::size_t apart = std::max(name.size(), other.size()) - std::min(name.size(), other.size());
    if (apart >= fewest) continue;
    if (const std::size_t letters = distance(name, other); letters < fewest) {
      fewest = letters;
      best = other;
    }
  }
  return std::string(best);
}

}  // namespace taso
