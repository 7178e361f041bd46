// How many operators of a model the search understands, which of them the host computes, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "onnx/import/import.h"
#include "onnx/import/view.h"
#include "runtime/pricing/figures.h"

namespace taso::cli {

struct Coverage {
  std::size_t operators = 0;   ///< nodes of the main graph that compute something
  std::size_t understood = 0;  ///< those that taso models
  std::string advice = {};     ///< what may make more of it understood; empty if nothing is known to
  /// An operator that no rule can change.
  struct Opaque {
    std::string op;              ///< with the domain if it is not ONNX's
    std::string at;              ///< its first result
    std::string reason;          ///< why it is not understood
    std::uint64_t serial = 0;    ///< in the imported graph
    double seconds = 0;          ///< predicted; 0 if it needs no work at run time, or sizes are not known
    std::string no_kernel = {};  ///< why the host computes it; empty if the GPU does, or nobody has to
  };
  std::vector<Opaque> opaque;   ///< in the order of the model
  double seconds = 0;           ///< predicted, of the whole model; 0 if not known
  std::string runs_on = "GPU";  ///< what runs all but what the host computes

  bool is_complete() const { return opaque.empty(); }
};

Coverage coverage_of(const onnx::ModelView& view, const onnx::ImportedModel& imported);

/// Adds what the plan says of the opaque operators of the same imported graph.
void add_work(Coverage& coverage, const pricing::Figures& figures);

/// Equal operators with equal reasons, those with the most time first, then the most frequent.
struct OpaqueGroup {
  std::string op, reason, no_kernel;
  std::size_t count = 0;
  double seconds = 0;
  std::vector<std::string> at;  ///< their first results
};
std::vector<OpaqueGroup> groups_of(const Coverage& coverage);

/// Lines: "understood 7 of 9 operators; opaque: 2 TopK (taso has no model of it)", what runs on the host, and advice.
std::string text_of(const Coverage& coverage);
/// A table with every group, for `--coverage`.
std::string table_of(const Coverage& coverage);

}  // namespace taso::cli
