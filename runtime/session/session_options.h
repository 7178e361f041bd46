// What a session is asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cost/pricing/precision.h"
#include "runtime/gpu/execution.h"

namespace taso::runtime {

enum class LogLevel : std::uint8_t { warning, info, detail };

struct SessionOptions {
  enum class Device : std::uint8_t { automatic, cpu, cuda };
  Device device = Device::automatic;
  int device_number = 0;                        ///< in CUDA's order
  std::optional<cost::Precision> precision;     ///< of float32 on a GPU; if missing, as in the file, or fp32
  bool has_trust = true;                        ///< uses the compiled kernels of an engine file
  double search_seconds = 0;                    ///< 0: the model is run as it is
  bool measures = false;                        ///< kernels without a recorded price
  std::optional<std::filesystem::path> prices;  ///< instead of the user's own
  unsigned threads = 0;                         ///< on the host; 0: all processors
  std::uint32_t lanes = gpu::usual_lanes;       ///< most concurrent streams
  std::size_t most_plans = 8;                   ///< for different sizes
  std::size_t most_device_bytes = 0;            ///< of all plans; 0: no limit
  std::int64_t past_capacity = 0;               ///< rows of the caches of a past that grows; 0: it grows
  gpu::DeviceMemory memory;                     ///< the caller's
  std::function<void(LogLevel, const std::string&)> log;
  std::function<bool()> is_cancelled;

  /// Sets an option by its name in the C interface. Throws InputError.
  void set(std::string_view name, std::string_view value);
  /// Throws InputError if a file that an option names cannot be used.
  void check_files() const;
  void say(LogLevel level, const std::string& text) const {
    if (log) log(level, text);
  }
};

/// The caller asked to stop.
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled by the caller") {}
};

}  // namespace taso::runtime
