// A model ready to run: cleaned up, with all sizes known.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "cli/bench/range.h"
#include "cli/bench/settings.h"
#include "onnx/export/edit.h"
#include "onnx/model/model.h"
#include "ops/core/array.h"
#include "ops/graph/graph.h"

namespace taso::cli {

struct LoadedModel {
  std::filesystem::path file;
  onnx::Model model;
  std::unique_ptr<onnx::GraphEdit> edit;
  Graph graph;
  std::vector<Array> inputs;
  ValueNames names;  ///< names of the values in the model
};

/// Throws InputError, and UsageError for requested shapes that do not fit; both name the file.
LoadedModel load(const std::filesystem::path& file, const BenchSettings& settings);

}  // namespace taso::cli
