// Records prices on a fake GPU: what is measured, in which order, and what is left for the next run.
#include "cli/bench/record.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "cli/bench/loaded_model.h"
#include "cli/console/measuring.h"
#include "cli/files/rule_set.h"
#include "cli/opt/search.h"
#include "onnx/cleanup/cleanup.h"
#include "ops/core/error.h"
#include "runtime/pricing/pricing.h"
#include "tests/catch.h"
#include "tests/cli/opt/no_gpu.h"
#include "tests/onnx/build_model.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace cli;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("taso-record-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Run {
  ExitCode ending = ExitCode::done;
  std::vector<std::string> measured;
  std::string said;
};

Run run(const BenchSettings& settings, const fs::path& folder, double nanoseconds = 1000) {
  Run result;
  Console::Options options;
  options.program = "test";
  options.verbosity = -2;
  options.log_file = folder / "log";
  fs::remove(*options.log_file);
  {
    Console console(options);
    console.begin_log();
    result.ending = record(settings, std::make_unique<NoGpu>(result.measured, nanoseconds), console);
  }
  std::ostringstream text;
  text << std::ifstream(*options.log_file).rdbuf();
  result.said = text.str();
  return result;
}

BenchSettings settings_for(const fs::path& folder) {
  BenchSettings settings;
  settings.record = true;
  settings.models = {source_folder() / "examples/small_convnet.onnx"};
  settings.prices = folder / "kept.prices";
  settings.precisions = {cost::Precision::tf32, cost::Precision::fp16};
  settings.batches = {std::nullopt};
  settings.search = false;
  settings.jobs = 1;
  return settings;
}

std::size_t kept(const fs::path& file) {
  if (!fs::exists(file)) return 0;
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return cost::PriceDatabase::parse(text.str(), "kept").size("None, driver 0");
}

}  // namespace

TEST_CASE("recorded kernels are not measured again") {
  const Folder folder;
  const BenchSettings settings = settings_for(folder.path());
  const Run first = run(settings, folder.path());
  CHECK(first.ending == ExitCode::done);
  CHECK(first.measured.size() > 4);
  CHECK(kept(*settings.prices) == first.measured.size());
  const auto in = [&](const std::string& word) {
    return std::any_of(first.measured.begin(), first.measured.end(),
                       [&](const std::string& text) { return text.find(word) != std::string::npos; });
  };
  CHECK(in("tf32"));
  CHECK(in("float16"));
  CHECK(first.said.find("left") == std::string::npos);
  CHECK(run(settings, folder.path()).measured.empty());
  BenchSettings again = settings;
  again.anew = true;  // prices in this file still count
  CHECK(run(again, folder.path()).measured.empty());
  again.prices = folder.path() / "another.prices";
  CHECK(run(again, folder.path()).measured.size() == first.measured.size());
}

TEST_CASE("figures that an older file lacks are measured with its choice, if that still exists") {
  const Folder folder;
  BenchSettings settings = settings_for(folder.path());
  settings.precisions = {cost::Precision::tf32};
  const std::vector<std::string> calls = run(settings, folder.path()).measured;
  REQUIRE(calls.size() > 2);
  const auto database = [&] {
    std::ostringstream text;
    text << std::ifstream(*settings.prices).rdbuf();
    return cost::PriceDatabase::parse(text.str(), "kept");
  };
  cost::PriceDatabase older = database();
  older.set("None, driver 0", calls[0], {5000, 0, true, "of old"});
  older.set("None, driver 0", calls[1], {5000, 0, true, "forgotten"});
  std::ofstream(*settings.prices) << older.text();
  CHECK(run(settings, folder.path()).measured == std::vector<std::string>{calls[0], calls[1]});
  const cost::PriceDatabase completed = database();
  for (const std::string& call : calls) CHECK(completed.find("None, driver 0", call)->is_complete());
  CHECK(completed.find("None, driver 0", calls[0])->choice == "of old");
  CHECK(completed.find("None, driver 0", calls[1])->choice == "guess");
}

