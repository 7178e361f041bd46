#include "ops/support/program_folder.h"

#include <dlfcn.h>

namespace taso::ops {

std::filesystem::path program_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path();
}

std::filesystem::path code_folder() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&program_folder), &found) == 0 || found.dli_fname == nullptr) return {};
  // For the program itself the name is as it was typed.
  if (std::string_view(found.dli_fname).find('/') == std::string_view::npos) return program_folder();
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(found.dli_fname, error);
  return error ? program_folder() : file.parent_path();
}

}  // namespace taso::ops
