// The name that somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace taso {

/// The name with the fewest letters to add, drop, change or swap with their neighbour; of equals the first. Empty if a third
/// of the letters or more would have to be.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace taso
