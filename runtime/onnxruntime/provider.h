// The execution provider of one session of ONNX Runtime: chooses nodes, and runs them fused.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/onnxruntime/context.h"
#include "runtime/onnxruntime/graph.h"
#include "runtime/onnxruntime/session.h"

namespace taso::onnxruntime {

constexpr const char* provider_name = "TasoExecutionProvider";

class Provider : public OrtEp {
 public:
  /// `options` are those of libtaso. Throws Failure if one of them is wrong. For `knows_parents` see is_subgraph().
  Provider(const OrtApi& api, const OrtEpApi& provider_api, bool knows_parents, Options options, ContextOptions context,
           const OrtLogger& logger);

 private:
  void choose(const OrtGraph& graph, OrtEpGraphSupportInfo& chosen);
  std::unique_ptr<FusedNode> compile(const OrtGraph& graph, const OrtNode& fused);
  bool is_supported(const Graph& graph, const Node& node);
  Session load_part(const Graph& graph, const std::vector<const Node*>& nodes, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs);
  void say(OrtLoggingLevel level, const std::string& text) const noexcept;

  const OrtApi& api_;
  const OrtEpApi& provider_api_;
  const OrtLogger& logger_;
  bool knows_parents_;
  Loading loading_;
  ContextOptions context_;
  std::unordered_map<std::string, std::string> samples_;  // why a sample cannot run; empty if it can
  std::map<std::vector<std::string>, Session> prepared_;  // of parts, by the sorted names of their outputs
};

}  // namespace taso::onnxruntime
