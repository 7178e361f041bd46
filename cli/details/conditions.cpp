#include "cli/details/conditions.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace taso::cli {
namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// True if nobody has to be told that this holds in the model.
bool is_evident(std::string_view here) {
  for (const std::string_view sign : {" = ", " >= ", " != "}) {
    const std::size_t at = here.find(sign);
    if (at == std::string_view::npos) continue;
    const std::string_view left = here.substr(0, at), right = here.substr(at + sign.size());
    if (!is_number(left) || !is_number(right)) return false;
    return sign != " = " || left == "0" || left == "1";
  }
  return false;
}

}  // namespace

SortedConditions sort_conditions(const std::vector<std::string>& conditions) {
  SortedConditions sorted;
  std::set<std::string_view> seen, seen_here;
  for (const std::string& condition : conditions) {
    if (!seen.insert(condition).second) continue;
    const std::size_t colon = condition.find(": ");
    const std::string_view here =
        colon == std::string::npos ? std::string_view(condition) : std::string_view(condition).substr(colon + 2);
    const bool is_new = seen_here.insert(here).second;
    (is_evident(here) || !is_new ? sorted.plain : sorted.telling).push_back(condition);
  }
  return sorted;
}

}  // namespace taso::cli
