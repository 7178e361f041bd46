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

/// Default number of runs of each model.
constexpr std::size_t runs_on_gpu = 200, runs_on_cpu = 6;
/// How many times the models on a GPU take turns, forth and back.
constexpr std::size_t gpu_rounds = 10;

struct BenchSettings {
  enum class Device { automatic, cuda, cpu };
  std::vector<std::filesystem::path> models;
  Device device = Device::automatic;
  cost::Precision precision = cost::Precision::tf32;
  bool is_precision_given = false;
  std::optional<std::int64_t> batch;
  std::vector<InputShape> shapes;   ///< of inputs that the models leave open
  std::optional<std::size_t> runs;  ///< of each model
  std::uint32_t lanes = 16;         ///< at most so many streams for concurrent kernels on a GPU
  std::uint64_t seed = 0;
  unsigned jobs = 0;
  bool check = true;     ///< compare outputs with the CPU reference
  bool measure = true;   ///< measure kernels that were never measured
  bool profile = false;  ///< show every kernel
  bool record = false;   ///< measure kernels and keep their prices; do not run the models
  bool search = true;    ///< when recording: also measure the graphs that the search finds
  bool anew = false;     ///< when recording: ignore the shipped prices
  /// When recording: all of them, in order. `precision` and `batch` are the first of them.
  std::vector<cost::Precision> precisions;
  std::vector<std::optional<std::int64_t>> batches;
  std::optional<double> time_budget;  ///< seconds, when recording

  std::optional<std::filesystem::path> prices, exported, imported, json, html;
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
