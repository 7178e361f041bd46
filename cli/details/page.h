// The page of `taso-opt --html`: one file with everything in it, which any browser shows without a network.
#pragma once

#include <optional>
#include <string>

#include "cli/details/changes.h"

namespace taso::cli {

/// Both models, their kernels and the changes as JSON, on one line.
std::string json_text_of(const Details& details);

/// `report` is the JSON text that `--report` writes. Without details, the page says so and shows the rest.
std::string page_of(const std::string& report, const std::optional<Details>& details);

}  // namespace taso::cli
