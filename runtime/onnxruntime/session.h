// A session of libtaso for one fused node, and how ONNX Runtime runs it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/onnxruntime/status.h"

namespace taso::onnxruntime {

/// Options of libtaso by name.
using Options = std::vector<std::pair<std::string, std::string>>;

struct EndOptions {
  void operator()(taso_options* options) const { taso_options_destroy(options); }
};
using OptionsHandle = std::unique_ptr<taso_options, EndOptions>;

/// Throws Failure if an option is unknown, or its value is.
OptionsHandle make_options(const Options& options);

struct EndSession {
  void operator()(taso_session* session) const { taso_session_destroy(session); }
};
using Session = std::unique_ptr<taso_session, EndSession>;

/// How models are loaded.
struct Loading {
  Options options;
  taso_log_function log = nullptr;
  void* user = nullptr;
};

/// Loads a model or an engine from memory; external weights are in `folder`, if any. Throws Failure.
Session load(const std::string& model, const std::string& folder, const Loading& loading);
/// The same from a file.
Session load_file(const std::string& path, const Loading& loading);

/// Computes a fused node. Several threads may do so at once.
class FusedNode : public OrtNodeComputeInfo {
 public:
  /// `inputs` and `outputs` are the names of the fused node's values, in its order. Throws Failure if one of the
  /// session's is missing.
  FusedNode(const Runtime& runtime, Session session, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs);
  taso_session& session() const { return *session_; }

 private:
  void compute(OrtKernelContext* context) const;

  const OrtApi& api_;
  Session session_;
  std::vector<std::size_t> inputs_, outputs_;  // the place in the fused node of each input and output of the session
};

/// Whether the size of an output depends on the content of inputs.
bool has_open_sizes(const taso_session& session);

/// The names of a session's inputs or outputs.
std::vector<std::string> input_names(const taso_session& session);
std::vector<std::string> output_names(const taso_session& session);

}  // namespace taso::onnxruntime
