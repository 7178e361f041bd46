// The pages of `taso-opt --html` and `taso-bench --html`: one file each, which any browser shows without a network.
#pragma once

#include <optional>
#include <string>

#include "cli/details/changes.h"

namespace taso::cli {

/// Both models, their kernels and the changes as JSON, on one line.
std::string json_text_of(const Details& details);

/// `report` is the JSON text that `--report` writes. Without details, the page says so and shows the rest.
std::string page_of(const std::string& report, const std::optional<Details>& details);

/// The page of `taso-bench --html`. `figures` is the JSON text that `--json` writes.
std::string bench_page_of(const std::string& figures);

}  // namespace taso::cli
