// A model in which products can be merged, and a run of taso-opt on it.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/opt/optimise.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using Json = nlohmann::json;

/// Blocks of products that share an input, each followed by one of two functions, and a sum.
inline proto::ModelProto with_shared_inputs(bool is_batch_open = false) {
  constexpr std::int64_t size = 64;
  constexpr int blocks = 2, products = 4;
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x0", {1, size});
  for (int block = 0; block < blocks; ++block) {
    const std::string input = "x" + std::to_string(block), output = "x" + std::to_string(block + 1);
    std::string sum;
    for (int i = 0; i < products; ++i) {
      const std::string name = std::to_string(block) + "_" + std::to_string(i);
      std::vector<float> values(size * size);
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>((k * 7 + static_cast<std::size_t>(i + 3 * block)) % 13) / 64;
      add_floats(graph, "w" + name, {size, size}, values);
      add_node(graph, "MatMul", {input, "w" + name}, {"p" + name});
      add_node(graph, i % 2 == 0 ? "Tanh" : "Sigmoid", {"p" + name}, {"f" + name});
      const std::string last = i + 1 == products ? output : "s" + name;
      if (i > 0) add_node(graph, "Add", {sum, "f" + name}, {last});
      sum = i > 0 ? last : "f" + name;
    }
  }
  declare(*graph.add_output(), "x" + std::to_string(blocks), {1, size});
  if (is_batch_open)
    for (proto::ValueInfoProto* const value : {graph.mutable_input(0), graph.mutable_output(0)})
      value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  return model;
}

inline cli::OptSettings options_for(const TemporaryFolder& folder,
                                    const proto::ModelProto& model = with_shared_inputs()) {
  cli::OptSettings options;
  options.input = folder / "in.onnx";
  write_file(options.input, model.SerializeAsString());
  options.output = folder / "out.onnx";
  options.report = folder / "report.json";
  options.pricing.on_gpu = true;
  options.pricing.file = folder / "kept.prices";
  options.pricing.with_shipped = false;
  options.budget = 20;
  options.jobs = 1;
  return options;
}

/// Returns the report.
inline Json run(const cli::OptSettings& options, std::shared_ptr<gpu::Accelerator> gpu) {
  cli::Console::Options quiet;
  quiet.program = "test";
  quiet.verbosity = -2;
  cli::Console console(quiet);
  REQUIRE(cli::optimise(options, console, std::move(gpu)) == cli::ExitCode::done);
  std::ifstream file(*options.report);
  return Json::parse(file);
}

}  // namespace taso::test
