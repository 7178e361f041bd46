// The accelerator behind the module's C entry point.
#include "runtime/gpu/cuda/module.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "runtime/gpu/cuda/candidates.h"
#include "runtime/gpu/cuda/handles.h"
#include "runtime/gpu/cuda/layout.h"
#include "runtime/gpu/cuda/libraries/libraries.h"
#include "runtime/gpu/cuda/nvml.h"
#include "runtime/gpu/cuda/program.h"
#include "runtime/gpu/cuda/tuner.h"
#ifdef TASO_HAS_CUBLAS
#include <cublasLt.h>
#endif
#ifdef TASO_HAS_CUDNN
#include <cudnn.h>
#endif

namespace taso::gpu::cuda {

namespace {

std::string bus_id(int device) {
  char text[32] = {};
  require(cudaDeviceGetPCIBusId(text, sizeof text, device), "its place on the bus");
  return text;
}

class CudaAccelerator : public Accelerator {
 public:
  explicit CudaAccelerator(int device) : libraries_(device), nvml_(bus_id(device).c_str()) {}

  std::string device() const override {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, libraries_.device()), "its name");
    return properties.name;
  }

  std::string versions() const override {
    int driver = 0, runtime = 0;
    require(cudaDriverGetVersion(&driver), "the driver's version");
    require(cudaRuntimeGetVersion(&runtime), "the version");
    std::string text =
        fmt::format("driver {}.{}, CUDA {}.{}", driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
#ifdef TASO_HAS_CUDNN
    const std::size_t cudnn = cudnnGetVersion();
    text += fmt::format(", cuDNN {}.{}.{}", cudnn / 10000, cudnn % 10000 / 100, cudnn % 100);
#endif
#ifdef TASO_HAS_CUBLAS
    const std::size_t cublas = cublasLtGetVersion();
    text += fmt::format(", cuBLAS {}.{}.{}", cublas / 10000, cublas % 10000 / 100, cublas % 100);
#endif
    return text;
  }

  void expect(std::span<const cost::Call> calls) override {
    const Use use(libraries_);
    if (calls.empty()) libraries_.expect_nothing();
    for (const cost::Call& call : calls) libraries_.expect(libraries_.admitted(lowerings(call)));
  }
  Measurement measure(const cost::Call& call) override {
    const Use use(libraries_);
    return tuner().measure(call, {});
  }
  Measurement measure_choice(const cost::Call& call, const std::string& choice) override {
    const Use use(libraries_);
    return tuner().measure_choice(call, choice);
  }
  double time_choice(const cost::Call& call, const std::string& choice, const Surroundings& surroundings) override {
    const Use use(libraries_);
    return tuner().time_choice(call, choice, surroundings);
  }
  std::vector<Measurement> measure_all(const cost::Call& call) override {
    const Use use(libraries_);
    return tuner().measure_all(call);
  }
  std::vector<std::string> ways(const cost::Call& call, std::size_t most) override {
    const Use use(libraries_);
    return tuner().ways(call, most);
  }
  std::unique_ptr<DeviceProgram> load(DeviceSteps steps) override {
    const Use use(libraries_);
    libraries_.expect_nothing();  // the program's own kernels are compiled first
    return std::make_unique<Program>(
        libraries_, [this]() -> Tuner& { return tuner(); }, std::move(steps));
  }
  void know(std::vector<KernelBinary> kernels) override { libraries_.know(std::move(kernels)); }
  DeviceState state() const override { return nvml_.state(); }
  int capability() const override { return libraries_.capability(); }
  void use_libraries_only() override { libraries_.leave_out_own(); }

 private:
  /// One thread at a time prepares and measures, with this GPU as its current one.
  class Use {
   public:
    explicit Use(Libraries& libraries) : lock_(libraries.guard()), device_(libraries.device()) {}

   private:
    std::lock_guard<std::recursive_mutex> lock_;
    DeviceGuard device_;
  };
  Tuner& tuner() {
    if (!tuner_) tuner_ = std::make_unique<Tuner>(libraries_);
    return *tuner_;
  }

  Libraries libraries_;
  Nvml nvml_;
  std::unique_ptr<Tuner> tuner_;
};

}  // namespace

}  // namespace taso::gpu::cuda

extern "C" __attribute__((visibility("default"))) void* taso_cuda_open(std::uint64_t layout, std::int32_t device,
                                                                       char* trouble, std::size_t trouble_size) {
  return taso::gpu::made_at_border(layout, trouble, trouble_size, [&]() -> taso::gpu::Accelerator* {
    return new taso::gpu::cuda::CudaAccelerator(device);
  });
}
