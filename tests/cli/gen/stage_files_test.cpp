#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/gen/stage_files.h"
#include "ops/core/error.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

struct StageFolder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("taso-stages-{}", ::getpid());
  StageFolder() { std::filesystem::remove_all(path); }
  ~StageFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path only_file() const { return std::filesystem::directory_iterator(path)->path(); }
};

const std::string state("bytes \0 of any kind\n", 20);

}  // namespace

TEST_CASE("a stage is loaded as it was saved") {
  const StageFolder folder;
  StageFiles files(folder.path, "context", false);
  CHECK_FALSE(files.is_useful());
  CHECK_FALSE(files.load("level 1 of matrices").has_value());
  CHECK_FALSE(std::filesystem::exists(folder.path));
  files.save("level 1 of matrices", state);
  files.save("level 2 of matrices", "");
  CHECK(files.load("level 1 of matrices") == state);
  CHECK(StageFiles(folder.path, "context", true).load("level 2 of matrices") == "");
  files.save("level 1 of matrices", "other");
  CHECK(files.load("level 1 of matrices") == "other");
  files.forget("level 1 of matrices");
  CHECK_FALSE(files.load("level 1 of matrices").has_value());
  CHECK(files.is_useful());
  CHECK(files.damaged().empty());
  files.remove();
  CHECK_FALSE(std::filesystem::exists(folder.path));
}

TEST_CASE("stages of another run are refused, and replaced without resuming") {
  const StageFolder folder;
  StageFiles(folder.path, "context", false).save("s", state);
  CHECK_THROWS_AS(StageFiles(folder.path, "another", true), UsageError);
  CHECK(StageFiles(folder.path, "context", true).load("s") == state);
  CHECK_FALSE(StageFiles(folder.path, "another", false).is_useful());
}

TEST_CASE("a damaged stage is not loaded") {
  const StageFolder folder;
  StageFiles(folder.path, "context", false).save("s", state);
  std::stringstream whole;
  whole << std::ifstream(folder.only_file(), std::ios::binary).rdbuf();
  const std::string good = whole.str();
  const auto file = folder.only_file();
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const std::string& bad : {good.substr(0, i), [&] {
                                     std::string changed = good;
                                     changed[i] = static_cast<char>(changed[i] ^ 1);
                                     return changed;
                                   }()}) {
      std::ofstream(file, std::ios::binary) << bad;
      try {
        StageFiles files(folder.path, "context", true);
        CHECK_FALSE(files.load("s").has_value());
        CHECK(files.damaged().size() == 1);
      } catch (const UsageError&) {  // the hash of the context is damaged, so it is that of another run
        CHECK(i < 80);
      }
    }
}

TEST_CASE("a folder that cannot be made is an error of the environment") {
  const StageFolder folder;
  std::ofstream(folder.path) << "in the way";
  StageFiles files(folder.path, "context", false);
  CHECK_THROWS_AS(files.save("s", state), EnvironmentError);
  std::filesystem::remove(folder.path);
}

}  // namespace taso::test