TEST_CASE("recording ends when its time is up, reports what is left, and continues later") {
  const Folder folder;
  BenchSettings settings = settings_for(folder.path());
  settings.time_budget = 0;
  const Run none = run(settings, folder.path());
  CHECK(none.ending == ExitCode::done);
  CHECK(none.measured.empty());
  CHECK(none.said.find("of the models left (100.0 % of the predicted time)") != std::string::npos);
  CHECK(none.said.find("run the same command again to measure them") != std::string::npos);
  for (const double seconds : {1e3, 1e10, 1e300}) {  // limits beyond the range of the clock
    settings.time_budget = seconds;
    settings.prices = folder.path() / fmt::format("{}.prices", seconds);
    CHECK(!run(settings, folder.path()).measured.empty());
  }
}

TEST_CASE("the kernels with the most time are recorded first") {
  const Folder folder;
  BenchSettings settings = settings_for(folder.path());
  settings.precisions = {cost::Precision::tf32};
  const Run all = run(settings, folder.path());
  // Convolutions take most of the time of such a network.
  REQUIRE(all.measured.size() > 2);
  CHECK(all.measured.front().starts_with("convolution"));
  CHECK(!all.measured.back().starts_with("convolution"));
}

TEST_CASE("a model that cannot have a batch is left out with a message") {
  const Folder folder;
  BenchSettings settings = settings_for(folder.path());
  proto::ModelProto model = test::empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  test::declare(*graph.add_input(), "x", {1, 6});
  test::declare(*graph.add_output(), "y", {1, 3, 2});
  proto::TensorProto& shape = *graph.add_initializer();
  shape.set_name("shape");
  shape.set_data_type(proto::TensorProto::INT64);
  shape.add_dims(3);
  for (const std::int64_t extent : {1, 3, 2}) shape.add_int64_data(extent);
  test::add_node(graph, "Reshape", {"x", "shape"}, {"parts"});
  test::add_node(graph, "Relu", {"parts"}, {"y"});
  settings.models = {folder.path() / "of_one.onnx"};
  test::write_file(settings.models.front(), model.SerializeAsString());
  CHECK(run(settings, folder.path()).measured.size() == 2);  // the two precisions
  settings.batches = {1, 16};
  settings.prices = folder.path() / "another.prices";
  const Run both = run(settings, folder.path());
  CHECK(both.measured.size() == 2);
  CHECK_THAT(both.said, Catch::Contains("left out with batch 16"));
  CHECK_THAT(both.said, Catch::Contains("[1, 3, 2] does not have as many elements as [16, 6]"));
  settings.batches = {16};
  CHECK_THROWS_AS(run(settings, folder.path()), InputError);
}

TEST_CASE("graphs that the search finds are recorded too") {
  const Folder folder;
  BenchSettings settings = settings_for(folder.path());
  settings.precisions = {cost::Precision::tf32};
  const std::size_t plain = run(settings, folder.path()).measured.size();
  settings.search = true;
  const Run searched = run(settings, folder.path());
  CHECK(searched.ending == ExitCode::done);
  CHECK(kept(*settings.prices) == plain + searched.measured.size());
}

TEST_CASE("graphs that a search without a GPU finds are recorded too") {
  const Folder folder;
  BenchSettings settings = settings_for(folder.path());
  settings.batches = {1};
  settings.precisions = {cost::Precision::tf32};
  settings.anew = true;
  settings.search = true;
  run(settings, folder.path(), 2e4);  // so expensive that predictions look better
  std::vector<std::string> measured;
  Console::Options quiet;
  quiet.program = "test";
  quiet.verbosity = -2;
  Console console(quiet);
  pricing::Pricing pricing({true, settings.prices, cost::Precision::tf32, false}, std::make_unique<NoGpu>(measured),
                           measuring_on(console));
  pricing.set_measuring(false);
  settings.batch = 1;
  const LoadedModel loaded = load(settings.models.front(), settings);
  pricing.set_cache_residency(loaded.graph, {});
  onnx::GraphEdit edit(loaded.model);
  onnx::clean_up(edit);
  OptSettings options;
  options.jobs = 1;
  search_model(edit, prove(read_rule_set({}, {}), 1, console), {}, options, pricing, console);
  pricing::MissingCalls missing;
  pricing.find_missing(onnx::import_model(edit.view()).graph, {}, missing);
  CHECK(missing.empty());
}

}  // namespace taso::test
