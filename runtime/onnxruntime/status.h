// Errors at the border to ONNX Runtime: inside the provider they are exceptions, outside an OrtStatus.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <onnxruntime_c_api.h>
#include <taso/taso.h>

namespace taso::onnxruntime {

/// The oldest version of ONNX Runtime's interface that will do. Newer headers and runtimes know it too.
constexpr std::uint32_t oldest_interface = 23;
static_assert(ORT_API_VERSION >= oldest_interface, "the headers of ONNX Runtime 1.23 or newer are needed");

/// The runtime that loaded the provider.
struct Runtime {
  const OrtApi& api;
  const OrtEpApi& provider_api;
  std::uint32_t version;  ///< of the interface: the older one of the headers and the runtime

  /// Whether tensors can be in device memory: kernels that copy them between nodes can be registered since 1.24.
  bool has_device_memory() const { return version >= 24; }
  /// Tells which node a subgraph belongs to.
  bool knows_parents() const { return version >= 24; }
};

class Failure : public std::runtime_error {
 public:
  Failure(OrtErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

/// Throws if a function of ONNX Runtime failed.
void require(const OrtApi& api, OrtStatus* status);
/// Throws if a function of libtaso failed.
void require(taso_status status);

/// The status for the exception that is being handled.
OrtStatus* status_of_exception(const OrtApi& api) noexcept;

/// Runs `work`; nothing that it throws gets out.
template <class Work>
OrtStatus* guarded(const OrtApi& api, const Work& work) noexcept {
  try {
    work();
    return nullptr;
  } catch (...) {
    return status_of_exception(api);
  }
}

/// Calls a function of ONNX Runtime that stores its result behind its last argument.
template <class Result, class Function, class... Arguments>
Result ask(const OrtApi& api, Function function, Arguments... arguments) {
  Result result{};
  require(api, function(arguments..., &result));
  return result;
}

}  // namespace taso::onnxruntime
