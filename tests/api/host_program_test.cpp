// What a session on a GPU does for sizes of 0: the host computes everything, in one step of a program for the device.
#include "runtime/session/host_program.h"

#include "ops/core/error.h"
#include "runtime/gpu/execution.h"
#include "tests/catch.h"
#include "tests/cli/opt/no_gpu.h"

namespace taso::test {
namespace {

/// A device whose memory is that of the host.
class HostMemory : public NoGpu {
 public:
  using NoGpu::NoGpu;
  class Program : public gpu::DeviceProgram {
   public:
    explicit Program(gpu::DeviceSteps steps) : steps_(std::move(steps)) {}
    std::vector<std::vector<std::byte>> run(std::span<const std::span<const std::byte>> inputs) override {
      REQUIRE(steps_.steps.size() == 1);
      const gpu::DeviceSteps::Step& step = steps_.steps.front();
      std::vector<std::span<const std::byte>> read;
      std::vector<std::span<std::byte>> written;
      std::vector<std::vector<std::byte>> outputs;
      for (const std::int64_t bytes : steps_.output_bytes) outputs.emplace_back(static_cast<std::size_t>(bytes));
      for (const gpu::Binding& binding : step.read) {
        REQUIRE(binding.place == gpu::Binding::Place::input);
        REQUIRE(inputs[binding.index].size() == static_cast<std::size_t>(steps_.input_bytes[binding.index]));
        read.push_back(inputs[binding.index]);
      }
      for (const gpu::Binding& binding : step.written) written.emplace_back(outputs[binding.index]);
      step.host(read, written);
      return outputs;
    }
    void enqueue(std::span<const gpu::CallersMemory>, std::span<const gpu::CallersMemory>, void*) override {}
    std::vector<double> time(std::size_t) override { return {}; }
    std::vector<double> profile() override { return {}; }
    std::size_t launches() const override { return 0; }
    std::int64_t device_bytes() const override { return 0; }
    const std::vector<std::string>& choices() const override { return choices_; }

   private:
    gpu::DeviceSteps steps_;
    std::vector<std::string> choices_;
  };
  std::unique_ptr<gpu::DeviceProgram> load(gpu::DeviceSteps steps) override {
    return std::make_unique<Program>(std::move(steps));
  }
};

}  // namespace

TEST_CASE("the host computes a program for a device") {
  std::vector<std::string> measured;
  HostMemory device(measured);
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  const Dim past = Dim::symbol("past");
  const Value x = graph.pool->input("x", {ElementType::float32, Shape{Dim(2), past}}),
              y = graph.pool->input("y", {ElementType::float32, Shape{Dim(2), Dim(1)}});
  graph.inputs = {x, y};
  graph.outputs = {graph.pool->apply(op::Concat{.axis = 1}, {x, y}), x};
  for (const cost::Precision precision : {cost::Precision::fp32, cost::Precision::fp16})
    for (const std::int64_t size : {0, 2}) {
      const runtime::HostProgram made =
          runtime::host_program(graph, {{"past", size}}, device, precision, 1, gpu::DeviceMemory());
      CHECK(made.outputs == std::vector<Extents>{{2, size + 1}, {2, size}});
      const std::vector<float> given = size == 0 ? std::vector<float>{} : std::vector<float>{1, 2, 3, 4}, more = {5, 6};
      const auto left = gpu::to_device(Array::of<float>({2, size}, given), precision),
                 right = gpu::to_device(Array::of<float>({2, 1}, more), precision);
      const std::vector<std::span<const std::byte>> inputs{left, right};
      const auto outputs = made.program->run(inputs);
      const Array joined = gpu::from_device(outputs[0], ElementType::float32, made.outputs[0], precision);
      const std::vector<float> expected = size == 0 ? more : std::vector<float>{1, 2, 5, 3, 4, 6};
      const auto found = joined.values<float>();
      CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
      CHECK(outputs[1] == left);
    }
  CHECK_THROWS_AS(runtime::host_program(graph, {}, device, cost::Precision::fp32, 1, gpu::DeviceMemory()), InputError);
}

}  // namespace taso::test
