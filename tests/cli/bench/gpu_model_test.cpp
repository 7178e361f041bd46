// A model is prepared for a fake GPU: what is measured, and which variants its steps use.
#include "cli/bench/gpu_model.h"

#include <unistd.h>

#include <filesystem>

#include "cli/console/measuring.h"
#include "onnx/cleanup/cleanup.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace cli;

namespace {

struct Seen {
  std::size_t measured = 0;  ///< calls
  bool chooses_briefly = false;
  std::vector<gpu::DeviceSteps::Step> steps;
};

class NoProgram : public gpu::DeviceProgram {
 public:
  std::vector<std::vector<std::byte>> run(std::span<const std::span<const std::byte>>) override { return {}; }
  void enqueue(std::span<const gpu::CallersMemory>, std::span<const gpu::CallersMemory>, void*) override {}
  std::vector<double> time(std::size_t runs) override { return std::vector<double>(runs, 1); }
  std::vector<double> profile() override { return {}; }
  std::size_t launches() const override { return 0; }
  std::int64_t device_bytes() const override { return 0; }
  const std::vector<std::string>& choices() const override { return none_; }

 private:
  std::vector<std::string> none_;
};

class NoGpu : public gpu::Accelerator {
 public:
  explicit NoGpu(Seen& seen) : seen_(seen) {}
  std::string device() const override { return "None"; }
  std::string versions() const override { return "driver 0"; }
  gpu::Measurement measure(const cost::Call&) override {
    ++seen_.measured;
    return {{1000, 0, true, "measured", 700, 800, 1200}, ""};
  }
  gpu::Measurement measure_choice(const cost::Call& call, const std::string&) override { return measure(call); }
  double time_choice(const cost::Call&, const std::string&, const gpu::Surroundings&) override { return 1000; }
  std::vector<std::string> ways(const cost::Call&, std::size_t) override { return {"promising", "another"}; }
  std::unique_ptr<gpu::DeviceProgram> load(gpu::DeviceSteps steps) override {
    seen_.steps = std::move(steps.steps);
    seen_.chooses_briefly = steps.chooses_briefly;
    return std::make_unique<NoProgram>();
  }
  gpu::DeviceState state() const override { return {}; }

 private:
  Seen& seen_;
};

Seen prepare(bool measures) {
  const onnx::Model model = onnx::Model::load(source_folder() / "examples/small_convnet.onnx");
  onnx::GraphEdit edit(model);
  onnx::clean_up(edit);
  const Graph graph = onnx::import_model(edit.view()).graph;
  Seen seen;
  Console console({});
  const auto file = std::filesystem::temp_directory_path() / ("taso-gpu-model-" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  pricing::Pricing pricing({true, file, cost::Precision::tf32, false, measures}, std::make_unique<NoGpu>(seen),
                           measuring_on(console));
  GpuModel(graph, pricing).prepare();
  CHECK(pricing.measured() == seen.measured);
  CHECK((pricing.measuring() > 0) == measures);
  std::filesystem::remove(file);
  return seen;
}

}  // namespace

TEST_CASE("a model runs in measured variants, or in promising ones without measuring") {
  for (const bool measures : {true, false}) {
    const Seen seen = prepare(measures);
    CHECK((seen.measured > 0) == measures);
    CHECK(seen.chooses_briefly == !measures);
    REQUIRE(seen.steps.size() > 5);
    for (const gpu::DeviceSteps::Step& step : seen.steps)
      if (!step.host && measures)
        CHECK(step.choice == "measured");
      else if (!step.host)  // what libraries cannot do has a kernel of ours
        CHECK((step.choice.empty() || step.choice == "own: own"));
  }
}

TEST_CASE("preparing a model does not change prices") {
  const onnx::Model model = onnx::Model::load(source_folder() / "examples/small_convnet.onnx");
  onnx::GraphEdit edit(model);
  onnx::clean_up(edit);
  const Graph graph = onnx::import_model(edit.view()).graph;
  Seen seen;
  Console console({});
  const auto file = std::filesystem::temp_directory_path() / ("taso-gpu-model-" + std::to_string(::getpid()));
  pricing::Pricing pricing({true, file, cost::Precision::tf32, false, false}, std::make_unique<NoGpu>(seen),
                           measuring_on(console));
  REQUIRE_FALSE(pricing.times().is_warm());  // set_cache_residency() was not called yet
  const GpuModel ready(graph, pricing);
  CHECK_FALSE(pricing.times().is_warm());
  pricing.set_cache_residency(graph, {});
  CHECK(pricing.times().is_warm());
}

}  // namespace taso::test
