// Runs ONNX's backend tests (folders with model.onnx and test_data_set_*) through import, export, clean-ups and the
// interpreter, and through a session: onnx_backend [--list] [--at-least N] [--device cpu] FOLDER… Prints how many ran,
// and why the others did not. Exit 1 if one gives a wrong result, or fewer than N ran.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/export/export.h"
#include "onnx/model/proto.h"
#include "runtime/host/interpreter.h"
#include "runtime/session/session.h"

namespace {

using namespace taso;
using namespace taso::onnx;
namespace fs = std::filesystem;

struct NotRun {
  std::string reason;
};
struct Failure {
  std::string reason;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Operands or results of a test. ONNX stores one message per file; only the model's type determines its kind.
std::vector<Array> read_data(const fs::path& folder, const std::string& prefix) {
  std::vector<Array> arrays;
  for (int i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(path)) return arrays;
    proto::TensorProto tensor;
    if (!tensor.ParseFromString(read_file(path)) || tensor.data_type() == 0)
      throw NotRun{"sequence or optional values"};
    try {
      const Array view = read_tensor(tensor, folder);
      Array owned(view.type(), view.extents());  // the message is destroyed
      std::copy_n(view.data(), view.bytes(), owned.mutable_data());
      arrays.push_back(owned);
    } catch (const InputError& error) {
      throw NotRun{"element type not modelled"};
    }
  }
}

/// ONNX's older tests store bfloat16 as 16-bit integers; the model declares the type.
Array as_declared(const Array& array, ElementType declared) {
  if (declared != ElementType::bfloat16 || array.type() != ElementType::uint16) return array;
  Array converted(declared, array.extents());
  std::copy_n(array.data(), array.bytes(), converted.mutable_data());
  return converted;
}

bool close(const Array& expected, const Array& actual) {
  if (expected.type() != actual.type() || expected.extents() != actual.extents()) return false;
  if (!is_floating(expected.type())) return identical(expected, actual);
  const bool narrow = expected.type() == ElementType::float16 || expected.type() == ElementType::bfloat16;
  const double rtol = narrow ? 1e-2 : 1e-3, atol = narrow ? 1e-3 : 1e-6;
  const auto left = expected.doubles(), right = actual.doubles();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
    if (!(std::abs(left[i] - right[i]) <= atol + rtol * std::abs(left[i]))) return false;
  }
  return true;
}

/// The model is written back unchanged and means the same graph.
void check_round_trip(const fs::path& path) {
  Model model = Model::load(path);
  const std::string plain = model.serialise();
  model.validate();
  const ImportedModel imported = import_model(view_of(model));
  auto edit = std::make_unique<GraphEdit>(model);
  export_graph(imported, imported.graph, *edit);
  const Model exported = GraphEdit::commit(std::move(edit), std::move(model));
  const std::string bytes = exported.serialise();
  if (bytes != plain) throw Failure{"export changed an unchanged model"};
  const Model again = Model::parse(bytes, path.parent_path());
  if (!equal(import_model(view_of(again)).graph, imported.graph)) throw Failure{"re-import gives another graph"};
}

void check_results(const Model& model, const fs::path& data, std::string_view what) {
  const ImportedModel imported = import_model(view_of(model));
  for (const Node* node : imported.graph.nodes())
    if (const Opaque* opaque = node->as_opaque()) {
      const std::string obstacle = opaque->body ? opaque->body->obstacle() : "sparse or unmodelled constant";
      if (!obstacle.empty()) throw NotRun{fmt::format("{} ({})", obstacle, opaque->kind)};
    }
  auto inputs = read_data(data, "input");
  const auto expected = read_data(data, "output");
  if (inputs.size() != imported.graph.inputs.size()) throw NotRun{"operands that are left out"};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = as_declared(inputs[i], imported.graph.inputs[i].type().element);
  std::vector<Array> actual;
  try {
    actual = runtime::interpret(imported.graph, inputs);
  } catch (const InputError& error) {
    throw NotRun{error.what()};
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (i >= actual.size() || !close(as_declared(expected[i], actual[i].type()), actual[i]))
      throw Failure{fmt::format("{}: output {} differs", what, i)};
}

/// The same by a session, whose operands and results lie in memory of the caller.
void check_session(const fs::path& path, const fs::path& data, const std::string& device) {
  runtime::SessionOptions options;
  options.set("device", device);
  runtime::Session session(Model::load(path), options);
  auto arrays = read_data(data, "input");
  const auto expected = read_data(data, "output");
  std::vector<runtime::RunTensor> inputs, outputs(session.outputs().size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    arrays[i] = as_declared(arrays[i], session.inputs()[i].type.element);
    inputs.push_back({const_cast<std::byte*>(arrays[i].data()),
                      arrays[i].bytes(),
                      false,
                      arrays[i].type(),
                      arrays[i].extents(),
                      false,
                      {}});
  }
  session.run(inputs, outputs, nullptr);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!close(as_declared(expected[i], outputs[i].element), outputs[i].made))
      throw Failure{fmt::format("session on {}: output {} differs", session.device(), i)};
}

void run_test(const fs::path& folder, const std::string& device) {
  const fs::path path = folder / "model.onnx";
  check_round_trip(path);
  Model model = Model::load(path), original = Model::load(path);
  model.validate();
  original.validate();
  auto edit = std::make_unique<GraphEdit>(model);
  clean_up(*edit);
  Model cleaned = GraphEdit::commit(std::move(edit), std::move(model));
  cleaned.validate();
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || entry.path().filename().string().rfind("test_data_set_", 0) != 0) continue;
    any = true;
    check_results(original, entry.path(), "unchanged");
    check_results(cleaned, entry.path(), "cleaned up");
    check_session(path, entry.path(), device);
  }
  if (!any) throw NotRun{"no data"};
}

}  // namespace

int main(int argc, char** argv) {
  bool list = false;
  std::size_t at_least = 0;
  std::string device = "cpu";
  std::vector<fs::path> tests;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--list") {
      list = true;
    } else if (argument == "--at-least" && i + 1 < argc) {
      at_least = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--device" && i + 1 < argc) {
      device = argv[++i];
    } else {
      for (const auto& entry : fs::recursive_directory_iterator(argument))
        if (entry.path().filename() == "model.onnx") tests.push_back(entry.path().parent_path());
    }
  }
  std::sort(tests.begin(), tests.end());
  std::size_t ran = 0, failed = 0;
  std::map<std::string, std::vector<std::string>> not_run;
  for (const fs::path& test : tests) {
    const std::string name = test.filename().string();
    try {
      run_test(test, device);
      ++ran;
    } catch (const NotRun& why) {
      not_run[why.reason].push_back(name);
    } catch (const Failure& why) {
      ++failed;
      fmt::print("FAILED {}: {}\n", name, why.reason);
    } catch (const std::exception& error) {
      ++failed;
      fmt::print("FAILED {}: {}\n", name, error.what());
    }
  }
  for (const auto& [reason, names] : not_run) {
    fmt::print("not run, {:4}: {}\n", names.size(), reason);
    if (list)
      for (const std::string& name : names) fmt::print("    {}\n", name);
  }
  fmt::print("{} models imported, exported and imported again; {} gave the expected results, {} failed, {} not run\n",
             tests.size() - failed, ran, failed, tests.size() - ran - failed);
  if (ran < at_least) fmt::print("FAILED: expected at least {} to run\n", at_least);
  return failed > 0 || ran < at_least ? 1 : 0;
}
