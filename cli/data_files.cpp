#include "cli/data_files.h"

#include <cstdlib>
#include <vector>

#include "cost/program_folder.h"

namespace taso {

std::optional<std::filesystem::path> find_data_file(const std::filesystem::path& relative) {
  std::vector<std::filesystem::path> folders;
  if (const char* named = std::getenv("TASO_DATA"); named != nullptr && *named != '\0') folders.emplace_back(named);
  const std::filesystem::path program = program_folder();
  if (!program.empty()) folders.push_back(program.parent_path() / "share" / "taso");
  folders.emplace_back(TASO_DATA_FOLDER);
  for (const auto& folder : folders) {
    std::error_code error;
    if (std::filesystem::exists(folder / relative, error)) return folder / relative;
  }
  return std::nullopt;
}

}  // namespace taso
