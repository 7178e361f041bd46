// Models that no runtime could run are refused with one clear line.
#include <functional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace onnx;

using Catch::Matchers::ContainsSubstring;

namespace {

std::string one_line(std::string message) {
  CHECK(message.find('\n') == std::string::npos);
  CHECK(!message.empty());
  return message;
}

/// The error of load() and validate() for the file; "" if there is none.
std::string refusal(const std::filesystem::path& path) {
  try {
    Model::load(path).validate();
  } catch (const InputError& error) {
    CHECK_THAT(std::string(error.what()), ContainsSubstring(path.string()));
    return one_line(error.what());
  }
  return "";
}

std::string refusal(const proto::ModelProto& proto, const std::filesystem::path& folder = {}) {
  try {
    Model model = Model::parse(proto.SerializeAsString(), folder);
    model.validate();
  } catch (const InputError& error) {
    return one_line(error.what());
  }
  return "";
}

std::string refusal(const std::function<void(proto::ModelProto&)>& spoil) {
  proto::ModelProto proto = small_model();
  REQUIRE(refusal(proto).empty());
  spoil(proto);
  return refusal(proto);
}

}  // namespace

TEST_CASE("files that are not models") {
  const TemporaryFolder folder;
  CHECK_THAT(refusal(folder / "missing.onnx"), ContainsSubstring("No such file"));
  CHECK_THAT(refusal(folder.path()), ContainsSubstring("is a folder"));
  write_file(folder / "empty.onnx", "");
  CHECK_THAT(refusal(folder / "empty.onnx"), ContainsSubstring("is empty"));
  for (const std::string_view text :
       {"hello\n", "{\"irVersion\": \"8\"}", "ir_version: 8\ngraph {\n  name: \"g\"\n}\n",
        "<ir_version: 8, opset_import: [\"\" : 17]>\nagraph (float[2] x) => (float[2] y) { y = Relu(x) }\n"}) {
    write_file(folder / "text.onnx", text);
    CHECK_THAT(refusal(folder / "text.onnx"), ContainsSubstring("is text"));
  }
  write_file(folder / "noise.onnx", std::string("\xff\x00\x12\xfe\x03\x99", 6));
  CHECK_THAT(refusal(folder / "noise.onnx"), ContainsSubstring("is not an ONNX model"));
  REQUIRE(::mkfifo((folder / "pipe.onnx").c_str(), 0600) == 0);
  CHECK_THAT(refusal(folder / "pipe.onnx"), ContainsSubstring("not a regular file"));
  REQUIRE(::close(::open((folder / "large.onnx").c_str(), O_CREAT | O_WRONLY, 0600)) == 0);
  REQUIRE(::truncate((folder / "large.onnx").c_str(), off_t{1} << 31) == 0);
  CHECK_THAT(refusal(folder / "large.onnx"), ContainsSubstring("ends at 2 GB") && ContainsSubstring("external data"));
  if (::geteuid() != 0) {
    write_file(folder / "secret.onnx", "x");
    ::chmod((folder / "secret.onnx").c_str(), 0);
    CHECK_THAT(refusal(folder / "secret.onnx"), ContainsSubstring("Permission denied"));
  }
}

TEST_CASE("messages nested without end do not overflow the stack") {
  const auto wrap = [](char tag, const std::string& inner) {
    std::string bytes(1, tag);
    std::size_t length = inner.size();
    for (; length > 0x7f; length >>= 7) bytes += static_cast<char>((length & 0x7f) | 0x80);
    return bytes + static_cast<char>(length) + inner;
  };
  // A graph in an attribute (field 6) of a node (5) of a graph (1) of an attribute …
  const auto nested = [&](int depth) {
    std::string graph;
    for (int i = 0; i < depth; ++i) graph = wrap('\x0a', wrap('\x2a', wrap('\x32', graph)));
    return std::string("\x08\x08") + wrap('\x3a', graph);
  };
  CHECK_NOTHROW(Model::parse(nested(20), {}));
  CHECK_THROWS_AS(Model::parse(nested(50), {}), InputError);
  CHECK_THROWS_AS(Model::parse(nested(5'000), {}), InputError);
}

TEST_CASE("subgraphs that are nested too deeply are refused") {
  proto::ModelProto proto = small_model();
  proto::GraphProto* graph = proto.mutable_graph();
  for (int i = 0; i < 200; ++i)
    (graph = add_attribute(add_node(*graph, "Nest", {}, {""}), "body", proto::AttributeProto::GRAPH).mutable_g())
        ->set_name("body");
  Model model(std::move(proto), {});
  CHECK_THROWS_WITH(model.validate(), ContainsSubstring("nested too deeply"));
}

TEST_CASE("versions and graph are required") {
  CHECK_THAT(refusal([](auto& m) { m.clear_opset_import(); }), ContainsSubstring("no opset_import"));
  CHECK_THAT(refusal([](auto& m) { m.clear_ir_version(); }), ContainsSubstring("no ir_version"));
  CHECK_THAT(refusal([](auto& m) { m.set_ir_version(0); }), ContainsSubstring("ir_version 0"));
  CHECK_THAT(refusal([](auto& m) { m.clear_graph(); }), ContainsSubstring("no graph"));
  CHECK(refusal([](auto& m) { m.set_ir_version(1); }).empty());
  CHECK(refusal([](auto& m) { m.set_ir_version(99); }).empty());
}

TEST_CASE("cycles") {
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->set_input(1, "y"); }),
             ContainsSubstring("cycle") && ContainsSubstring("'sum'") && ContainsSubstring("'y'"));
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->set_input(1, "sum"); }),
             ContainsSubstring("cycle"));
  proto::ModelProto through_subgraph = subgraph_model();
  auto& branch = *through_subgraph.mutable_graph()->mutable_node(2)->mutable_attribute(0)->mutable_g();
  branch.mutable_node(0)->set_input(0, "z");
  CHECK_THAT(refusal(through_subgraph), ContainsSubstring("cycle") && ContainsSubstring("'z'"));
}

