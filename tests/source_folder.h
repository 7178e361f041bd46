// Where the project's own files are, for tests that read them.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace taso::test {

inline std::filesystem::path source_folder() {
  const char* folder = std::getenv("TASO_SOURCE_FOLDER");
  return folder ? folder : ".";
}

}  // namespace taso::test
