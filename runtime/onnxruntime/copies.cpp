#include "runtime/onnxruntime/copies.h"

#include <memory>
#include <vector>

#include "runtime/onnxruntime/graph.h"

#if ORT_API_VERSION >= 24

namespace taso::onnxruntime {

struct CopyKernels::Kernel : OrtKernelImpl {
  explicit Kernel(const CopyKernels& all) : OrtKernelImpl{}, runtime(all.runtime_), device(all.device_) {
    ort_version_supported = runtime.version;
    Release = [](OrtKernelImpl* self) noexcept { delete static_cast<Kernel*>(self); };
    Compute = [](OrtKernelImpl* self, OrtKernelContext* context) noexcept {
      const auto& kernel = *static_cast<Kernel*>(self);
      return guarded(kernel.runtime.api, [&] { kernel.copy(context); });
    };
  }
  void copy(OrtKernelContext* context) const {
    const OrtApi& api = runtime.api;
    const auto* input = ask<const OrtValue*>(api, api.KernelContext_GetInput, context, std::size_t{0});
    if (input == nullptr) return;
    const TensorView from = view_of(api, *input);
    auto* output =
        ask<OrtValue*>(api, api.KernelContext_GetOutput, context, std::size_t{0}, from.sizes.data(), from.sizes.size());
    if (output == nullptr) throw Failure(ORT_EP_FAIL, "the result of a copy is missing");
    const TensorView to = view_of(api, *output);
    void* const stream = ask<void*>(api, api.KernelContext_GetGPUComputeStream, context);
    require(taso_device_copy(device, const_cast<char*>(to.bytes.data()), from.bytes.data(), from.bytes.size(), stream));
    // Nodes on the host read it at once.
    if (!to.is_on_device) require(taso_stream_wait(device, stream));
  }
  Runtime runtime;
  int device;
};

CopyKernels::CopyKernels(const Runtime& runtime, int device, const char* provider)
    : runtime_(runtime), device_(device) {
  registry_ = ask<OrtKernelRegistry*>(runtime.api, runtime.provider_api.CreateKernelRegistry);
  try {
    add(provider, false);
    add(provider, true);
  } catch (...) {
    runtime.provider_api.ReleaseKernelRegistry(registry_);
    throw;
  }
}

void CopyKernels::add(const char* provider, bool is_to_host) {
  const OrtApi& api = runtime_.api;
  const OrtEpApi& kernels = runtime_.provider_api;
  std::vector<const OrtDataType*> types;
  for (int type = TASO_FLOAT32; type <= TASO_BFLOAT16; ++type)
    if (is_element(type))
      types.push_back(
          ask<const OrtDataType*>(api, kernels.GetTensorDataType, static_cast<ONNXTensorElementDataType>(type)));
  const std::unique_ptr<OrtKernelDefBuilder, void (*)(OrtKernelDefBuilder*)> builder(
      ask<OrtKernelDefBuilder*>(api, kernels.CreateKernelDefBuilder), kernels.ReleaseKernelDefBuilder);
  require(api, kernels.KernelDefBuilder_SetOperatorType(builder.get(), is_to_host ? "MemcpyToHost" : "MemcpyFromHost"));
  require(api, kernels.KernelDefBuilder_SetDomain(builder.get(), ""));
  require(api, kernels.KernelDefBuilder_SetSinceVersion(builder.get(), 1, 1));
  require(api, kernels.KernelDefBuilder_SetExecutionProvider(builder.get(), provider));
  require(api, is_to_host ? kernels.KernelDefBuilder_SetOutputMemType(builder.get(), 0, OrtMemTypeCPUOutput)
                          : kernels.KernelDefBuilder_SetInputMemType(builder.get(), 0, OrtMemTypeCPUInput));
  require(api, kernels.KernelDefBuilder_AddTypeConstraint(builder.get(), "T", types.data(), types.size()));
  const std::unique_ptr<OrtKernelDef, void (*)(OrtKernelDef*)> definition(
      ask<OrtKernelDef*>(api, kernels.KernelDefBuilder_Build, builder.get()), kernels.ReleaseKernelDef);
  const OrtKernelCreateFunc make = [](void* all, const OrtKernelInfo*, OrtKernelImpl** made) noexcept {
    const auto& self = *static_cast<const CopyKernels*>(all);
    return guarded(self.runtime_.api, [&] { *made = std::make_unique<Kernel>(self).release(); });
  };
  require(api, kernels.KernelRegistry_AddKernel(registry_, definition.get(), make, this));
}

}  // namespace taso::onnxruntime

#endif
