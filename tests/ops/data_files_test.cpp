#include "ops/support/data_files.h"

#include <cstdlib>
#include <fstream>

#include "tests/catch.h"

namespace taso::test {

namespace {

TEST_CASE("data is beside the program, or in TASO_DATA") {
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
  CHECK(fallback);  // files that TASO_DATA lacks are found beside the program
}

TEST_CASE("a TASO_DATA that is not a folder is reported") {
  CHECK_FALSE(trouble_with_data_folder());
  setenv("TASO_DATA", "/no/such\nfolder", 1);
  const auto trouble = trouble_with_data_folder();
  setenv("TASO_DATA", std::filesystem::temp_directory_path().c_str(), 1);
  CHECK_FALSE(trouble_with_data_folder());
  setenv("TASO_DATA", "", 1);
  CHECK_FALSE(trouble_with_data_folder());
  unsetenv("TASO_DATA");
  REQUIRE(trouble);
  CHECK(trouble->find("/no/such") != std::string::npos);
  CHECK(trouble->find('\n') == std::string::npos);
}

}  // namespace
}  // namespace taso::test