TEST_CASE("operands and outputs that nothing produces") {
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "nowhere"); }),
             ContainsSubstring("node 'first'") && ContainsSubstring("operand 'nowhere'"));
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_output(0)->set_name("nowhere"); }),
             ContainsSubstring("graph output 'nowhere'"));
  CHECK(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->add_input(""); }).empty());
  proto::ModelProto inner = subgraph_model();
  auto& branch = *inner.mutable_graph()->mutable_node(2)->mutable_attribute(1)->mutable_g();
  branch.mutable_node(0)->set_input(0, "nowhere");
  CHECK_THAT(refusal(inner), ContainsSubstring("'nowhere'"));
  // Values of a subgraph are visible only inside it.
  proto::ModelProto leak = subgraph_model();
  leak.mutable_graph()->mutable_node(1)->set_input(0, "product");
  CHECK_THAT(refusal(leak), ContainsSubstring("'product'"));
  proto::ModelProto function = varied_model();
  function.mutable_functions(0)->mutable_node(0)->set_input(0, "x");  // a graph's value, invisible here
  CHECK_THAT(refusal(function), ContainsSubstring("function 'Twice'") && ContainsSubstring("'x'"));
  function = varied_model();
  function.mutable_functions(0)->set_output(0, "nowhere");
  CHECK_THAT(refusal(function), ContainsSubstring("function 'Twice'") && ContainsSubstring("'nowhere'"));
}

TEST_CASE("functions that call themselves") {
  proto::ModelProto model = varied_model();
  auto& call = *model.mutable_functions(0)->mutable_node(0);
  call.set_op_type("Twice");
  call.set_domain("test.functions");
  *model.mutable_functions(0)->add_opset_import() = model.opset_import(1);
  CHECK_THAT(refusal(model), ContainsSubstring("calls itself"));
}

TEST_CASE("names defined twice") {
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->set_output(0, "y"); }),
             ContainsSubstring("'y'") && ContainsSubstring("exists already"));
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->set_output(0, "w"); }),
             ContainsSubstring("'w'"));
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->set_output(0, "x"); }),
             ContainsSubstring("'x'"));
  CHECK_THAT(refusal([](auto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); }), ContainsSubstring("'x'"));
}

TEST_CASE("wrong types") {
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_input(0)->clear_type(); }),
             ContainsSubstring("'x' has no type"));
  CHECK_THAT(refusal([](auto& m) {
               m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(0);
             }),
             ContainsSubstring("without an element type"));
  CHECK_THAT(refusal([](auto& m) {
               m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
                   proto::TensorProto::INT64);
             }),
             ContainsSubstring("'x' of int64") && ContainsSubstring("'w' of float32"));
  CHECK(refusal([](auto& m) {
          m.mutable_graph()->mutable_node(0)->set_domain("custom");
          m.add_opset_import()->set_domain("custom");
          m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(99);
        }).empty());
  // The type of an inner value, from value_info, inside a subgraph.
  proto::ModelProto inner = subgraph_model();
  declare(*inner.mutable_graph()->add_value_info(), "sum", {2}, proto::TensorProto::DOUBLE);
  CHECK_THAT(refusal(inner), ContainsSubstring("'sum' of float64") && ContainsSubstring("'inner_weight' of float32"));
}

TEST_CASE("initializers that do not fit") {
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_initializer(0)->set_raw_data("1234567"); }),
             ContainsSubstring("'w'") && ContainsSubstring("7 bytes"));
  CHECK_THAT(refusal([](auto& m) {
               m.mutable_graph()->mutable_initializer(0)->set_dims(0, INT64_MAX);
               m.mutable_graph()->mutable_initializer(0)->add_dims(4);
             }),
             ContainsSubstring("overflows"));
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_initializer(0)->set_dims(0, -1); }),
             ContainsSubstring("negative dimension"));
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_initializer(0)->set_data_type(0); }),
             ContainsSubstring("no data type"));
  const auto with_input = [](const Dims& dims, int element) {
    return refusal([&](auto& m) { declare(*m.mutable_graph()->add_input(), "w", dims, element); });
  };
  CHECK(with_input({2}, proto::TensorProto::FLOAT).empty());
  CHECK(with_input({-1}, proto::TensorProto::FLOAT).empty());
  CHECK_THAT(with_input({3}, proto::TensorProto::FLOAT), ContainsSubstring("'w'") && ContainsSubstring("does not fit"));
  CHECK_THAT(with_input({1, 2}, proto::TensorProto::FLOAT), ContainsSubstring("does not fit"));
  CHECK_THAT(with_input({2}, proto::TensorProto::DOUBLE), ContainsSubstring("does not fit"));
  proto::ModelProto sparse = varied_model();
  sparse.mutable_graph()->mutable_sparse_initializer(0)->mutable_indices()->set_dims(0, 2);
  CHECK_THAT(refusal(sparse), ContainsSubstring("do not belong together"));
}

