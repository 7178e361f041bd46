#include "runtime/gpu/cuda/source_kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "ops/support/sha256.h"
#include "runtime/gpu/cuda/handles.h"
#ifdef TASO_HAS_NVRTC
#include <nvrtc.h>
#endif

namespace taso::gpu::cuda {

namespace {

/// The folder of compiled kernels; empty if there is none.
std::filesystem::path cache_folder() {
  if (const char* named = std::getenv("XDG_CACHE_HOME"); named != nullptr && *named == '/')
    return std::filesystem::path(named) / "taso";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "taso";
  return {};
}

/// The text put before every kernel. compute-sanitizer reports every copy between blocks of a cluster as an access out
/// of bounds, but it follows copies word by word: TASO_SEND_WORDS=1 selects these (scripts/sanitize-gpu).
std::string definitions() {
  const char* const words = std::getenv("TASO_SEND_WORDS");
  return words != nullptr && *words == '1' ? "#define TASO_SEND_WORDS\n" : "";
}

std::string sha256(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.digest();
}

constexpr std::string_view magic = "taso-cubin-1\n";

/// An entry begins with its checksum, so that a truncated file is rejected.
std::vector<char> read_entry(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t begin = magic.size() + 65;
  if (text.size() <= begin || !text.starts_with(magic)) return {};
  const std::string body = text.substr(begin);
  if (text.substr(magic.size(), 64) != sha256(body)) return {};
  return {body.begin(), body.end()};
}

/// Writes a temporary file and renames it, so that readers see all of it or nothing. Failing to write is not an error.
void write_entry(const std::filesystem::path& path, const std::vector<char>& code) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  static std::atomic<unsigned> number = 0;
  const std::filesystem::path aside = path.string() + fmt::format(".{}.{}", getpid(), number++);
  {
    const std::string body(code.begin(), code.end());
    std::ofstream file(aside, std::ios::binary);
    file << magic << sha256(body) << '\n' << body;
    file.close();
    if (!file) {
      std::filesystem::remove(aside, error);
      return;
    }
  }
  std::filesystem::rename(aside, path, error);
  if (error) std::filesystem::remove(aside, error);
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

std::vector<char> compile(const std::string& source, int capability) {
  ProgramEnd end;
  demand(nvrtcCreateProgram(&end.program, source.c_str(), "kernel.cu", 0, nullptr, nullptr), "a program");
  const std::string architecture = fmt::format("--gpu-architecture=sm_{}", capability);
  const char* const options[] = {architecture.c_str(), "--std=c++17", "-default-device"};
  const nvrtcResult status = nvrtcCompileProgram(end.program, 3, options);
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
  int major = 0, minor = 0;
  demand(nvrtcVersion(&major, &minor), "its version");
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
        arguments_(launch.arguments) {}

  std::size_t workspace_bytes() const override { return 0; }
  const KernelBinary* binary() const override { return binary_.get(); }

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
  bool begins_early_;
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

SourceKernels::SourceKernels(int device, int capability)
    : device_(device), capability_(capability), folder_(cache_folder()) {}
SourceKernels::~SourceKernels() = default;

KernelBinary SourceKernels::compiled(const SourceLaunch& launch) const {
  const std::string source = definitions() + launch.source;
  const std::string key = sha256(fmt::format("compiler {}, sm_{}\n{}", compiler_version(), capability_, source));
  {
    const std::lock_guard lock(guard_);
    if (const auto known = known_.find(key); known != known_.end()) return {key, known->second};
  }
  if (folder_.empty()) return {key, compile(source, capability_)};
  const std::filesystem::path path = folder_ / fmt::format("{}.cubin", key);
  std::vector<char> code = read_entry(path);
  if (code.empty()) {
    code = compile(source, capability_);
    write_entry(path, code);
  }
  return {key, std::move(code)};
}

void SourceKernels::know(std::vector<KernelBinary> kernels) {
  const std::lock_guard lock(guard_);
  for (KernelBinary& kernel : kernels) known_.insert_or_assign(kernel.key, std::move(kernel.code));
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
