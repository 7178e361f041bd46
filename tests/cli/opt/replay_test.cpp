// taso-opt replays its own certificates: it undoes changes that are not shown to be right, and never writes them.
#include "cli/opt/replay.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "cli/files/places.h"
#include "cli/opt/optimise.h"
#include "ops/core/error.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace cli;

namespace {

using Json = nlohmann::json;
using Spoil = std::function<void(rules::RewriteCertificate&)>;
using test::TemporaryFolder;

/// Four products of one input, and a node for the clean-ups.
proto::ModelProto with_products() {
  constexpr std::int64_t size = 64;
  proto::ModelProto model = test::empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  test::declare(*graph.add_input(), "x", {1, size});
  test::add_node(graph, "Identity", {"x"}, {"i"});
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i);
    test::add_floats(graph, "w" + name, {size, size}, std::vector<float>(size * size, 0.25F * static_cast<float>(i)));
    test::add_node(graph, "MatMul", {"i", "w" + name}, {"p" + name});
    test::add_node(graph, i % 2 == 0 ? "Tanh" : "Sigmoid", {"p" + name}, {"f" + name});
    test::declare(*graph.add_output(), "f" + name, {1, size});
  }
  return model;
}

OptSettings options_for(const TemporaryFolder& folder) {
  OptSettings options;
  options.input = folder / "in.onnx";
  test::write_file(options.input, with_products().SerializeAsString());
  options.output = folder / "out.onnx";
  options.report = folder / "report.json";
  options.budget = 20;
  options.jobs = 1;
  options.pricing.lanes = 1;
  return options;
}

Json run(const OptSettings& options, const Spoil& spoil) {
  Console::Options quiet;
  quiet.program = "test";
  quiet.verbosity = -2;
  Console console(quiet);
  REQUIRE(cli::optimise(options, console, nullptr, spoil) == ExitCode::done);
  std::ifstream file(*options.report);
  return Json::parse(file);
}

/// Spoils the clean-ups of a certificate, and leaves one without any alone.
void name_another_value(rules::RewriteCertificate& certificate) {
  if (!certificate.before.empty()) certificate.before.back().at = "nothing";
}

rules::RewriteCertificate written(const OptSettings& options) {
  return rules::parse_certificate(test::read_file(certificate_file_of(options.output)));
}

}  // namespace

TEST_CASE("a search whose certificate is rejected is undone, and clean-ups stay") {
  if (!can_replay()) return;
  const TemporaryFolder folder;
  OptSettings options = options_for(folder);
  const Json honest = run(options, nullptr);
  REQUIRE(!honest["search"]["applied"].empty());
  REQUIRE(!written(options).steps.empty());
  const Spoil drop_a_step = [](rules::RewriteCertificate& certificate) {
    if (!certificate.steps.empty()) certificate.steps.pop_back();
  };
  for (const bool certified : {true, false}) {  // it is replayed even if it is not written
    options.certificate = certified;
    const Json report = run(options, drop_a_step);
    CHECK(report["search"]["applied"].empty());
    CHECK(report["search"]["note"].get<std::string>().find("its certificate is rejected") != std::string::npos);
    CHECK(report["after"]["operators"]["MatMul"] == 4);
    CHECK(!report["after"]["operators"].contains("Identity"));
    if (certified) CHECK(written(options).steps.empty());
  }
}

TEST_CASE("clean-ups whose certificate is rejected are undone") {
  if (!can_replay()) return;
  const TemporaryFolder folder;
  OptSettings options = options_for(folder);
  options.budget = 0;
  const Json report = run(options, name_another_value);
  CHECK(report["after"]["operators"].value("Identity", 0) == 1);
  CHECK(written(options).before.empty());
}

TEST_CASE("what is kept for ONNX Runtime is told after the replay") {
  if (!can_replay()) return;
  const TemporaryFolder folder;
  OptSettings options = options_for(folder);
  options.budget = 0;
  options.target = OptSettings::Target::onnxruntime;
  options.pricing.for_onnxruntime = true;
  options.pricing.measures = false;
  options.pricing.with_shipped = false;
  options.pricing.file = folder / "prices";
  test::write_file(*options.pricing.file,
                   "taso prices 4\nmachine P, ONNX Runtime 1.31.1, CPU provider, threads 1, opset 17\n"
                   "1/1/1/1\t0.5\ta\trelu fp32: x\n");
  CHECK(run(options, nullptr)["in_runtime"]["written"] == "clean-ups");
  const Json report = run(options, name_another_value);
  CHECK(report["after"]["operators"].value("Identity", 0) == 1);
  CHECK(report["in_runtime"]["written"] == "original");
  CHECK(report["in_runtime"]["uncertain"] == "what the runs chose failed a check after them");
}

TEST_CASE("nothing is written if even the certificate of the untouched model is rejected") {
  if (!can_replay()) return;
  const TemporaryFolder folder;
  const OptSettings options = options_for(folder);
  const Spoil always = [](rules::RewriteCertificate& certificate) {
    certificate.before.push_back({"identity", "nothing"});
  };
  Console::Options quiet;
  quiet.program = "test";
  quiet.verbosity = -2;
  Console console(quiet);
  CHECK_THROWS_AS(cli::optimise(options, console, nullptr, always), InternalError);
  CHECK(!std::filesystem::exists(options.output));
  CHECK(!std::filesystem::exists(certificate_file_of(options.output)));
}

}  // namespace taso::test
