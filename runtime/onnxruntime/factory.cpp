// What ONNX Runtime finds in the library: the factory of execution providers.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/onnxruntime/provider.h"

#define TASO_EXPORT extern "C" __attribute__((visibility("default")))

namespace taso::onnxruntime {
namespace {

constexpr std::uint32_t nvidia = 0x10de;           // of PCI
constexpr const char* device_key = "taso_device";  // metadata of a device: its name for libtaso

using Pairs = std::unique_ptr<OrtKeyValuePairs, void (*)(OrtKeyValuePairs*)>;

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
  Factory(const OrtApi& api, const OrtEpApi& provider_api, bool knows_parents)
      : OrtEpFactory{},
        api_(api),
        provider_api_(provider_api),
        knows_parents_(knows_parents),
        version_(taso_version()) {
    ort_version_supported = interface_version;
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
    // Tensors are in memory of the host.
    OrtEpFactory::CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                                       OrtAllocator** allocator) noexcept -> OrtStatus* {
      *allocator = nullptr;
      return nullptr;
    };
    OrtEpFactory::ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    OrtEpFactory::IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }

 private:
  std::size_t find_devices(const std::vector<const OrtHardwareDevice*>& devices, OrtEpDevice** found,
                           std::size_t most) {
    std::size_t count = 0;
    int gpus = 0;
    for (const OrtHardwareDevice* device : devices) {
      std::string name;
      if (api_.HardwareDevice_Type(device) == OrtHardwareDeviceType_CPU)
        name = "cpu";
      else if (api_.HardwareDevice_Type(device) == OrtHardwareDeviceType_GPU &&
               api_.HardwareDevice_VendorId(device) == nvidia && gpus < taso_device_count())
        name = "cuda:" + std::to_string(gpus++);
      if (name.empty() || count == most) continue;
      OrtKeyValuePairs* pairs = nullptr;
      api_.CreateKeyValuePairs(&pairs);
      const Pairs metadata(pairs, api_.ReleaseKeyValuePairs);
      api_.AddKeyValuePair(pairs, device_key, name.c_str());
      require(api_, provider_api_.CreateEpDevice(this, device, pairs, nullptr, &found[count]));
      ++count;
    }
    return count;
  }

  OrtEp* make(const std::vector<const OrtKeyValuePairs*>& metadata, const OrtSessionOptions* session,
              const OrtLogger& logger) {
    Options options;
    for (const OrtKeyValuePairs* pairs : metadata)  // the last one counts: a GPU comes after the CPU
      if (const char* device = pairs == nullptr ? nullptr : api_.GetKeyValue(pairs, device_key); device != nullptr)
        options.emplace_back("device", device);
    Settings settings = settings_of(api_, session);
    for (auto& option : settings.options) options.push_back(std::move(option));
    return new Provider(api_, provider_api_, knows_parents_, std::move(options), std::move(settings.context), logger);
  }

  const OrtApi& api_;
  const OrtEpApi& provider_api_;
  bool knows_parents_;
  std::string version_;
};

}  // namespace
}  // namespace taso::onnxruntime

TASO_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*,
                                         OrtEpFactory** factories, std::size_t most, std::size_t* count) noexcept {
  using namespace taso::onnxruntime;
  const OrtApi* api = base->GetApi(interface_version);
  if (api == nullptr) {
    const std::string text =
        std::string("the execution provider of taso needs ONNX Runtime 1.23 or newer, not ") + base->GetVersionString();
    return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED, text.c_str());
  }
  return guarded(*api, [&] {
    *count = 0;
    if (most == 0) throw Failure(ORT_INVALID_ARGUMENT, "there is no room for a factory");
    const bool knows_parents = !std::string_view(base->GetVersionString()).starts_with("1.23.");
    factories[0] = std::make_unique<Factory>(*api, *api->GetEpApi(), knows_parents).release();
    *count = 1;
  });
}

TASO_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) noexcept {
  delete static_cast<taso::onnxruntime::Factory*>(factory);
  return nullptr;
}
