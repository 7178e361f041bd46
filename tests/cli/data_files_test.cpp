#include "cli/data_files.h"

#include <cstdlib>
#include <fstream>

#include "tests/catch.h"

namespace taso {
namespace {

TEST_CASE("data lies beside the program, or where TASO_DATA says") {
  CHECK_FALSE(find_data_file("examples/no_such_file.onnx"));
  const auto example = find_data_file("examples/small_convnet.onnx");
  REQUIRE(example);
  CHECK(std::filesystem::is_regular_file(*example));

  const auto folder = std::filesystem::temp_directory_path() / "taso data files test";
  std::filesystem::create_directories(folder / "examples");
  std::ofstream(folder / "examples" / "small_convnet.onnx") << "other";
  setenv("TASO_DATA", folder.c_str(), 1);
  const auto other = find_data_file("examples/small_convnet.onnx");
  const auto fallback = find_data_file("examples/small_transformer.onnx");
  unsetenv("TASO_DATA");
  std::filesystem::remove_all(folder);
  CHECK(other == folder / "examples" / "small_convnet.onnx");
  CHECK(fallback);  // what TASO_DATA lacks is still found beside the program
}

}  // namespace
}  // namespace taso
