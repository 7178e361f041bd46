// The CUDA module: loaded if it was built, and a clear message if it was not. No test here needs a GPU.
#include "runtime/gpu/device.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ops/support/program_folder.h"
#include "tests/catch.h"

namespace taso::test {

using namespace gpu;

namespace {

TEST_CASE("a missing module gives one line, not a failure") {
  const DeviceReport report = find_devices("/nonexistent/libtaso_cuda.so");
  CHECK_FALSE(report.cuda);
  CHECK(report.trouble.find("/nonexistent/libtaso_cuda.so") != std::string::npos);
  CHECK(report.trouble.find('\n') == std::string::npos);
  CHECK(describe(report).starts_with("no CUDA (the CUDA module cannot be loaded"));
}

TEST_CASE("a file that is not a module is refused") {
  const auto path = std::filesystem::temp_directory_path() / "taso_device_test_no_module.so";
  std::ofstream(path) << "text";
  const DeviceReport report = find_devices(path);
  std::filesystem::remove(path);
  CHECK_FALSE(report.cuda);
  CHECK_FALSE(report.trouble.empty());
}

TEST_CASE("a library that is not our module is refused") {
  const DeviceReport report = find_devices("libm.so.6");
  CHECK_FALSE(report.cuda);
  CHECK(report.trouble.find("not a CUDA module of taso") != std::string::npos);
}

TEST_CASE("the built module loads and reports its versions") {
  const DeviceReport report = find_devices();
  const auto built = program_folder().parent_path() / "lib" / "taso" / "libtaso_cuda.so";
  if (!std::filesystem::exists(built)) {
    WARN("skipped: this build has no CUDA module (" << report.trouble << ")");
    CHECK_FALSE(report.cuda);
    return;
  }
  INFO(report.trouble);
  REQUIRE(report.cuda);
  CHECK_FALSE(report.cuda->runtime.empty());
  CHECK(describe(report).starts_with("CUDA " + report.cuda->runtime));
  // Either a GPU is usable, or one line says why not.
  CHECK(report.trouble.empty() == !report.cuda->devices.empty());
  WARN(describe(report));
}

TEST_CASE("a report is described in one line") {
  CHECK(describe({DeviceInfo{"13.0", "13.0", "9.19.0", "13.0.2", {"NVIDIA H200"}}, ""}) ==
        "CUDA 13.0, cuDNN 9.19.0, cuBLAS 13.0.2, driver 13.0, NVIDIA H200");
  CHECK(describe({DeviceInfo{"12.4", "", "", "", {}}, "no GPU: no driver"}) == "CUDA 12.4 (no GPU: no driver)");
}

}  // namespace
}  // namespace taso::test
