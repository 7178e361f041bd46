#include "ops/support/data_files.h"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "ops/support/program_folder.h"
#include "ops/text/characters.h"

namespace taso::ops {

std::optional<std::filesystem::path> find_data_file(const std::filesystem::path& relative) {
  std::vector<std::filesystem::path> folders;
  if (const char* named = std::getenv("TASO_DATA"); named != nullptr && *named != '\0') folders.emplace_back(named);
  const std::filesystem::path program = program_folder();
  if (!program.empty()) folders.push_back(program.parent_path() / "share" / "taso");
  // A library lies in a package of its own, in lib/, or one folder deeper.
  std::filesystem::path code = code_folder();
  for (int up = 0; up < 3 && !code.empty(); ++up, code = code.parent_path()) folders.push_back(code / "share" / "taso");
  folders.emplace_back(TASO_DATA_FOLDER);
  for (const auto& folder : folders) {
    std::error_code error;
    if (std::filesystem::exists(folder / relative, error)) return folder / relative;
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> user_cache_folder() {
  // A relative path is to be ignored, says the specification of these variables.
  const auto folder = [](const char* variable) -> std::optional<std::filesystem::path> {
    const char* text = std::getenv(variable);
    if (text == nullptr || *text != '/') return std::nullopt;
    return text;
  };
  if (const auto cache = folder("XDG_CACHE_HOME")) return *cache / "taso";
  // The folders below a home are made when they are needed, a home never.
  std::error_code error;
  const auto home = folder("HOME");
  if (!home || !std::filesystem::is_directory(*home, error)) return std::nullopt;
  return *home / ".cache" / "taso";
}

std::optional<std::string> trouble_with_data_folder() {
  const char* named = std::getenv("TASO_DATA");
  std::error_code error;
  if (named == nullptr || *named == '\0' || std::filesystem::is_directory(named, error)) return std::nullopt;
  return fmt::format("TASO_DATA is {}, which is no folder: the files that come with taso are used", on_one_line(named));
}

}  // namespace taso::ops
