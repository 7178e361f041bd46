// What this machine offers besides its CPU. CUDA is reached through a module loaded at run time, so that programs start
// where CUDA is missing, and say why it is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace taso::gpu {

/// The CUDA side as the module found it. Versions are text such as "13.0"; empty where the library is not there.
struct DeviceInfo {
  std::string runtime;
  std::string driver;
  std::string cudnn;
  std::string cublas;
  std::vector<std::string> devices = {};
};

struct DeviceReport {
  std::optional<DeviceInfo> cuda;  ///< nothing when the module could not be loaded
  std::string trouble;             ///< one line: why nothing can run on a GPU; empty when something can
};

/// Loads the CUDA module from where the program is installed (or from $TASO_CUDA_MODULE) and asks it. Never throws for a
/// missing module, driver or GPU.
DeviceReport find_devices();
/// The same with the module of that path.
DeviceReport find_devices(const std::filesystem::path& module);

/// Where the module lies: $TASO_CUDA_MODULE, or where the program is installed. Empty if there is none.
std::filesystem::path find_cuda_module();

/// One line for people, such as "CUDA 13.0, cuDNN 9.19.0, cuBLAS 13.0.0, driver 13.0, NVIDIA H200".
std::string describe(const DeviceReport& report);

}  // namespace taso::gpu
