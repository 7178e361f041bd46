#include "runtime/gpu/cuda/source_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/gpu/cuda/handles.h"
#ifdef TASO_HAS_NVRTC
#include <nvrtc.h>
#endif

namespace taso::gpu::cuda {

namespace {

/// The text put before every kernel. compute-sanitizer reports every copy between blocks of a cluster as an access out
/// of bounds, but it follows copies word by word: TASO_SEND_WORDS=1 selects these (scripts/sanitize-gpu).
std::string definitions() {
  const char* const words = std::getenv("TASO_SEND_WORDS");
  return words != nullptr && *words == '1' ? "#define TASO_SEND_WORDS\n" : "";
}

#ifdef TASO_HAS_NVRTC
void demand(nvrtcResult status, std::string_view what) {
  if (status == NVRTC_SUCCESS) return;
  throw EnvironmentError(fmt::format("the kernel compiler: {}: {}", what, nvrtcGetErrorString(status)));
}

struct ProgramEnd {
  nvrtcProgram program = nullptr;
  ~ProgramEnd() { nvrtcDestroyProgram(&program); }
};

std::pair<int, int> compiler_numbers() {
  std::pair<int, int> numbers;
  demand(nvrtcVersion(&numbers.first, &numbers.second), "its version");
  return numbers;
}

std::vector<char> compile(const std::string& source, int capability) {
  ProgramEnd end;
  demand(nvrtcCreateProgram(&end.program, source.c_str(), "kernel.cu", 0, nullptr, nullptr), "a program");
  const std::string architecture = fmt::format("--gpu-architecture=sm_{}", capability);
  std::vector<const char*> options{architecture.c_str(), "--std=c++17", "-default-device"};
  if (compiler_numbers() >= std::pair(12, 4)) options.push_back("--minimal");  // a tenth faster
  const nvrtcResult status = nvrtcCompileProgram(end.program, static_cast<int>(options.size()), options.data());
  if (status != NVRTC_SUCCESS) {
    std::size_t size = 0;
    std::string log;
    if (nvrtcGetProgramLogSize(end.program, &size) == NVRTC_SUCCESS && size > 0) {
      log.resize(size);
      if (nvrtcGetProgramLog(end.program, log.data()) != NVRTC_SUCCESS) log.clear();
    }
    throw EnvironmentError(fmt::format("the kernel compiler: {}: {}", nvrtcGetErrorString(status), log.c_str()));
  }
  std::size_t size = 0;
  demand(nvrtcGetCUBINSize(end.program, &size), "the size of a kernel");
  std::vector<char> code(size);
  demand(nvrtcGetCUBIN(end.program, code.data()), "a kernel");
  return code;
}

std::string compiler_version() {
  const auto [major, minor] = compiler_numbers();
  return fmt::format("{}.{}", major, minor);
}
#else
std::vector<char> compile(const std::string&, int) { throw EnvironmentError("this build has no kernel compiler"); }
std::string compiler_version() { return ""; }
#endif

}  // namespace

struct SourceKernels::Loaded {
  KernelBinary binary;
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  ~Loaded() {
    if (library != nullptr) cudaLibraryUnload(library);
  }
};

namespace {

class PreparedSource : public Prepared {
 public:
  PreparedSource(std::shared_ptr<const KernelBinary> binary, cudaKernel_t kernel, const SourceLaunch& launch,
                 bool begins_early)
      : binary_(std::move(binary)),
        kernel_(kernel),
        grid_(launch.grid[0], launch.grid[1], launch.grid[2]),
        block_(launch.block),
        shared_(launch.shared_bytes),
        begins_early_(begins_early),
        only_copies_(launch.only_copies),
        arguments_(launch.arguments) {}

  std::size_t workspace_bytes() const override { return 0; }
  const KernelBinary* binary() const override { return binary_.get(); }
  bool is_needless(const Places& places) const override {
    return only_copies_ && places.of(arguments_.front()) == places.of(arguments_.back());
  }

