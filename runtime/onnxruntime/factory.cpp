// What ONNX Runtime finds in the library: the factory of execution providers.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "runtime/onnxruntime/device.h"
#include "runtime/onnxruntime/provider.h"

#define TASO_EXPORT extern "C" __attribute__((visibility("default")))

namespace taso::onnxruntime {
namespace {

constexpr const char* device_key = "taso_device";  // metadata of a device: its name for libtaso

using MemoryInfo = std::unique_ptr<OrtMemoryInfo, void (*)(OrtMemoryInfo*)>;
using Pairs = std::unique_ptr<OrtKeyValuePairs, void (*)(OrtKeyValuePairs*)>;

/// The version of the interface: the older one of the headers and the runtime ("1.24.1" is 24).
std::uint32_t version_of(const std::string& runtime) {
  const std::size_t dot = runtime.find('.');
  const unsigned long minor = dot == std::string::npos ? 0 : std::strtoul(runtime.c_str() + dot + 1, nullptr, 10);
  const bool is_newer = std::strtoul(runtime.c_str(), nullptr, 10) > 1 || minor > ORT_API_VERSION;
  return is_newer ? ORT_API_VERSION : static_cast<std::uint32_t>(minor);
}

struct Settings {
  Options options;  // of libtaso
  ContextOptions context;
};

/// What the user asked of this provider. ONNX Runtime prefixes the names of its options.
Settings settings_of(const OrtApi& api, const OrtSessionOptions* session) {
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char one) { return std::tolower(one); });
    return text;
  };
  const std::string prefix = lower(std::string("ep.") + provider_name + ".");
  auto* entries = ask<OrtKeyValuePairs*>(api, api.GetSessionOptionsConfigEntries, session);
  const Pairs owner(entries, api.ReleaseKeyValuePairs);
  const char *const *keys = nullptr, *const *values = nullptr;
  std::size_t count = 0;
  api.GetKeyValuePairs(entries, &keys, &values, &count);
  Settings settings;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = keys[i], value = values[i];
    if (lower(key).starts_with(prefix)) settings.options.emplace_back(key.substr(prefix.size()), value);
    if (key == "ep.context_enable") settings.context.is_wanted = value == "1";
    if (key == "ep.context_embed_mode") settings.context.is_embedded = value == "1";
    if (key == "ep.context_file_path") settings.context.model = value;
  }
  return settings;
}

