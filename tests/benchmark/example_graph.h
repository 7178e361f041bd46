// The example networks as the search sees them: built, cleaned up and imported.
#pragma once

#include <string>

#include <fmt/format.h>

#include "examples/networks/networks.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"

namespace taso {

struct ExampleNetwork {
  std::string_view name;
  std::string batch = "1";
  ElementType type = ElementType::float32;
  networks::Variant variant;
};

inline Model model_of(const ExampleNetwork& example) {
  networks::BuilderOptions options;
  options.batch = example.batch;
  options.type = example.type;
  networks::Builder net(example.name, options);
  networks::build(net, networks::network_named(example.name), example.variant);
  return net.finish();
}

/// Only while the model is there can weights be read.
inline Graph cleaned_graph(const Model& model) {
  GraphEdit edit(model);
  clean_up(edit);
  return import_model(edit.view()).graph;
}

}  // namespace taso
