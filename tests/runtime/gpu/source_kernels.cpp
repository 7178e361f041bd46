#include "tests/runtime/gpu/source_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace gpu;

namespace {

bool waits(const SourceLaunch& launch) {
  return launch.source.find("__syncthreads") != std::string::npos || launch.source.find("__shfl") != std::string::npos;
}

/// Puts each kernel into its own namespace, under its own name.
std::string text_of(const SourceLaunch& launch, std::size_t number) {
  return fmt::format("namespace k{0} {{\n#define {1} {1}_{0}\n{2}#undef {1}\n}}\n", number, launch.name, launch.source);
}

}  // namespace

HostKernels::HostKernels(const std::vector<SourceLaunch>& launches) {
  static int libraries = 0;
  const auto path = std::filesystem::temp_directory_path() / fmt::format("taso-source-{}-{}", ::getpid(), libraries++);
  const std::string source = path.string() + ".cpp", library = path.string() + ".so", log = path.string() + ".log";
  {
    std::ofstream file(source);
    file << "#include \"" << std::filesystem::absolute(source_folder() / "tests/runtime/gpu/source_host.inc").string()
         << "\"\n";
    for (std::size_t i = 0; i < launches.size(); ++i) {
      file << text_of(launches[i], i);
      file << fmt::format(
          "extern \"C\" void run_{0}(void** arguments, const unsigned* grid, unsigned block, unsigned cluster) {{\n"
          "  run_kernel<&k{0}::{1}_{0}>(&k{0}::{1}_{0}, arguments, grid, block, cluster, {2});\n}}\n",
          i, launches[i].name, waits(launches[i]));
    }
  }
  const char* compiler = std::getenv("CXX");
  const std::string command = fmt::format(
      "{} -std=c++17 -O1 -w -shared -fPIC -fno-strict-aliasing -fsanitize=alignment,bounds,signed-integer-overflow "
      "-fsanitize-undefined-trap-on-error -o '{}' '{}' > '{}' 2>&1",
      compiler != nullptr && *compiler != '\0' ? compiler : "c++", library, source, log);
  const int status = std::system(command.c_str());
  if (status != 0) {
    std::ifstream said(log);
    std::string text((std::istreambuf_iterator<char>(said)), {});
    throw std::runtime_error(command + "\n" + text.substr(0, 4000));
  }
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  if (std::getenv("TASO_KEEP_SOURCES") == nullptr)
    for (const std::string& file : {source, library, log}) std::filesystem::remove(file);
}

HostKernels::~HostKernels() { dlclose(library_); }

void HostKernels::run(std::size_t kernel, const SourceLaunch& launch, std::vector<void*> arguments) const {
  using Function = void (*)(void**, const unsigned*, unsigned, unsigned);
  const auto function = reinterpret_cast<Function>(dlsym(library_, fmt::format("run_{}", kernel).c_str()));
  check(function != nullptr, "every kernel is in the library");
  function(arguments.data(), launch.grid.data(), launch.block, launch.cluster);
}

DeviceCompiler::DeviceCompiler() {
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
    if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

std::string DeviceCompiler::complaints(const std::string& source) const {
  const auto function = [&](const char* name) { return dlsym(library_, name); };
  using Program = void*;
  const auto create =
      reinterpret_cast<int (*)(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          function("nvrtcCreateProgram"));
  const auto compile = reinterpret_cast<int (*)(Program, int, const char* const*)>(function("nvrtcCompileProgram"));
  const auto log_size = reinterpret_cast<int (*)(Program, std::size_t*)>(function("nvrtcGetProgramLogSize"));
  const auto log = reinterpret_cast<int (*)(Program, char*)>(function("nvrtcGetProgramLog"));
  const auto destroy = reinterpret_cast<int (*)(Program*)>(function("nvrtcDestroyProgram"));
  check(create && compile && log_size && log && destroy, "NVRTC has the functions that it is documented to have");
  Program program = nullptr;
  if (create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) return "no program could be made";
  const char* const options[] = {"--gpu-architecture=sm_90", "--disable-warnings", "--std=c++17", "-default-device"};
  const int status = compile(program, 4, options);
  std::size_t size = 0;
  log_size(program, &size);
  std::string said(size, '\0');
  log(program, said.data());
  destroy(&program);
  while (!said.empty() && (said.back() == '\0' || said.back() == '\n')) said.pop_back();
  if (status != 0 && said.empty()) return "it cannot be compiled";
  return said;
}

std::string DeviceCompiler::joined(const std::vector<SourceLaunch>& launches) {
  std::string text;
  for (std::size_t i = 0; i < launches.size(); ++i) text += text_of(launches[i], i);
  return text;
}

}  // namespace taso::test