  void launch(cudaStream_t stream, const Places& places) override {
    std::vector<void*> pointers;
    for (const Argument& argument : arguments_) pointers.push_back(places.of(argument));
    std::vector<void*> parameters;
    for (void*& pointer : pointers) parameters.push_back(&pointer);
    cudaLaunchConfig_t config{};
    config.gridDim = grid_;
    config.blockDim = block_;
    config.dynamicSmemBytes = shared_;
    config.stream = stream;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = begins_early_ && places.has_one_before ? 1 : 0;
    require(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel_), parameters.data()), "a kernel");
  }

 private:
  std::shared_ptr<const KernelBinary> binary_;  // keeps it loaded
  cudaKernel_t kernel_;
  dim3 grid_, block_;
  std::uint32_t shared_;
  bool begins_early_, only_copies_;
  std::vector<Argument> arguments_;
};

}  // namespace

Compilers::Compilers() {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { work_on(stop); });
}

Compilers::~Compilers() { give_up(); }

void Compilers::give_up() {
  std::deque<std::packaged_task<KernelBinary()>> waiting;
  const std::lock_guard lock(mutex_);
  waiting.swap(waiting_);
}

std::future<KernelBinary> Compilers::submit(std::function<KernelBinary()> work) {
  std::packaged_task<KernelBinary()> task(std::move(work));
  std::future<KernelBinary> result = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
  return result;
}

void Compilers::work_on(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
    std::packaged_task<KernelBinary()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
  }
}

SourceKernels::SourceKernels(int device, int capability, KernelCache& cache)
    : device_(device), capability_(capability), cache_(cache) {}
SourceKernels::~SourceKernels() = default;

KernelBinary SourceKernels::compiled(const SourceLaunch& launch) const {
  const std::string source = definitions() + launch.source;
  KernelBinary binary;
  binary.key = KernelCache::key_of(fmt::format("compiler {}, sm_{}\n{}", compiler_version(), capability_, source));
  binary.code = cache_.find(binary.key);
  if (binary.code.empty()) {
    binary.code = compile(source, capability_);
    cache_.keep(binary);
  }
  return binary;
}

void SourceKernels::expect(std::vector<SourceLaunch> launches) {
  for (SourceLaunch& launch : launches) {
    const std::pair key{launch.source, launch.name};
    if (!loaded_.contains(key) && !expected_.contains(key))
      expected_[key] = compilers_.submit([this, launch = std::move(launch)] { return compiled(launch); });
  }
}

void SourceKernels::expect_nothing() {
  compilers_.give_up();
  std::erase_if(expected_, [](const auto& one) {
    return one.second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
}

std::unique_ptr<Prepared> SourceKernels::prepare(const SourceLaunch& launch) {
  const std::pair key{launch.source, launch.name};
  const auto known = loaded_.find(key);
  std::shared_ptr<Loaded> loaded = known == loaded_.end() ? nullptr : known->second;
  if (!loaded) {
    auto fresh = std::make_shared<Loaded>();
    auto expected = expected_.extract(key);
    fresh->binary = expected ? expected.mapped().get() : compiled(launch);
    require(cudaLibraryLoadData(&fresh->library, fresh->binary.code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "a compiled kernel");
    require(cudaLibraryGetKernel(&fresh->kernel, fresh->library, launch.name.c_str()), launch.name);
    loaded = loaded_[key] = std::move(fresh);  // only on success: a failed compilation may be announced again
  }
  // More than this needs an explicit request.
  constexpr std::uint32_t usual_shared_bytes = 48 << 10;
  if (launch.shared_bytes > usual_shared_bytes) {
    require(cudaKernelSetAttributeForDevice(loaded->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(launch.shared_bytes), device_),
            "shared memory for a kernel");
  }
  constexpr std::uint32_t usual_cluster = 8;
  if (launch.cluster > usual_cluster) {
    require(cudaKernelSetAttributeForDevice(loaded->kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1, device_),
            "a large cluster for a kernel");
  }
  // Older GPUs start a kernel only after the previous one has ended.
  const bool begins_early = launch.begins_early && capability_ >= 90;
  return std::make_unique<PreparedSource>(std::shared_ptr<const KernelBinary>(loaded, &loaded->binary), loaded->kernel,
                                          launch, begins_early);
}

}  // namespace taso::gpu::cuda
