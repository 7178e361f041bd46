#include "runtime/onnxruntime/session.h"

#include <algorithm>
#include <cstring>

#include "runtime/onnxruntime/graph.h"

namespace taso::onnxruntime {
namespace {

/// Frees the outputs that the library allocated.
struct HostOutputs {
  std::vector<taso_tensor> tensors;
  std::vector<bool> is_owned;
  ~HostOutputs() {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (is_owned[i]) taso_tensor_free(&tensors[i]);
  }
};

taso_tensor tensor_of(const TensorView& view) {
  taso_tensor tensor{};
  if (view.sizes.size() > TASO_MAX_RANK) throw Failure(ORT_NOT_IMPLEMENTED, "a tensor has too many axes");
  tensor.data = const_cast<char*>(view.bytes.data());  // an input is not written
  tensor.capacity = view.bytes.size();
  tensor.type = view.element;
  tensor.place = view.is_on_device ? TASO_DEVICE : TASO_HOST;
  tensor.rank = static_cast<std::int32_t>(view.sizes.size());
  std::copy(view.sizes.begin(), view.sizes.end(), tensor.shape);
  return tensor;
}

bool is_sized(const taso_tensor& tensor) {
  return tensor.rank >= 0 &&
         std::all_of(tensor.shape, tensor.shape + tensor.rank, [](std::int64_t size) { return size >= 0; });
}

std::vector<std::size_t> places_of(const std::vector<std::string>& wanted, const std::vector<std::string>& given) {
  std::vector<std::size_t> places;
  for (const std::string& name : wanted) {
    const auto found = std::find(given.begin(), given.end(), name);
    if (found == given.end()) throw Failure(ORT_EP_FAIL, "the fused node has no value '" + name + "'");
    places.push_back(static_cast<std::size_t>(found - given.begin()));
  }
  return places;
}

template <class Count, class Get>
std::vector<std::string> names_of(const taso_session& session, Count count, Get get) {
  std::vector<std::string> names(count(&session));
  for (std::size_t i = 0; i < names.size(); ++i) {
    taso_value value;
    require(get(&session, i, &value));
    names[i] = value.name;
  }
  return names;
}

}  // namespace

std::vector<std::string> input_names(const taso_session& session) {
  return names_of(session, taso_session_input_count, taso_session_input);
}

std::vector<std::string> output_names(const taso_session& session) {
  return names_of(session, taso_session_output_count, taso_session_output);
}

bool has_open_sizes(const taso_session& session) {
  std::vector<taso_tensor> inputs(taso_session_input_count(&session)), outputs(taso_session_output_count(&session));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    taso_value value;
    require(taso_session_input(&session, i, &value));
    inputs[i].rank = std::max(value.rank, 0);
    std::transform(value.shape, value.shape + inputs[i].rank, inputs[i].shape,
                   [](std::int64_t size) { return size < 0 ? 1 : size; });
  }
  // Sizes may be refused that are possible one at a time only; the run says so then.
  if (taso_session_infer(&session, inputs.data(), inputs.size(), outputs.data(), outputs.size()) != TASO_OK)
    return false;
  return !std::all_of(outputs.begin(), outputs.end(), is_sized);
}

OptionsHandle make_options(const Options& options) {
  taso_options* made = nullptr;
  require(taso_options_create(&made));
  OptionsHandle handle(made);
  for (const auto& [name, value] : options) require(taso_options_set(made, name.c_str(), value.c_str()));
  return handle;
}

namespace {

/// `open` is a function of libtaso that loads with the options given.
template <class Open>
Session load_with(const Loading& loading, const Open& open) {
  const OptionsHandle handle = make_options(loading.options);
  if (loading.log != nullptr) require(taso_options_set_log(handle.get(), loading.log, loading.user));
  taso_session* session = nullptr;
  require(open(handle.get(), &session));
  return Session(session);
}

}  // namespace

Session load(const std::string& model, const std::string& folder, const Loading& loading) {
  return load_with(loading, [&](const taso_options* options, taso_session** session) {
    return taso_session_load_bytes(model.data(), model.size(), folder.empty() ? nullptr : folder.c_str(), options,
                                   session);
  });
}

Session load_file(const std::string& path, const Loading& loading) {
  return load_with(loading, [&](const taso_options* options, taso_session** session) {
    return taso_session_load(path.c_str(), options, session);
  });
}

FusedNode::FusedNode(const Runtime& runtime, Session session, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs)
    : OrtNodeComputeInfo{}, api_(runtime.api), session_(std::move(session)) {
  inputs_ = places_of(input_names(*session_), inputs);
  outputs_ = places_of(output_names(*session_), outputs);
  ort_version_supported = runtime.version;
  CreateState = [](OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state) -> OrtStatus* {
    *state = nullptr;  // runs share nothing but the session
    return nullptr;
  };
  Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) -> OrtStatus* {
    const auto& node = *static_cast<FusedNode*>(self);
    return guarded(node.api_, [&] { node.compute(context); });
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};
}

void FusedNode::compute(OrtKernelContext* context) const {
  std::vector<taso_tensor> inputs;
  bool is_on_device = false;
  for (const std::size_t place : inputs_) {
    const auto* value = ask<const OrtValue*>(api_, api_.KernelContext_GetInput, context, place);
    if (value == nullptr) throw Failure(ORT_INVALID_ARGUMENT, "an input of a fused node is missing");
    const TensorView view = view_of(api_, *value);
    is_on_device |= view.is_on_device;
    inputs.push_back(tensor_of(view));
  }
  HostOutputs outputs{std::vector<taso_tensor>(outputs_.size()), std::vector<bool>(outputs_.size(), false)};
  require(taso_session_infer(session_.get(), inputs.data(), inputs.size(), outputs.tensors.data(), outputs_.size()));
  const auto take = [&](std::size_t i) {
    const taso_tensor& made = outputs.tensors[i];
    const auto* value =
        ask<OrtValue*>(api_, api_.KernelContext_GetOutput, context, outputs_[i],
                       static_cast<const std::int64_t*>(made.shape), static_cast<std::size_t>(made.rank));
    if (value == nullptr) throw Failure(ORT_EP_FAIL, "an output of a fused node is missing");
    TensorView view = view_of(api_, *value);
    if (view.element != made.type) throw Failure(ORT_EP_FAIL, "an output of a fused node has another type");
    return view;
  };
  std::vector<bool> comes_later(outputs_.size());  // the size depends on the content of inputs
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    comes_later[i] = !is_sized(outputs.tensors[i]);
    outputs.tensors[i] = comes_later[i] ? taso_tensor{} : tensor_of(take(i));
    outputs.is_owned[i] = outputs.tensors[i].data == nullptr && outputs.tensors[i].place == TASO_HOST;
    is_on_device |= outputs.tensors[i].place == TASO_DEVICE;
  }
  void* stream = nullptr;
  // A runtime without a GPU refuses to answer.
  if (is_on_device) api_.ReleaseStatus(api_.KernelContext_GetGPUComputeStream(context, &stream));
  require(
      taso_session_run(session_.get(), inputs.data(), inputs.size(), outputs.tensors.data(), outputs_.size(), stream));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!comes_later[i]) continue;
    const TensorView target = take(i);
    auto* const to = const_cast<char*>(target.bytes.data());
    if (target.is_on_device)
      require(taso_device_copy(target.device, to, outputs.tensors[i].data, target.bytes.size(), stream));
    else if (!target.bytes.empty())
      std::memcpy(to, outputs.tensors[i].data, target.bytes.size());
  }
}

}  // namespace taso::onnxruntime
