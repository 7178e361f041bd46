// Measures what import, clean-ups and export add to protobuf's own parsing and serialising of one file:
//   benchmark_import_export [MODEL.onnx]
// Syncing to disk is excluded on both sides. Without a model, it makes one of 100 MB: 50 blocks of convolution, batch
// norm and relu.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <limits>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "onnx/cleanup/cleanup.h"
#include "onnx/export/export.h"
#include "onnx/model/proto.h"
#include "ops/core/array.h"

namespace {

using namespace taso;
namespace fs = std::filesystem;

void make_model(const fs::path& path) {
  auto pool = std::make_shared<Pool>();
  const Type type{ElementType::float32, Shape{1, 236, 14, 14}};
  class Filled final : public Weight {
   public:
    explicit Filled(Extents extents) : extents_(std::move(extents)) {}
    Array load() const override {
      Array array(ElementType::float32, extents_);
      float value = 0;
      for (float& element : array.mutable_values<float>()) element = (value += 1e-6F);
      return array;
    }

   private:
    Extents extents_;
  };
  const auto constant = [&](const std::string& name, Extents extents) {
    const Type of{ElementType::float32, shape_of(extents)};
    return pool->constant(name, of, std::make_shared<Filled>(std::move(extents)));
  };
  Graph graph{pool, {pool->input("x", type)}, {}};
  Value value = graph.inputs.front();
  for (int block = 0; block < 50; ++block) {
    const std::string name = fmt::format("block{}.", block);
    const op::Conv conv{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}, .groups = 1};
    value = pool->apply(conv, {value, constant(name + "weight", {236, 236, 3, 3})});
    value = pool->apply(op::BatchNorm{}, {value, constant(name + "scale", {236}), constant(name + "bias", {236}),
                                          constant(name + "mean", {236}), constant(name + "variance", {236})});
    value = pool->apply(op::Relu{}, {value});
  }
  graph.outputs = {value};
  taso::onnx::write_model(graph).save(path);
}

double milliseconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 7; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path scratch = fs::temp_directory_path() / fmt::format("taso-benchmark-{}", ::getpid());
  fs::create_directories(scratch);
  const fs::path model = argc > 1 ? fs::path(argv[1]) : scratch / "model.onnx";
  if (argc <= 1) make_model(model);
  const fs::path out = scratch / "out.onnx";

  const double plain = milliseconds([&] {
    proto::ModelProto proto;
    std::ifstream file(model, std::ios::binary);
    proto.ParseFromIstream(&file);
    std::ofstream result(out, std::ios::binary);
    proto.SerializeToOstream(&result);
  });
  const auto through = [&](bool clean) {
    return [&, clean] {
      taso::onnx::Model read = taso::onnx::Model::load(model);
      read.validate();
      auto edit = std::make_unique<taso::onnx::GraphEdit>(read);
      if (clean) taso::onnx::clean_up(*edit);
      const taso::onnx::ImportedModel imported = taso::onnx::import_model(edit->view());
      taso::onnx::export_graph(imported, imported.graph, *edit);
      taso::onnx::GraphEdit::commit(std::move(edit), std::move(read)).save(out, {.sync = false});
    };
  };
  const double round_trip = milliseconds(through(false));
  const double cleaned = milliseconds(through(true));
  fmt::print("{:.1f} MB\n", static_cast<double>(fs::file_size(model)) / 1e6);
  fmt::print("plain parse and serialise       {:8.1f} ms\n", plain);
  fmt::print("load, import, export, save      {:8.1f} ms  {:.2f} times plain\n", round_trip, round_trip / plain);
  fmt::print("the same with clean-ups         {:8.1f} ms  {:.2f} times plain\n", cleaned, cleaned / plain);
  fs::remove_all(scratch);
}