TEST_CASE("nodes and attributes without a name") {
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->clear_op_type(); }),
             ContainsSubstring("no operator"));
  CHECK_THAT(
      refusal([](auto& m) { add_attribute(*m.mutable_graph()->mutable_node(0), "", proto::AttributeProto::INT); }),
      ContainsSubstring("attribute without a name"));
  CHECK_THAT(refusal([](auto& m) {
               for (int i = 0; i < 2; ++i)
                 add_attribute(*m.mutable_graph()->mutable_node(0), "twice", proto::AttributeProto::INT);
             }),
             ContainsSubstring("two attributes 'twice'"));
  CHECK_THAT(refusal([](auto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "a\nb\x1b[2J"); }),
             ContainsSubstring("'a\\x0ab\\x1b[2J'"));
}

TEST_CASE("external data that is missing or must not be read") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "model");
  std::filesystem::create_directory(folder / "model/inner");
  std::filesystem::create_directory(folder / "outside");
  const auto base = folder / "model";
  const std::string eight(8, 'a');
  for (const char* name : {"model/w.bin", "model/inner/w.bin", "outside/w.bin"}) write_file(folder / name, eight);
  write_file(folder / "model/short.bin", "1234567");
  std::filesystem::create_symlink(folder / "outside/w.bin", folder / "model/link.bin");
  std::filesystem::create_symlink("w.bin", folder / "model/near.bin");
  std::filesystem::create_directory_symlink(folder / "outside", folder / "model/way");
  REQUIRE(::mkfifo((folder / "model/pipe.bin").c_str(), 0600) == 0);

  const auto with = [&](const std::string& location, const std::string& offset = "", const std::string& length = "") {
    proto::ModelProto model = small_model();
    model.mutable_graph()->clear_initializer();
    add_external(*model.mutable_graph(), "w", {2}, location, offset, length);
    return refusal(model, base);
  };
  CHECK(with("w.bin").empty());
  CHECK(with("./w.bin").empty());
  CHECK(with("inner/w.bin").empty());
  CHECK(with("inner/../w.bin", "0", "8").empty());
  CHECK_THAT(with("missing.bin"), ContainsSubstring("'w'") && ContainsSubstring("No such file"));
  CHECK_THAT(with("short.bin"), ContainsSubstring("too few"));
  CHECK_THAT(with((folder / "model/w.bin").string()), ContainsSubstring("absolute"));
  CHECK_THAT(with("../outside/w.bin"), ContainsSubstring("leaves the model's folder"));
  CHECK_THAT(with("inner/../../outside/w.bin"), ContainsSubstring("leaves the model's folder"));
  CHECK_THAT(with("link.bin"), ContainsSubstring("link"));
  CHECK_THAT(with("near.bin"), ContainsSubstring("link"));
  CHECK_THAT(with("way/w.bin"), ContainsSubstring("link"));
  CHECK_THAT(with("inner"), ContainsSubstring("not a regular file"));
  CHECK_THAT(with("inner/"), ContainsSubstring("names no file"));
  CHECK_THAT(with("."), ContainsSubstring("names no file"));
  CHECK_THAT(with("pipe.bin"), ContainsSubstring("not a regular file"));
  CHECK_THAT(with(""), ContainsSubstring("no location"));
  CHECK_THAT(with(std::string("w.bin\0x", 7)), ContainsSubstring("zero byte"));
  CHECK_THAT(with("w.bin", "1"), ContainsSubstring("too few"));
  CHECK_THAT(with("w.bin", "9223372036854775807"), ContainsSubstring("too few"));
  CHECK_THAT(with("w.bin", "18446744073709551615"), ContainsSubstring("not a number"));
  CHECK_THAT(with("w.bin", "-8"), ContainsSubstring("not a number"));
  CHECK_THAT(with("w.bin", " 0"), ContainsSubstring("not a number"));
  CHECK_THAT(with("w.bin", "0", "8x"), ContainsSubstring("not a number"));
  CHECK_THAT(with("w.bin", "0", "4"), ContainsSubstring("dimensions need 8"));

  // Wherever the tensor is.
  proto::ModelProto model = subgraph_model();
  auto& branch = *model.mutable_graph()->mutable_node(2)->mutable_attribute(0)->mutable_g();
  branch.clear_initializer();
  add_external(branch, "inner_weight", {2}, "missing.bin");
  CHECK_THAT(refusal(model, base), ContainsSubstring("'inner_weight'"));
}

}  // namespace taso::test
