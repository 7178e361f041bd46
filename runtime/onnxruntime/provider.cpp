#include "runtime/onnxruntime/provider.h"

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_set>

#include "runtime/onnxruntime/model.h"
#include "runtime/onnxruntime/partition.h"

namespace taso::onnxruntime {
namespace {

template <class Names>
std::vector<std::string> sorted(const Names& names) {
  std::vector<std::string> list(names.begin(), names.end());
  std::sort(list.begin(), list.end());
  return list;
}

/// Who computes and who reads the values of a graph.
struct Links {
  explicit Links(const Graph& graph) : needs(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const std::string& name : graph.nodes[i].outputs)
        if (!name.empty()) producer.emplace(name, i);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const auto* names : {&graph.nodes[i].inputs, &graph.nodes[i].captured})
        for (const std::string& name : *names) {
          readers[name].push_back(i);
          if (const auto found = producer.find(name); found != producer.end()) needs[i].push_back(found->second);
        }
  }
  std::unordered_map<std::string, std::size_t> producer;
  std::unordered_map<std::string, std::vector<std::size_t>> readers;
  std::vector<std::vector<std::size_t>> needs;
};

/// Some nodes of a graph, what they read and what others read of them.
struct Part {
  Part(const Graph& graph, const Links& links, const std::vector<std::size_t>& places) {
    const std::unordered_set<std::size_t> inside(places.begin(), places.end());
    const std::unordered_set<std::string> results(graph.outputs.begin(), graph.outputs.end());
    std::unordered_set<std::string> known;
    for (const std::size_t place : places) {
      const Node& node = graph.nodes[place];
      nodes.push_back(&node);
      for (const auto* names : {&node.inputs, &node.captured})
        for (const std::string& name : *names) {
          if (name.empty() || graph.values.at(name).is_constant) continue;
          const auto from = links.producer.find(name);
          if (from != links.producer.end() && inside.contains(from->second)) continue;
          if (known.insert(name).second) inputs.push_back(name);
        }
      for (const std::string& name : node.outputs) {
        const auto readers = links.readers.find(name);
        const bool is_read =
            readers != links.readers.end() && std::any_of(readers->second.begin(), readers->second.end(),
                                                          [&](std::size_t reader) { return !inside.contains(reader); });
        if (!name.empty() && (is_read || results.contains(name))) outputs.push_back(name);
      }
    }
  }
  std::vector<const Node*> nodes;
  std::vector<std::string> inputs, outputs;
};

/// ONNX Runtime hides errors while nodes are chosen, and then runs them itself: what the user asked for is checked now.
/// Returns the number of the GPU that is demanded, or -1.
int check_options(const Options& options) {
  make_options(options);
  constexpr std::string_view cuda = "cuda";
  std::string device;
  for (const auto& [name, value] : options)
    if (name == "device") device = value;
  if (!device.starts_with(cuda)) return -1;
  const int number = device == cuda ? 0 : std::stoi(device.substr(cuda.size() + 1));
  if (number >= taso_device_count())
    throw Failure(ORT_EP_FAIL, "the device " + device + " cannot be used: " + taso_device_text());
  return number;
}

}  // namespace

