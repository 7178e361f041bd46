// Any bytes as a certificate: refused with InputError, or read, printed and read back the same. Its replay between the
// two models of tests/fuzz/certified ends with a verdict, and it is never accepted for a model that computes something
// else.
#include <functional>
#include <vector>

#include "onnx/model/proto.h"
#include "rules/language/rule_text.h"
#include "tests/fuzz/bytes.h"
#include "tests/source_folder.h"
#include "verifier/replay/replay_certificate.h"

namespace taso::test {
namespace {

using Change = std::function<void(proto::GraphProto&)>;

proto::NodeProto& node_of(proto::GraphProto& graph, std::string_view kind) {
  for (auto& node : *graph.mutable_node())
    if (node.op_type() == kind) return node;
  throw InternalError("the model has no such node");
}

/// What makes another model of the certified one. No two of these compute the same.
const std::vector<Change> changes = {
    [](auto& graph) { node_of(graph, "Relu").set_op_type("Tanh"); },
    [](auto& graph) { node_of(graph, "Split").mutable_output()->SwapElements(0, 1); },
    [](auto& graph) { node_of(graph, "Add").set_op_type("Sub"); },
    [](auto& graph) { node_of(graph, "Mul").set_input(0, graph.input(1).name()); },
    [](auto& graph) {
      for (auto& weight : *graph.mutable_initializer())
        if (!weight.raw_data().empty() && weight.data_type() == proto::TensorProto::FLOAT)
          weight.mutable_raw_data()->back() ^= 1;
    },
};

struct Certified {
  onnx::Model before, after;
  std::vector<onnx::Model> others;
  std::vector<rules::Rule> rules;

  Certified() : before(load("before.onnx")), after(load("after.onnx")) {
    for (const Change& change : changes) {
      others.push_back(load("after.onnx"));
      change(*others.back().mutable_proto().mutable_graph());
      others.back().validate();
    }
    rules = rules::parse_rules(Source::read((folder() / "proved.rules").string())).rules();
  }

 private:
  static std::filesystem::path folder() { return source_folder() / "tests/fuzz/certified"; }
  static onnx::Model load(const std::string& name) {
    onnx::Model model = onnx::Model::load(folder() / name);
    model.validate();
    return model;
  }
};

void exercise(const rules::RewriteCertificate& certificate) {
  const std::string text = rules::print(certificate);
  const rules::RewriteCertificate again = read_back(text, rules::parse_certificate);
  check(again == rules::as_read(certificate), "a certificate that is printed is read back");
  check(rules::print(again) == text, "printing what was parsed gives the same text");
  static const Certified certified;
  verifier::replay_certificate(certificate, certified.before, certified.after, certified.rules);
  for (const onnx::Model& other : certified.others)
    check(!verifier::replay_certificate(certificate, certified.before, other, certified.rules).accepted,
          "a wrong model is not accepted");
}

}  // namespace
}  // namespace taso::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    taso::test::exercise(taso::rules::parse_certificate(std::string(taso::test::text_of_bytes(data, size))));
  } catch (const taso::InputError&) {
  }
  return 0;
}
