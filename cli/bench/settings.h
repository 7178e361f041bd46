// The command line of taso-bench.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/files/places.h"
#include "cli/opt/input_shape.h"
#include "cost/pricing/precision.h"

namespace taso::cli {

/// How often a model runs if nobody says.
constexpr std::size_t runs_on_gpu = 200, runs_on_cpu = 6;
/// How often the models of a GPU take turns, to and fro.
constexpr std::size_t gpu_rounds = 10;

struct BenchSettings {
  enum class Device { automatic, cuda, cpu };
  std::vector<std::filesystem::path> models;
  Device device = Device::automatic;
  cost::Precision precision = cost::Precision::tf32;
  bool is_precision_given = false;
  std::optional<std::int64_t> batch;
  std::vector<InputShape> shapes;   ///< of inputs, for what the models leave open
  std::optional<std::size_t> runs;  ///< of each model
  std::uint32_t lanes = 16;         ///< in which kernels may run side by side on a GPU
  std::uint64_t seed = 0;
  unsigned jobs = 0;
  bool check = true;     ///< whether outputs agree with the reference on the CPU
  bool measure = true;   ///< the kernels that nobody has measured yet
  bool profile = false;  ///< kernel by kernel
  bool record = false;   ///< measure the kernels and keep their prices; run nothing
  bool search = true;    ///< when recording: also the kernels of what the search makes of the models
  bool anew = false;     ///< when recording: prices that come with taso do not count as known
  /// When recording: all of them, one after the other; where there are several, `precision` and `batch` are the first.
  std::vector<cost::Precision> precisions;
  std::vector<std::optional<std::int64_t>> batches;
  std::optional<double> time_budget;  ///< seconds, when recording

  std::optional<std::filesystem::path> prices, exported, imported, json;
  Console::Options console;
};

/// Every file that a run may write.
std::vector<Place> written_places(const BenchSettings& settings);

struct BenchCommand {
  enum class Kind { bench, help, version };
  Kind kind = Kind::bench;
  BenchSettings settings;
  std::string help;  ///< the text to print for `help`
};

/// Throws UsageError.
BenchCommand parse_bench_command(int argc, const char* const* argv);

}  // namespace taso::cli
