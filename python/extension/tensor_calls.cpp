#include "python/extension/tensor_calls.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace taso::python {

/// The first version of DLPack's table of functions for exchange in C, in its layout.
struct ExchangeInterface {
  std::uint32_t major, minor;
  const ExchangeInterface* previous;  ///< an older version, or null
  void* allocate;
  void* managed_from_object;
  void* object_from_managed;
  /// Fills in the second for an object, without references. Other than 0: failed, with an error of Python.
  int (*tensor_from_object)(void*, nb::dlpack::dltensor*);
  /// For a kind of device and its number.
  int (*current_stream)(std::int32_t, std::int32_t, void**);
};

namespace {

constexpr std::size_t most_known_shapes = 64;
constexpr std::int32_t host = nb::device::cpu::value, gpu = nb::device::cuda::value;

const ExchangeInterface* exchange_of(const nb::object& tensor_type) {
  const nb::object capsule = nb::getattr(tensor_type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  const auto* found = static_cast<const ExchangeInterface*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (found != nullptr && found->major != 1) found = found->previous;
  if (found == nullptr || found->tensor_from_object == nullptr || found->current_stream == nullptr) return nullptr;
  return found;
}

bool has_shape(const taso_tensor& tensor, const std::vector<std::int64_t>& shape) {
  return std::equal(tensor.shape, tensor.shape + tensor.rank, shape.begin(), shape.end());
}

}  // namespace

std::optional<TensorCalls> TensorCalls::with(const nb::object& torch, std::vector<std::int32_t> input_types,
                                             Outputs outputs, std::int32_t device) {
  TensorCalls made;
  made.tensor_type_ = torch.attr("Tensor");
  made.exchange_ = exchange_of(made.tensor_type_);
  if (made.exchange_ == nullptr) return std::nullopt;
  made.is_negated_ = made.tensor_type_.attr("is_neg");
  made.empty_ = torch.attr("empty");
  made.input_types_ = std::move(input_types);
  made.outputs_ = std::move(outputs);
  made.device_ = device;
  return made;
}

/// False if it is no usual tensor of this type.
bool TensorCalls::read(nb::handle tensor, std::int32_t type, taso_tensor& read) const {
  // Not those of classes that inherit: they may mean something else.
  if (reinterpret_cast<PyObject*>(Py_TYPE(tensor.ptr())) != tensor_type_.ptr()) return false;
  if (nb::cast<bool>(is_negated_(tensor))) return false;  // first, for it may let other threads run
  nb::dlpack::dltensor found;
  if (exchange_->tensor_from_object(tensor.ptr(), &found) != 0) {
    PyErr_Clear();
    return false;
  }
  const auto wanted = dtype_of(type);
  const bool is_here = device_ < 0 ? found.device.device_type == host
                                   : found.device.device_type == gpu && found.device.device_id == device_;
  if (!is_here || !wanted || !(found.dtype == *wanted) || found.ndim > TASO_MAX_RANK) return false;
  if (!is_dense(static_cast<std::size_t>(found.ndim), found.shape, found.strides)) return false;
  std::size_t bytes = static_cast<std::size_t>(wanted->bits + 7) / 8;
  for (std::int32_t i = 0; i < found.ndim; ++i) bytes *= static_cast<std::size_t>(found.shape[i]);
  // Null would ask the library for memory. Tensors without storage have it, and wrappers within a transformation.
  if (bytes == 0 || found.data == nullptr) return false;
  read = {};
  read.data = static_cast<std::byte*>(found.data) + found.byte_offset;
  read.capacity = bytes;
  read.type = type;
  read.place = device_ < 0 ? TASO_HOST : TASO_DEVICE;
  read.rank = found.ndim;
  std::copy_n(found.shape, found.ndim, read.shape);
  return true;
}

/// The shapes of outputs for these inputs; null if they depend on more.
std::shared_ptr<const TensorCalls::Known> TensorCalls::shapes_for(const taso_session* session,
                                                                  const std::vector<taso_tensor>& inputs) {
  Shape key;
  for (const taso_tensor& input : inputs) {
    key.push_back(input.rank);
    key.insert(key.end(), input.shape, input.shape + input.rank);
  }
  const auto place = std::find_if(known_.begin(), known_.end(), [&](const auto& one) { return one->inputs == key; });
  if (place != known_.end()) {
    std::rotate(known_.begin(), place, place + 1);
    return known_.front();
  }
  std::vector<taso_tensor> found(outputs_.names.size());
  require(taso_session_infer(session, inputs.data(), inputs.size(), found.data(), found.size()));
  Known made{std::move(key), {}, {}};
  for (const taso_tensor& one : found) {
    if (one.rank < 0 || std::any_of(one.shape, one.shape + one.rank, [](std::int64_t size) { return size < 0; }))
      return nullptr;
    made.outputs.emplace_back(one.shape, one.shape + one.rank);
    nb::list sizes;
    for (std::int32_t i = 0; i < one.rank; ++i) sizes.append(one.shape[i]);
    made.tuples.push_back(nb::tuple(sizes));
  }
  if (known_.size() >= most_known_shapes) known_.pop_back();
  known_.insert(known_.begin(), std::make_shared<const Known>(std::move(made)));
  return known_.front();
}

nb::object TensorCalls::run(taso_session* session, const nb::sequence& inputs, const nb::object& given_outputs,
                            std::optional<std::uintptr_t> stream) {
  std::vector<taso_tensor> given(input_types_.size()), results(outputs_.names.size());
  if (given.empty() || nb::len(inputs) != given.size()) return nb::none();
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!read(inputs[i], input_types_[i], given[i])) return nb::none();
  // Calls of PyTorch below may let other threads run, which may forget this one.
  const std::shared_ptr<const Known> known = shapes_for(session, given);
  if (known == nullptr) return nb::none();
  nb::dict named;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const nb::object tensor =
        given_outputs.is_none()
            ? empty_(known->tuples[i], nb::arg("dtype") = outputs_.torch_types[i], nb::arg("device") = outputs_.device)
            : nb::object(given_outputs[i]);
    if (!read(tensor, outputs_.types[i], results[i]) || !has_shape(results[i], known->outputs[i])) return nb::none();
    named[outputs_.names[i]] = tensor;
  }
  void* place = nullptr;
  if (stream) {
    place = reinterpret_cast<void*>(*stream);
  } else if (device_ >= 0 && exchange_->current_stream(gpu, device_, &place) != 0) {
    PyErr_Clear();
    return nb::none();
  }
  {
    const WithoutGil no_gil;
    require(taso_session_run(session, given.data(), given.size(), results.data(), results.size(), place));
  }
  return named;
}

}  // namespace taso::python