Provider::Provider(const Runtime& runtime, Options options, const OrtMemoryInfo* memory, ContextOptions context,
                   const OrtLogger& logger)
    : OrtEp{},
      runtime_(runtime),
      api_(runtime.api),
      provider_api_(runtime.provider_api),
      logger_(logger),
      memory_(memory),
      context_(std::move(context)) {
  const int device = check_options(options);
  if (memory != nullptr) {
    const int number = ask<int>(api_, api_.MemoryInfoGetId, memory);
    // ONNX Runtime allocates tensors before it asks this provider anything.
    if (device != number)
      throw Failure(ORT_INVALID_ARGUMENT, "tensors are in memory of GPU " + std::to_string(number) +
                                              ", which the option 'device' must not contradict");
    copies_ = std::make_unique<CopyKernels>(runtime, number, provider_name);
  }
  loading_.options = std::move(options);
  loading_.user = this;
  loading_.log = [](void* user, std::int32_t level, const char* text) {
    static_cast<const Provider*>(user)->say(level == TASO_LOG_WARNING ? ORT_LOGGING_LEVEL_WARNING
                                            : level == TASO_LOG_INFO  ? ORT_LOGGING_LEVEL_INFO
                                                                      : ORT_LOGGING_LEVEL_VERBOSE,
                                            text);
  };
  ort_version_supported = runtime.version;
  offer_newer();
  GetName = [](const OrtEp*) noexcept { return provider_name; };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* chosen) noexcept {
    auto& provider = *static_cast<Provider*>(self);
    return guarded(provider.api_, [&] { provider.choose(*graph, *chosen); });
  };
  Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, std::size_t count,
               OrtNodeComputeInfo** computed, OrtNode** contexts) noexcept {
    auto& provider = *static_cast<Provider*>(self);
    return guarded(provider.api_, [&] {
      std::vector<std::unique_ptr<FusedNode>> made;
      std::vector<NodeHandle> written;
      for (std::size_t i = 0; i < count; ++i) {
        made.push_back(provider.compile(*graphs[i], *fused[i]));
        if (provider.context_.is_wanted)
          written.push_back(write_context(provider.api_, provider.context_, *graphs[i], *fused[i], made[i]->session()));
      }
      for (std::size_t i = 0; i < count; ++i) computed[i] = made[i].release();
      for (std::size_t i = 0; i < written.size(); ++i) contexts[i] = written[i].release();
    });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** computed, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<FusedNode*>(computed[i]);
  };
}

/// Functions of versions after the oldest one.
void Provider::offer_newer() {
#if ORT_API_VERSION >= 24
  if (memory_ != nullptr && runtime_.version >= 24)
    GetKernelRegistry = [](OrtEp* self, const OrtKernelRegistry** registry) noexcept -> OrtStatus* {
      *registry = static_cast<Provider*>(self)->copies_->registry();
      return nullptr;
    };
#endif
#if ORT_API_VERSION >= 25
  if (memory_ != nullptr && runtime_.version >= 25)
    Sync = [](OrtEp* self) noexcept {
      const auto& provider = *static_cast<Provider*>(self);
      return guarded(provider.api_, [&] {
        require(taso_device_wait(ask<int>(provider.api_, provider.api_.MemoryInfoGetId, provider.memory_)));
      });
    };
#endif
#if ORT_API_VERSION >= 27
  // Several devices may have been chosen: one of the CPU and one of the GPU.
  if (memory_ != nullptr && runtime_.version >= 27)
    GetDefaultMemoryDevice = [](const OrtEp* self, const OrtMemoryDevice** device) noexcept -> OrtStatus* {
      const auto& provider = *static_cast<const Provider*>(self);
      *device = provider.provider_api_.MemoryInfo_GetMemoryDevice(provider.memory_);
      return nullptr;
    };
#endif
  // The callbacks for captured graphs (1.26) stay empty. Every plan is a CUDA graph already. A replay through them
  // could only skip ONNX Runtime's own preparation of a run, and is not told whether to wait.
}

