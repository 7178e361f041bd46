#include "runtime/onnxruntime/context.h"

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "runtime/onnxruntime/provider.h"

namespace taso::onnxruntime {
namespace {

namespace files = std::filesystem;

/// An attribute of an EPContext node; empty if it has none of the name.
std::string text_of(const OrtApi& api, const Node& node, const char* name) {
  const auto* attribute = ask<const OrtOpAttr*>(api, api.Node_GetAttributeByName, node.node, name);
  return attribute == nullptr ? "" : content_of(api, attribute, ORT_OP_ATTR_STRING);
}

bool is_embedded(const OrtApi& api, const Node& node) {
  const auto* attribute = ask<const OrtOpAttr*>(api, api.Node_GetAttributeByName, node.node, "embed_mode");
  std::int64_t mode = 1;  // ONNX Runtime's default
  std::size_t size = 0;
  if (attribute != nullptr) require(api, api.ReadOpAttr(attribute, ORT_OP_ATTR_INT, &mode, sizeof(mode), &size));
  return mode != 0;
}

/// A folder that is removed again.
class TemporaryFolder {
 public:
  TemporaryFolder() : name_((files::temp_directory_path() / "taso-XXXXXX").string()) {
    if (::mkdtemp(name_.data()) == nullptr) throw Failure(ORT_EP_FAIL, "no temporary folder can be made: " + name_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    files::remove_all(name_, ignored);
  }
  files::path path() const { return name_; }

 private:
  std::string name_;
};

std::string bytes_of(const files::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  if (!bytes || bytes.view().empty()) throw Failure(ORT_EP_FAIL, "cannot read " + path.string());
  return std::move(bytes).str();
}

/// The attributes of a node that is being made.
class Attributes {
 public:
  explicit Attributes(const OrtApi& api) : api_(api) {}
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() {
    for (OrtOpAttr* one : made_) api_.ReleaseOpAttr(one);
  }
  void add(const char* name, const std::string& text) {
    if (text.size() > std::numeric_limits<int>::max()) throw Failure(ORT_EP_FAIL, "an engine of more than 2 GB");
    add(name, text.data(), static_cast<int>(text.size()), ORT_OP_ATTR_STRING);
  }
  void add(const char* name, std::int64_t number) { add(name, &number, 1, ORT_OP_ATTR_INT); }
  std::vector<OrtOpAttr*>& all() { return made_; }

 private:
  void add(const char* name, const void* data, int size, OrtOpAttrType type) {
    made_.reserve(made_.size() + 1);
    made_.push_back(ask<OrtOpAttr*>(api_, api_.CreateOpAttr, name, data, size, type));
  }
  const OrtApi& api_;
  std::vector<OrtOpAttr*> made_;
};

/// The file of the EPContext model.
files::path model_of(const OrtApi& api, const ContextOptions& options, const OrtGraph& graph) {
  if (!options.model.empty()) return options.model;
  const files::path given = ask<const ORTCHAR_T*>(api, api.Graph_GetModelPath, &graph);
  if (given.empty()) throw Failure(ORT_INVALID_ARGUMENT, "ep.context_file_path is needed for a model in memory");
  return given.parent_path() / (given.stem().string() + "_ctx.onnx");
}

}  // namespace

bool is_context(const OrtApi& api, const Node& node) {
  return node.op_type == "EPContext" && node.domain == "com.microsoft" && text_of(api, node, "source") == provider_name;
}

NodeHandle write_context(const OrtApi& api, const ContextOptions& options, const OrtGraph& graph, const OrtNode& fused,
                         taso_session& session) {
  const std::string name = ask<const char*>(api, api.Node_GetName, &fused);
  Attributes attributes(api);
  attributes.add("main_context", 1);
  attributes.add("embed_mode", options.is_embedded ? 1 : 0);
  if (options.is_embedded) {
    const TemporaryFolder folder;
    const files::path file = folder.path() / "engine.taso";
    require(taso_session_save_engine(&session, file.c_str()));
    attributes.add("ep_cache_context", bytes_of(file));
  } else {
    files::path file = model_of(api, options, graph);
    file.replace_filename(file.stem().string() + "_" + name + ".taso");
    require(taso_session_save_engine(&session, file.c_str()));
    attributes.add("ep_cache_context", file.filename().string());
  }
  attributes.add("ep_sdk_version", std::string(taso_version()));
  attributes.add("source", std::string(provider_name));
  attributes.add("partition_name", name);

  const std::vector<std::string> inputs = input_names(api, fused), outputs = output_names(api, fused);
  const auto pointers = [](const std::vector<std::string>& names) {
    std::vector<const char*> list;
    list.reserve(names.size());
    for (const std::string& one : names) list.push_back(one.c_str());
    return list;
  };
  const OrtModelEditorApi* editor = api.GetModelEditorApi();
  if (editor == nullptr) throw Failure(ORT_NOT_IMPLEMENTED, "this ONNX Runtime cannot write models");
  OrtNode* node = nullptr;
  require(api, editor->CreateNode("EPContext", "com.microsoft", name.c_str(), pointers(inputs).data(), inputs.size(),
                                  pointers(outputs).data(), outputs.size(), attributes.all().data(),
                                  attributes.all().size(), &node));
  return {node, api.ReleaseNode};
}

Session read_context(const OrtApi& api, const Node& node, const files::path& folder, const Loading& loading) {
  const std::string content = text_of(api, node, "ep_cache_context");
  if (is_embedded(api, node)) return load(content, "", loading);
  const files::path file = files::path(content).lexically_normal();
  // A model from elsewhere must not name any file of this machine.
  if (file.empty() || file.is_absolute() || *file.begin() == "..")
    throw Failure(ORT_INVALID_GRAPH, "an EPContext node names a file outside the folder of its model");
  return load_file((folder / file).string(), loading);
}

}  // namespace taso::onnxruntime
