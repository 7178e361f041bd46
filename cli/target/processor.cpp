#include "cli/target/processor.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/console/child_process.h"
#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::cli {
namespace {

/// What a program prints; empty if it fails.
std::string output_of(const std::vector<std::string>& command) {
  constexpr double patience = 20;
  try {
    const ChildResult done = run_child(command, "", patience);
    return done.code == 0 ? done.output : "";
  } catch (const EnvironmentError&) {
    return "";
  }
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  // A comma ends the processor in the name of a machine.
  std::string name = first == std::string_view::npos ? "" : on_one_line(text.substr(first, last - first + 1));
  std::replace(name.begin(), name.end(), ',', ' ');
  return name;
}

/// What follows the label and a colon in the first line that begins with it.
std::optional<std::string> value_after(std::string_view label, std::istream& lines) {
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(std::string_view(line).substr(0, colon)) == label)
      return trimmed(std::string_view(line).substr(colon + 1));
  }
  return std::nullopt;
}

}  // namespace

std::string processor_name() {
  utsname system{};
  const std::string name = ::uname(&system) == 0 ? system.machine : "unknown";
  const auto with = [&](const std::string& model) { return model.empty() || model == "-" ? name : name + " " + model; };
  std::istringstream list(output_of({"env", "LC_ALL=C", "lscpu"}));
  if (const auto model = value_after("Model name", list)) return with(*model);
  std::ifstream processors("/proc/cpuinfo");  // lscpu needs /sys, which a plain chroot lacks
  return with(value_after("model name", processors).value_or(""));
}

std::string processor_with_gpu() {
  const std::string list = output_of({"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"});
  const std::string gpu = trimmed(list.substr(0, list.find('\n')));
  return processor_name() + " with " + (gpu.empty() ? "an unknown GPU" : gpu);
}

}  // namespace taso::cli
