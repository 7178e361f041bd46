// The example networks as the search sees them: built, cleaned up and imported.
#pragma once

#include <string>

#include <fmt/format.h>

#include "examples/networks/networks.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"

namespace taso::test {

struct ExampleNetwork {
  std::string_view name;
  std::string batch = "1";
  ElementType type = ElementType::float32;
  examples::Variant variant;
};

inline onnx::Model model_of(const ExampleNetwork& example) {
  examples::BuilderOptions options;
  options.batch = example.batch;
  options.type = example.type;
  examples::Builder net(example.name, options);
  examples::build(net, examples::network_named(example.name), example.variant);
  return net.finish();
}

/// Weights can be read only while the model exists.
inline Graph cleaned_graph(const onnx::Model& model) {
  onnx::GraphEdit edit(model);
  onnx::clean_up(edit);
  return onnx::import_model(edit.view()).graph;
}

}  // namespace taso::test
