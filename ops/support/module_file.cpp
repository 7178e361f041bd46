#include "ops/support/module_file.h"

#include <system_error>
#include <vector>

#include "ops/support/program_folder.h"

namespace taso::ops {

std::filesystem::path find_module(const char* name) {
  const std::filesystem::path installed = std::filesystem::path(TASO_LIBRARY_FOLDER) / "taso" / name;
  const std::filesystem::path program = program_folder();
  // An installation, a moved installation or a build folder.
  std::vector<std::filesystem::path> places;
  if (!program.empty()) {
    places.push_back(program.parent_path() / "lib" / "taso" / name);
    // Debian puts libraries one folder deeper, named after the architecture.
    places.push_back(program.parent_path() / TASO_LIBRARY_SUBFOLDER / "taso" / name);
  }
  // A library lies beside the folder of the module, or is a package with a folder for it.
  const std::filesystem::path code = code_folder();
  places.push_back(code / "taso" / name);
  places.push_back(code / "lib" / "taso" / name);
  places.push_back(installed);
  std::error_code error;
  for (const auto& place : places) {
    if (std::filesystem::exists(place, error)) return place;
  }
  return {};
}

}  // namespace taso::ops
