// What became of a model: counted once, then told to people as a table and to programs as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/figures.h"
#include "cli/opt/coverage.h"
#include "cli/opt/search.h"
#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/model/model.h"
#include "runtime/pricing/figures.h"

namespace taso::cli {

struct ModelCounts {
  std::map<std::string, std::size_t>
      operators;                            ///< by type, with the domain if it is not ONNX's own; subgraphs included
  std::uint64_t bytes = 0;                  ///< the message and its external weights
  std::optional<pricing::Figures> figures;  ///< nothing if they are not known
  std::size_t total() const;
};
ModelCounts count_model(const onnx::Model& model);

struct Summary {
  std::filesystem::path input, output;
  std::optional<std::filesystem::path> certificate;  ///< where it was written
  bool written = false;
  ModelCounts before, after;
  std::vector<onnx::CleanupCount> passes;
  std::optional<Coverage> coverage;     ///< of what was searched; nothing if it cannot be imported
  std::string prices;                   ///< where they come from
  std::size_t measured = 0;             ///< kernels of which the GPU told the price just now
  double measuring = 0;                 ///< seconds that this took
  std::optional<SearchSummary> search;  ///< nothing when there was none
  std::optional<Ratio> confirmed;       ///< how many times as fast it is on the GPU; nothing if that was not asked for
  std::optional<onnx::CheckResult> check;  ///< nothing when it was turned off
  pricing::AssumedSizes assumed;           ///< what prices rest on besides
  unsigned samples = 0;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, double>> seconds;  ///< by phase

  bool failed() const { return check && !check->passed; }
  bool changed() const;
  /// The closing word: PASSED, FAILED, or what stands in for it.
  std::string verdict() const;
};

/// The closing table, without the verdict; several lines.
std::string table_of(const Summary& summary);
/// One line on the check.
std::string describe_check(const Summary& summary);
/// The report, as JSON text.
std::string report_of(const Summary& summary);

}  // namespace taso::cli
