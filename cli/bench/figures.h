// What was found out about models that ran: told to people as a table and to programs as JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/agreement.h"
#include "cost/pricing/precision.h"
#include "runtime/gpu/accelerator.h"

namespace taso::cli {

/// Of one model.
struct BenchFigures {
  std::filesystem::path model;
  std::vector<double> microseconds;  ///< of every run
  std::int64_t examples = 1;         ///< in a run: the first dimension of the first input
  bool has_inputs_of_first = true;   ///< takes what the first model takes
  std::optional<double>
      predicted;  ///< microseconds: for its lanes, or as the plan's kernels add up; with what a run takes besides
  double predicted_alone = 0;     ///< as they add up, one after the other
  gpu::LanesFound lanes;          ///< how it runs on a GPU
  double measured_share = 0;      ///< how much of that comes from measured kernels
  std::size_t kernels = 0;        ///< launched in a run
  std::int64_t device_bytes = 0;  ///< all memory that it holds
  std::int64_t arena_bytes = 0;   ///< of activations
  std::string layout;
  std::vector<std::string> on_host;  ///< operators without a kernel
  std::optional<Agreement> check;    ///< with the reference; nothing if that was not asked for
  std::string range;                 ///< where it does not agree, and rounding alone is as far: what is out of range
  struct Kernel {
    std::string operators, choice;
    double predicted = 0, measured = 0;  ///< microseconds
  };
  std::vector<Kernel> profile;
};

struct BenchReport {
  std::string device, versions;              ///< "CPU" and nothing where no GPU ran
  std::optional<cost::Precision> precision;  ///< nothing where no GPU ran
  std::vector<BenchFigures> models;
  gpu::DeviceState state;
  bool is_complete = true;  ///< not interrupted
};

/// The value below which a share of the numbers lies.
double quantile(std::vector<double> numbers, double share);

/// How many times as fast the first is as the second, with the bounds within which that lies in 95 of 100 repetitions.
struct Ratio {
  double value = 1, low = 1, high = 1;
  /// Beyond noise, and by more than where things lie in memory makes of it: the same plan loaded twice takes up to 1 % more or
  /// less, however often it runs.
  bool is_faster() const { return low > 1 + by_places; }
  bool is_slower() const { return high < 1 - by_places; }
  static constexpr double by_places = 0.01;
};
Ratio ratio_of(const std::vector<double>& first, const std::vector<double>& second);

std::string table_of(const BenchReport& report);
std::string profile_of(const BenchFigures& figures);
std::string json_of(const BenchReport& report);

}  // namespace taso::cli