void Provider::choose(const OrtGraph& given, OrtEpGraphSupportInfo& chosen) {
  if (is_subgraph(api_, given, runtime_.knows_parents())) return;  // it runs with its node, or not at all
  const Graph graph = read_graph(api_, given);
  std::vector<bool> supported;
  for (const Node& node : graph.nodes) supported.push_back(is_supported(graph, node));
  const Links links(graph);
  std::size_t taken = 0;
  for (const std::vector<std::size_t>& places : partition(links.needs, supported)) {
    const Part part(graph, links, places);
    if (part.outputs.empty()) continue;
    try {
      Session session = load_part(graph, part.nodes, part.inputs, part.outputs);
      if (taso_session_place(session.get()) == TASO_DEVICE && has_open_sizes(*session))
        throw Failure(ORT_NOT_IMPLEMENTED, "the size of an output depends on content, which a GPU cannot do");
      prepared_[sorted(part.outputs)] = std::move(session);
    } catch (const Failure& failure) {
      say(ORT_LOGGING_LEVEL_WARNING, "left to other providers: " + std::to_string(part.nodes.size()) + " nodes from '" +
                                         part.nodes.front()->name + "': " + failure.what());
      continue;
    }
    std::vector<const OrtNode*> nodes;
    for (const Node* node : part.nodes) nodes.push_back(node->node);
    OrtNodeFusionOptions fusion{};
    fusion.ort_version_supported = oldest_interface;
    fusion.drop_constant_initializers = true;  // the session has them
    require(api_, provider_api_.EpGraphSupportInfo_AddNodesToFuse(&chosen, nodes.data(), nodes.size(), &fusion));
    taken += nodes.size();
  }
  for (const Node& node : graph.nodes) {
    if (!is_context(api_, node)) continue;
    require(api_, provider_api_.EpGraphSupportInfo_AddNodesToFuse(&chosen, &node.node, 1, nullptr));
    ++taken;
  }
  say(ORT_LOGGING_LEVEL_INFO,
      std::to_string(taken) + " of " + std::to_string(graph.nodes.size()) + " nodes run in taso");
}

bool Provider::is_supported(const Graph& graph, const Node& node) {
  std::string obstacle = node.obstacle;
  if (const char* other = ask<const char*>(api_, api_.Node_GetEpName, node.node); other != nullptr && *other != '\0')
    return false;
  for (const auto* names : {&node.inputs, &node.captured, &node.outputs})
    for (const std::string& name : *names)
      if (!name.empty() && !is_element(graph.values.at(name).element)) obstacle = "a value of an unknown type";
  if (node.op_type == "Dropout" && node.inputs.size() > 2 && !node.inputs[2].empty())
    obstacle = "it may draw random numbers";
  if (obstacle.empty()) {
    try {
      const std::string sample = write_sample(api_, graph, node);
      const auto [known, is_new] = samples_.try_emplace(sample);
      if (is_new) {
        try {
          load(sample, "", {{{"device", "cpu"}}});
        } catch (const Failure& failure) {
          known->second = failure.what();
        }
      }
      obstacle = known->second;
    } catch (const Failure& failure) {
      obstacle = failure.what();
    }
  }
  if (!obstacle.empty())
    say(ORT_LOGGING_LEVEL_INFO, "left to other providers: " + node.op_type + " '" + node.name + "': " + obstacle);
  return obstacle.empty();
}

Session Provider::load_part(const Graph& graph, const std::vector<const Node*>& nodes,
                            const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  return load(write_model(api_, graph, nodes, inputs, outputs), graph.folder.string(), loading_);
}

std::unique_ptr<FusedNode> Provider::compile(const OrtGraph& given, const OrtNode& fused) {
  const std::vector<std::string> inputs = onnxruntime::input_names(api_, fused);
  const std::vector<std::string> outputs = onnxruntime::output_names(api_, fused);
  Session session;
  if (const auto found = prepared_.find(sorted(outputs)); found != prepared_.end()) {
    session = std::move(found->second);
    prepared_.erase(found);
    if (sorted(onnxruntime::input_names(*session)) != sorted(inputs)) session.reset();
  }
  if (!session) {  // an engine file, or another part than was chosen
    const Graph graph = read_graph(api_, given);
    std::vector<const Node*> nodes;
    for (const Node& node : graph.nodes) nodes.push_back(&node);
    session = nodes.size() == 1 && is_context(api_, *nodes[0]) ? read_context(api_, *nodes[0], graph.folder, loading_)
                                                               : load_part(graph, nodes, inputs, outputs);
  }
  return std::make_unique<FusedNode>(runtime_, std::move(session), inputs, outputs);
}

void Provider::say(OrtLoggingLevel level, const std::string& text) const noexcept {
  api_.ReleaseStatus(api_.Logger_LogMessage(&logger_, level, text.c_str(), __FILE__, __LINE__, "taso"));
}

}  // namespace taso::onnxruntime
