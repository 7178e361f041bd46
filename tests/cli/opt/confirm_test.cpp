// taso-opt --confirm with a fake GPU: what is kept, what is not, and what is reported.
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/gpu_model.h"
#include "cli/console/interrupt.h"
#include "tests/catch.h"
#include "tests/cli/opt/no_gpu.h"
#include "tests/cli/opt/shared_inputs.h"

namespace taso::test {

using namespace cli;

using test::Json;
using test::TemporaryFolder;

namespace {

/// Takes a microsecond for each step, or a fixed time.
class StepsProgram : public gpu::DeviceProgram {
 public:
  StepsProgram(std::size_t steps, bool interrupts) : steps_(steps), interrupts_(interrupts) {}
  std::vector<std::vector<std::byte>> run(std::span<const std::span<const std::byte>>) override { return {}; }
  void enqueue(std::span<const gpu::CallersMemory>, std::span<const gpu::CallersMemory>, void*) override {}
  std::vector<double> time(std::size_t runs) override {
    if (interrupts_ && !interrupted()) std::raise(SIGINT);
    return std::vector<double>(runs, static_cast<double>(steps_));
  }
  std::vector<double> profile() override { return {}; }
  std::size_t launches() const override { return steps_; }
  std::int64_t device_bytes() const override { return 0; }
  const std::vector<std::string>& choices() const override { return none_; }

 private:
  std::size_t steps_;
  bool interrupts_;
  std::vector<std::string> none_;
};

class RunningGpu : public NoGpu {
 public:
  enum class Kind { by_steps, always_the_same, interrupted_by_running, interrupted_by_loading };
  RunningGpu(std::vector<std::string>& measured, Kind kind) : NoGpu(measured, 3'000), kind_(kind) {}
  std::unique_ptr<gpu::DeviceProgram> load(gpu::DeviceSteps steps) override {
    if (kind_ == Kind::interrupted_by_loading && !interrupted()) std::raise(SIGINT);
    return std::make_unique<StepsProgram>(kind_ == Kind::always_the_same ? 10 : steps.steps.size(),
                                          kind_ == Kind::interrupted_by_running);
  }

 private:
  Kind kind_;
};

using Kind = RunningGpu::Kind;

OptSettings confirming(const TemporaryFolder& folder, const proto::ModelProto& model = test::with_shared_inputs()) {
  OptSettings options = test::options_for(folder, model);
  options.confirm = true;
  return options;
}

Json confirmed(const OptSettings& options, Kind kind = Kind::by_steps) {
  std::vector<std::string> measured;
  return test::run(options, std::make_unique<RunningGpu>(measured, kind));
}

}  // namespace

TEST_CASE("a result is kept only if it is faster on the GPU") {
  const TemporaryFolder folder;
  const Json faster = confirmed(confirming(folder));
  CHECK(faster["confirmed"]["ratio"].get<double>() > 1.1);
  CHECK(!faster["search"]["applied"].empty());
  CHECK(faster["search"]["unconfirmed"] == "");
  const Json same = confirmed(confirming(folder), Kind::always_the_same);
  CHECK(same["search"]["applied"].empty());
  CHECK_THAT(same["search"]["note"].get<std::string>(), Catch::Contains("so not faster"));
  CHECK(same["verdict"] != "FAILED");
}

TEST_CASE("an unknown batch is confirmed with the given size, or with 1") {
  for (const bool is_said : {false, true}) {
    const TemporaryFolder folder;
    OptSettings options = confirming(folder, test::with_shared_inputs(true));
    if (is_said) options.test_shapes.push_back({"x0", {7, 64}});
    const Json report = confirmed(options);
    CHECK(report["confirmed"]["ratio"].get<double>() > 1.1);
    CHECK(!report["search"]["applied"].empty());
    CHECK(report["search"]["tried_in_lanes"].get<std::size_t>() > 0);  // the last choice uses the simulated run time
    CHECK(report["after"]["predicted"]["seconds_in_lanes"].get<double>() > 0);
    const Json inputs = report["assumed_sizes"]["inputs"];
    CHECK(inputs == (is_said ? Json::object() : Json{{"x0", {1, 64}}}));
  }
}

TEST_CASE("a model that cannot run is written without rewrites") {
  const TemporaryFolder folder;
  proto::ModelProto model = test::with_shared_inputs();
  auto& opset = *model.add_opset_import();
  opset.set_domain("test.custom");
  opset.set_version(1);
  test::add_node(*model.mutable_graph(), "Custom", {"x2"}, {"z"}).set_domain("test.custom");
  test::declare(*model.mutable_graph()->add_output(), "z", {1, 64});
  const Json report = confirmed(confirming(folder, model));
  CHECK(report["search"]["applied"].empty());
  CHECK_THAT(report["search"]["note"].get<std::string>(),
             Catch::Contains("cannot confirm that it is faster: cannot run test.custom.Custom"));
  CHECK(report["output"].is_string());
}

TEST_CASE("an interrupt during confirmation loses nothing") {
  for (const Kind kind : {Kind::interrupted_by_loading, Kind::interrupted_by_running}) {
    const TemporaryFolder folder;
    const OptSettings options = confirming(folder);
    // In another process, because an interrupt concerns the whole process.
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Console::Options quiet;
      quiet.program = "test";
      quiet.verbosity = -2;
      Console console(quiet);
      watch_for_interrupt();
      std::vector<std::string> measured;
      int code = 99;
      try {
        code = static_cast<int>(cli::optimise(options, console, std::make_unique<RunningGpu>(measured, kind)));
      } catch (...) {
      }
      ::_exit(code);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == static_cast<int>(ExitCode::interrupted));
    std::ifstream file(*options.report);
    const Json report = Json::parse(file);
    CHECK(!report["search"]["applied"].empty());
    CHECK_THAT(report["search"]["unconfirmed"].get<std::string>(), Catch::Contains("interrupted"));
    CHECK(report["confirmed"].is_null());
    CHECK(report["output"].is_string());
  }
}

namespace {

/// Every call takes longer than a millisecond, and wide products fail.
class NarrowGpu : public NoGpu {
 public:
  explicit NarrowGpu(std::vector<std::string>& measured) : NoGpu(measured, 5e6) {}
  gpu::Measurement measure(const cost::Call& call) override {
    gpu::Measurement found = NoGpu::measure(call);
    for (const cost::Call::Operand& operand : call.written)
      if (!operand.extents.empty() && operand.extents.back() > 64) found.trouble = "too wide";
    return found;
  }
};

}  // namespace

TEST_CASE("a kernel that a GPU cannot run never counts as faster") {
  const TemporaryFolder folder;
  std::vector<std::string> measured;
  const Json report = test::run(test::options_for(folder), std::make_unique<NarrowGpu>(measured));
  CHECK(report["search"]["applied"].empty());
  CHECK(report["after"]["predicted"]["seconds"].get<double>() < 1);
}

}  // namespace taso::test
