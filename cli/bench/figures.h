// Results of benchmarked models: a table for people, JSON for programs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/agreement.h"
#include "cost/pricing/precision.h"
#include "runtime/gpu/accelerator.h"

namespace taso::cli {

/// The results of one model.
struct BenchFigures {
  std::filesystem::path model;
  std::vector<double> microseconds;  ///< of each run
  std::int64_t examples = 1;         ///< per run: the first dimension of the first input
  bool has_inputs_of_first = true;   ///< takes the same inputs as the first model
  std::optional<double>
      predicted;  ///< microseconds, including the fixed time of a run: for its streams, or the sum of its kernels
  double predicted_alone = 0;     ///< the sum of its kernels, run sequentially
  gpu::LanesFound lanes;          ///< how it runs on a GPU
  double measured_share = 0;      ///< the share of the prediction that comes from measured kernels
  std::size_t kernels = 0;        ///< launches per run
  std::int64_t device_bytes = 0;  ///< all memory it holds
  std::int64_t arena_bytes = 0;   ///< for activations
  std::string layout;
  std::vector<std::string> on_host;  ///< operators without a kernel
  std::optional<Agreement> check;    ///< against the reference; missing with --no-check
  std::string range;                 ///< results out of range, if it does not agree and rounding alone explains that
  struct Kernel {
    std::string operators, choice;
    double predicted = 0, measured = 0;  ///< microseconds
  };
  std::vector<Kernel> profile;
};

struct BenchReport {
  std::string device, versions;              ///< "CPU" and empty if no GPU ran
  std::optional<cost::Precision> precision;  ///< missing if no GPU ran
  std::vector<BenchFigures> models;
  gpu::DeviceState state;
  bool is_complete = true;  ///< not interrupted
};

/// The value below which the given share of the numbers lies.
double quantile(std::vector<double> numbers, double share);

/// How many times as fast the second is as the first, with its 95 % confidence interval.
struct Ratio {
  double value = 1, low = 1, high = 1;
  /// Beyond noise, and beyond the effect of memory placement: the same plan loaded twice differs by up to 1 %, however
  /// often it runs.
  bool is_faster() const { return low > 1 + by_places; }
  bool is_slower() const { return high < 1 - by_places; }
  static constexpr double by_places = 0.01;
};
Ratio ratio_of(const std::vector<double>& first, const std::vector<double>& second);
/// The same for two that ran in turn: the median of the ratios of all rounds.
Ratio ratio_in_turn(const std::vector<double>& first, const std::vector<double>& second);

std::string table_of(const BenchReport& report);
std::string profile_of(const BenchFigures& figures);
std::string json_of(const BenchReport& report);

}  // namespace taso::cli
