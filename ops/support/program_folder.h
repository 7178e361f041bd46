// Where the running program lies: its module and its data are found from there, so that an installation can be moved.
#pragma once

#include <filesystem>

namespace taso {

/// The folder of the running program; empty where the system does not say.
std::filesystem::path program_folder();

}  // namespace taso
