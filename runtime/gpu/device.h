// Finds out what this machine offers besides its CPU. A module loaded at run time gives access to CUDA, so that
// programs also start without CUDA, and say why it is missing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace taso::gpu {

/// The CUDA libraries as the module found them. Versions are text such as "13.0"; empty if the library is missing.
struct DeviceInfo {
  std::string runtime;
  std::string driver;
  std::string cudnn;
  std::string cublas;
  std::vector<std::string> devices = {};
};

struct DeviceReport {
  std::optional<DeviceInfo> cuda;  ///< nothing if the module could not be loaded
  std::string trouble;             ///< one line: why nothing can run on a GPU; empty if a GPU is usable
};

/// Loads the CUDA module from where the program is installed (or from $TASO_CUDA_MODULE) and asks it. A missing module,
/// driver or GPU does not throw.
DeviceReport find_devices();
/// The same with the module at this path.
DeviceReport find_devices(const std::filesystem::path& module);

/// The path of the module: $TASO_CUDA_MODULE, or where the program is installed. Empty if there is none.
std::filesystem::path find_cuda_module();

/// Whether the module was loaded. It stays until the process ends, which then ends CUDA's libraries too.
bool module_is_open();

/// One line for people, such as "CUDA 13.0, cuDNN 9.19.0, cuBLAS 13.0.0, driver 13.0, NVIDIA H200".
std::string describe(const DeviceReport& report);

}  // namespace taso::gpu
