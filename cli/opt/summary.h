// The result of a run: collected once, then printed as a table for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/figures.h"
#include "cli/details/changes.h"
#include "cli/opt/coverage.h"
#include "cli/opt/search.h"
#include "cli/target/runtime_times.h"
#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/model/model.h"
#include "runtime/pricing/figures.h"

namespace taso::cli {

struct ModelCounts {
  std::map<std::string, std::size_t> operators;  ///< by type, with the domain if it is not ONNX's; subgraphs included
  std::uint64_t bytes = 0;                       ///< the message and its external weights
  std::optional<pricing::Figures> figures;       ///< missing if they are not known
  std::size_t total() const;
};
ModelCounts count_model(const onnx::Model& model);

struct Summary {
  std::filesystem::path input, output;
  std::optional<std::filesystem::path> certificate;  ///< where it was written
  bool written = false;
  bool coverage_only = false;         ///< nothing was to be optimised
  std::optional<std::string> engine;  ///< "model.taso, for NVIDIA H200", if one was written
  ModelCounts before, after;
  std::vector<onnx::CleanupCount> passes;
  std::optional<std::size_t> cleaned_nodes;  ///< after the clean-ups and before the search; missing with --coverage
  std::optional<Coverage> coverage;          ///< of the searched graph; missing if the model cannot be imported
  std::string prices;                        ///< where they come from
  std::size_t measured = 0;                  ///< kernels measured on the GPU in this run
  double measuring = 0;                      ///< seconds that this took
  std::optional<SearchSummary> search;       ///< missing if there was no search
  std::optional<Ratio> confirmed;            ///< how many times as fast it is on the GPU; missing without --confirm
  std::optional<RuntimeTimes> in_runtime;    ///< with --target onnxruntime
  std::optional<onnx::CheckResult> check;    ///< missing if the check is off
  pricing::AssumedSizes assumed;             ///< sizes that the prices assume
  std::optional<Details> details;            ///< for the page, if one is written
  unsigned samples = 0;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, double>> seconds;  ///< by phase

  bool failed() const { return check && !check->passed; }
  bool changed() const;
  /// The closing word: PASSED, FAILED, or the reason why nothing changed.
  std::string verdict() const;
};

/// The closing table without the verdict; several lines.
std::string table_of(const Summary& summary);
/// What is understood, for `--coverage`; several lines.
std::string describe_coverage(const Summary& summary);
/// One line on the check.
std::string describe_check(const Summary& summary);
/// The report, as JSON text.
std::string report_of(const Summary& summary);

}  // namespace taso::cli
