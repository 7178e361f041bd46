// The execution provider of one session of ONNX Runtime: chooses nodes, and runs them fused.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/onnxruntime/context.h"
#include "runtime/onnxruntime/copies.h"
#include "runtime/onnxruntime/graph.h"
#include "runtime/onnxruntime/session.h"

namespace taso::onnxruntime {

constexpr const char* provider_name = "TasoExecutionProvider";

class Provider : public OrtEp {
 public:
  /// `options` are those of libtaso. `memory` is where tensors are; null is the host. It must outlive the provider.
  /// Throws Failure if an option is wrong.
  Provider(const Runtime& runtime, Options options, const OrtMemoryInfo* memory, ContextOptions context,
           const OrtLogger& logger);

 private:
  void choose(const OrtGraph& graph, OrtEpGraphSupportInfo& chosen);
  std::unique_ptr<FusedNode> compile(const OrtGraph& graph, const OrtNode& fused);
  bool is_supported(const Graph& graph, const Node& node);
  Session load_part(const Graph& graph, const std::vector<const Node*>& nodes, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs);
  void offer_newer();
  void say(OrtLoggingLevel level, const std::string& text) const noexcept;

  Runtime runtime_;
  const OrtApi& api_;
  const OrtEpApi& provider_api_;
  const OrtLogger& logger_;
  const OrtMemoryInfo* memory_;
  std::unique_ptr<CopyKernels> copies_;  // only with device memory
  Loading loading_;
  ContextOptions context_;
  std::unordered_map<std::string, std::string> samples_;  // why a sample cannot run; empty if it can
  std::map<std::vector<std::string>, Session> prepared_;  // of parts, by the sorted names of their outputs
};

}  // namespace taso::onnxruntime
