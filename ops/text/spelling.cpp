#include "ops/text/spelling.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace taso::ops {

namespace {

/// Somebody who writes "bert" knows that there is one, but not the rest of its name.
std::string of_which_it_is_a_part(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t shortest = 3, most = 3;
  if (name.size() < shortest) return "";
  std::vector<std::string> found;
  for (const std::string& candidate : candidates)
    if (candidate.find(name) != std::string::npos) found.push_back("'" + candidate + "'");
  if (found.empty() || found.size() > most) return "";
  return fmt::format("; did you mean {}?", fmt::join(found, " or "));
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 200;  // longer than any real name; the distance takes quadratic time
  // With up to a third of the letters wrong it may be the same word; with more it is another one.
  std::size_t closest = std::min<std::size_t>(name.size() / 3 + 1, 4);
  const std::string* best = nullptr;
  if (name.size() > longest) return "";
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest || candidate.size() + closest < name.size()) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < closest || (distance == closest && best == nullptr && distance < name.size())) {
      closest = distance;
      best = &candidate;
    }
  }
  return best ? "; did you mean '" + *best + "'?" : of_which_it_is_a_part(name, candidates);
}

}  // namespace taso::ops