class Factory : public OrtEpFactory {
 public:
  explicit Factory(const Runtime& runtime)
      : OrtEpFactory{},
        runtime_(runtime),
        api_(runtime.api),
        provider_api_(runtime.provider_api),
        version_(taso_version()) {
    ort_version_supported = runtime.version;
    OrtEpFactory::GetName = [](const OrtEpFactory*) noexcept { return provider_name; };
    OrtEpFactory::GetVendor = [](const OrtEpFactory*) noexcept { return "taso"; };
    OrtEpFactory::GetVendorId = [](const OrtEpFactory*) noexcept { return std::uint32_t{0}; };
    OrtEpFactory::GetVersion = [](const OrtEpFactory* self) noexcept {
      return static_cast<const Factory*>(self)->version_.c_str();
    };
    OrtEpFactory::GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                           std::size_t count, OrtEpDevice** found, std::size_t most,
                                           std::size_t* found_count) noexcept {
      auto& factory = *static_cast<Factory*>(self);
      return guarded(factory.api_, [&] {
        *found_count = factory.find_devices({devices, devices + count}, found, most);
      });
    };
    OrtEpFactory::CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*,
                                const OrtKeyValuePairs* const* metadata, std::size_t count,
                                const OrtSessionOptions* session, const OrtLogger* logger, OrtEp** made) noexcept {
      auto& factory = *static_cast<Factory*>(self);
      return guarded(factory.api_, [&] { *made = factory.make({metadata, metadata + count}, session, *logger); });
    };
    OrtEpFactory::ReleaseEp = [](OrtEpFactory*, OrtEp* made) noexcept { delete static_cast<Provider*>(made); };
    offer_memory();
  }
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;
  ~Factory() {
#if ORT_API_VERSION >= 24
    for (OrtHardwareDevice* device : made_devices_) provider_api_.ReleaseHardwareDevice(device);
#endif
  }

 private:
  /// Memory of a GPU, and memory of the host for copies from and to it.
  struct Memory {
    MemoryInfo on_device, on_host;
  };

  /// Without a GPU, or with a runtime that cannot copy between nodes, tensors are in memory of the host.
  void offer_memory() {
    OrtEpFactory::CreateAllocator = [](OrtEpFactory* self, const OrtMemoryInfo* memory, const OrtKeyValuePairs*,
                                       OrtAllocator** made) noexcept {
      auto& factory = *static_cast<Factory*>(self);
      return guarded(factory.api_, [&] { *made = factory.make_allocator(memory); });
    };
    OrtEpFactory::ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* made) noexcept {
      delete static_cast<Allocator*>(made);
    };
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory* self, OrtDataTransferImpl** made) noexcept {
      const auto& factory = *static_cast<Factory*>(self);
      return guarded(factory.api_, [&] {
        *made = factory.has_memory() ? std::make_unique<Transfer>(factory.runtime_).release() : nullptr;
      });
    };
    OrtEpFactory::IsStreamAware = [](const OrtEpFactory* self) noexcept {
      return static_cast<const Factory*>(self)->has_memory();
    };
    OrtEpFactory::CreateSyncStreamForDevice = [](OrtEpFactory* self, const OrtMemoryDevice* device,
                                                 const OrtKeyValuePairs*, OrtSyncStreamImpl** made) noexcept {
      const auto& factory = *static_cast<Factory*>(self);
      return guarded(factory.api_, [&] {
        const auto number = static_cast<int>(factory.provider_api_.MemoryDevice_GetDeviceId(device));
        *made = std::make_unique<Stream>(factory.runtime_, number).release();
      });
    };
  }
  bool has_memory() const { return runtime_.has_device_memory() && taso_device_count() > 0; }

  OrtAllocator* make_allocator(const OrtMemoryInfo* memory) const {
    for (const auto& [number, known] : memories_)
      for (const auto* one : {&known.on_device, &known.on_host})
        if (int difference = 1; api_.CompareMemoryInfo(one->get(), memory, &difference) == nullptr && difference == 0)
          return std::make_unique<Allocator>(runtime_, **one, number, one == &known.on_device ? TASO_DEVICE : TASO_HOST)
              .release();
    return nullptr;  // the default one of the host
  }

  const Memory& memory_of(int number) {
    const auto made = [&](const char* name, OrtDeviceMemoryType type) {
      return MemoryInfo(ask<OrtMemoryInfo*>(api_, api_.CreateMemoryInfo_V2, name, OrtMemoryInfoDeviceType_GPU, nvidia,
                                            number, type, std::size_t{0}, OrtDeviceAllocator),
                        api_.ReleaseMemoryInfo);
    };
    const auto found = memories_.find(number);
    if (found != memories_.end()) return found->second;
    return memories_
        .emplace(number, Memory{made("Cuda", OrtDeviceMemoryType_DEFAULT),
                                made("CudaPinned", OrtDeviceMemoryType_HOST_ACCESSIBLE)})
        .first->second;
  }

  /// The GPUs that ONNX Runtime did not find: a container may not show where it looks.
  void add_hidden(int found, std::vector<const OrtHardwareDevice*>& devices) {
#if ORT_API_VERSION >= 24
    if (!has_memory()) return;
    for (int number = found; number < taso_device_count(); ++number) {
      const char* name = "";
      require(taso_device_describe(number, &name, nullptr));
      OrtKeyValuePairs* pairs = nullptr;
      api_.CreateKeyValuePairs(&pairs);
      const Pairs metadata(pairs, api_.ReleaseKeyValuePairs);
      api_.AddKeyValuePair(pairs, "Description", name);
      made_devices_.reserve(made_devices_.size() + 1);
      made_devices_.push_back(ask<OrtHardwareDevice*>(api_, provider_api_.CreateHardwareDevice,
                                                      OrtHardwareDeviceType_GPU, nvidia,
                                                      static_cast<std::uint32_t>(number), "NVIDIA", pairs));
      devices.push_back(made_devices_.back());
    }
#else
    static_cast<void>(found);
    static_cast<void>(devices);
#endif
  }

  std::size_t find_devices(std::vector<const OrtHardwareDevice*> devices, OrtEpDevice** found, std::size_t most) {
    const auto is_gpu = [&](const OrtHardwareDevice* device) {
      return api_.HardwareDevice_Type(device) == OrtHardwareDeviceType_GPU &&
             api_.HardwareDevice_VendorId(device) == nvidia;
    };
    add_hidden(static_cast<int>(std::count_if(devices.begin(), devices.end(), is_gpu)), devices);
    std::size_t count = 0;
    int gpus = 0;
    for (const OrtHardwareDevice* device : devices) {
      std::string name;
      if (api_.HardwareDevice_Type(device) == OrtHardwareDeviceType_CPU)
        name = "cpu";
      else if (is_gpu(device) && gpus < taso_device_count())
        name = "cuda:" + std::to_string(gpus++);
      if (name.empty() || count == most) continue;
      OrtKeyValuePairs* pairs = nullptr;
      api_.CreateKeyValuePairs(&pairs);
      const Pairs metadata(pairs, api_.ReleaseKeyValuePairs);
      api_.AddKeyValuePair(pairs, device_key, name.c_str());
      require(api_, provider_api_.CreateEpDevice(this, device, pairs, nullptr, &found[count]));
      ++count;
      if (name == "cpu" || !has_memory()) continue;
      const Memory& memory = memory_of(gpus - 1);
      require(api_, provider_api_.EpDevice_AddAllocatorInfo(found[count - 1], memory.on_device.get()));
      require(api_, provider_api_.EpDevice_AddAllocatorInfo(found[count - 1], memory.on_host.get()));
    }
    return count;
  }

  OrtEp* make(const std::vector<const OrtKeyValuePairs*>& metadata, const OrtSessionOptions* session,
              const OrtLogger& logger) {
    Options options;
    const OrtMemoryInfo* memory = nullptr;
    std::string chosen;
    for (const OrtKeyValuePairs* pairs : metadata)  // the first GPU, or else the CPU
      if (const char* device = pairs == nullptr ? nullptr : api_.GetKeyValue(pairs, device_key); device != nullptr)
        if (chosen.empty() || chosen == "cpu") chosen = device;
    if (!chosen.empty()) options.emplace_back("device", chosen);
    for (const auto& [number, known] : memories_)
      if (chosen == "cuda:" + std::to_string(number)) memory = known.on_device.get();
    Settings settings = settings_of(api_, session);
    for (auto& option : settings.options) options.push_back(std::move(option));
    return new Provider(runtime_, std::move(options), memory, std::move(settings.context), logger);
  }

  Runtime runtime_;
  const OrtApi& api_;
  const OrtEpApi& provider_api_;
  std::string version_;
  std::map<int, Memory> memories_;  // of GPUs, by their number
  std::vector<OrtHardwareDevice*> made_devices_;
};

}  // namespace
}  // namespace taso::onnxruntime

TASO_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*,
                                         OrtEpFactory** factories, std::size_t most, std::size_t* count) noexcept {
  using namespace taso::onnxruntime;
  const std::uint32_t version = version_of(base->GetVersionString());
  const OrtApi* api = version < oldest_interface ? nullptr : base->GetApi(version);
  if (api == nullptr) {
    const std::string text =
        std::string("the execution provider of taso needs ONNX Runtime 1.23 or newer, not ") + base->GetVersionString();
    return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED, text.c_str());
  }
  return guarded(*api, [&] {
    *count = 0;
    if (most == 0) throw Failure(ORT_INVALID_ARGUMENT, "there is no room for a factory");
    factories[0] = std::make_unique<Factory>(Runtime{*api, *api->GetEpApi(), version}).release();
    *count = 1;
  });
}

TASO_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) noexcept {
  delete static_cast<taso::onnxruntime::Factory*>(factory);
  return nullptr;
}
