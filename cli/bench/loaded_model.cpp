#include "cli/bench/loaded_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/bench/gpu_model.h"
#include "cli/console/exit_code.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/core/random.h"

namespace taso::cli {
namespace {

/// The requested shapes and batch. Throws UsageError if the batch does not apply to any input.
std::vector<InputShape> shapes_for(const onnx::Model& model, const BenchSettings& settings) {
  std::vector<InputShape> shapes = settings.shapes;
  if (!settings.batch) return shapes;
  const std::vector<std::string> names = real_inputs(model.proto());
  bool has_an_effect = false, is_given = false, is_contradicted = false;
  for (const auto& input : model.proto().graph().input()) {
    if (std::find(names.begin(), names.end(), input.name()) == names.end()) continue;
    const auto given = std::find_if(settings.shapes.begin(), settings.shapes.end(), [&](const InputShape& shape) {
      return !shape.input || *shape.input == input.name();
    });
    if (given != settings.shapes.end()) {
      is_given = true;
      is_contradicted = is_contradicted || given->extents.empty() || given->extents.front() != *settings.batch;
      continue;
    }
    const auto& declared = input.type().tensor_type();
    if (declared.has_shape() && declared.shape().dim_size() == 0) continue;  // a scalar
    has_an_effect = true;
    const auto& dims = declared.shape().dim();
    Extents extents;
    for (int i = 0; i < dims.size(); ++i) extents.push_back(i == 0 ? *settings.batch : dims[i].dim_value());
    // Other unknown dimensions must be given by name.
    if (!extents.empty() && std::find(extents.begin(), extents.end(), 0) == extents.end())
      shapes.push_back({input.name(), extents});
  }
  if (is_contradicted && !has_an_effect)
    throw UsageError(fmt::format("--batch {}: --test-input-shape gives every input another batch", *settings.batch));
  if (!is_given && !has_an_effect)
    throw UsageError(fmt::format("--batch {}: no input has a dimension that could be a batch", *settings.batch));
  return shapes;
}

}  // namespace

LoadedModel load(const std::filesystem::path& file, const BenchSettings& settings) {
  LoadedModel loaded{file, onnx::Model::load(file), nullptr, {}, {}, {}};
  loaded.model.validate();  // the message names the file
  try {
    const std::vector<InputShape> shapes = shapes_for(loaded.model, settings);
    if (!shapes.empty()) overwrite_input_shapes(loaded.model, shapes);
    loaded.edit = std::make_unique<onnx::GraphEdit>(loaded.model);
    onnx::clean_up(*loaded.edit);
    const auto imported = loaded.edit->imported();
    loaded.graph = imported->graph;
    for (const auto& [name, value] : imported->values) {
      const auto [known, is_new] = loaded.names.emplace(value, name);
      if (!is_new && name < known->second) known->second = name;
    }
    require_matching_reshapes(loaded.graph);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", file.string(), error.what()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
  Random random(settings.seed);
  for (const Value& input : loaded.graph.inputs) {
    const auto extents = input.type().shape ? static_extents(*input.type().shape) : std::nullopt;
    if (!extents)
      throw InputError(
          fmt::format("{}: the input '{}' has no known shape: give it with --test-input-shape, "
                      "or an open batch alone with --batch",
                      file.string(), on_one_line(input.node->as_input()->name)));
    if (size_of(input.type().element) == 0)
      throw InputError(fmt::format("{}: cannot generate random data for the input '{}', whose type is not known",
                                   file.string(), on_one_line(input.node->as_input()->name)));
    loaded.inputs.push_back(random_input(random, input.type().element, *extents));
  }
  return loaded;
}

}  // namespace taso::cli
