// The extension module taso._taso: sessions of libtaso for the Python code of the package. It uses only the C
// interface, so that it works with newer libraries. Names, types and devices are checked in Python
// (python/taso/session.py).
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/extension/support.h"
#include "python/extension/tensor_calls.h"

namespace taso::python {
namespace {

/// What a session calls while it lives. It stays where it is: the library has its address.
struct Callbacks {
  nb::object log;
  std::atomic<bool> is_cancelled{false};
};

void pass_on_log(void* user, std::int32_t level, const char* text) {
  if (Py_IsInitialized() == 0) return;  // the interpreter has ended
  const WithGil gil;
  const nb::object log = static_cast<Callbacks*>(user)->log;
  if (!log.is_valid() || log.is_none()) return;
  try {
    log(level, text);
  } catch (nb::python_error& error) {  // the library cannot pass it on
    error.discard_as_unraisable("the log function of a taso session");
  }
}

std::int32_t is_cancelled(void* user) { return static_cast<Callbacks*>(user)->is_cancelled ? 1 : 0; }

struct DestroyOptions {
  void operator()(taso_options* options) const { taso_options_destroy(options); }
};
using Options = std::unique_ptr<taso_options, DestroyOptions>;

struct DestroySession {
  void operator()(taso_session* session) const {
    const WithoutGil no_gil;  // it may wait for runs
    taso_session_destroy(session);
  }
};

/// Calls `work` in another thread, so that this one can react to Ctrl-C: it asks Python for signals all the time, and
/// tells `callbacks` if there was one. The GIL is free. Throws what the signal's handler raises.
template <class Work>
taso_status in_thread(Callbacks& callbacks, std::string& trouble, const Work& work) {
  taso_status status = TASO_BUG;
  bool is_done = false;
  std::mutex guard;
  std::condition_variable changed;
  std::thread worker;
  std::optional<nb::python_error> raised;
  {
    const WithoutGil no_gil;
    worker = std::thread([&] {
      const taso_status ending = work();
      const char* text = taso_last_error();  // of this thread
      const std::lock_guard lock(guard);
      trouble = text;
      status = ending;
      is_done = true;
      changed.notify_one();
    });
    std::unique_lock lock(guard);
    while (!changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return is_done; })) {
      lock.unlock();
      {
        const WithGil gil;
        if (!raised && PyErr_CheckSignals() != 0) {
          raised.emplace();
          callbacks.is_cancelled = true;
        }
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (raised) throw nb::python_error(*raised);
  return status;
}

std::int32_t type_of(nb::dlpack::dtype dtype) {
  for (std::int32_t type = TASO_FLOAT32; type <= TASO_BFLOAT16; ++type)
    if (const auto one = dtype_of(type); one && *one == dtype) return type;
  throw Failure(TASO_BAD_ARGUMENT, "an array has a type that tensors cannot have");
}

void set_shape(taso_tensor& tensor, const std::vector<std::int64_t>& shape) {
  if (shape.size() > TASO_MAX_RANK) throw Failure(TASO_BAD_ARGUMENT, "an array has too many axes");
  tensor.rank = static_cast<std::int32_t>(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) tensor.shape[i] = shape[i];
}

std::vector<std::int64_t> shape_of(const taso_tensor& tensor) { return {tensor.shape, tensor.shape + tensor.rank}; }

/// Memory of an array: pointer, bytes, number of its type, whether it is on the device, shape.
using Memory = std::tuple<std::uintptr_t, std::size_t, std::int32_t, bool, std::vector<std::int64_t>>;

Memory memory_of(const nb::ndarray<>& array) {
  if (array.size() > 0 && !is_dense(array.ndim(), array.shape_ptr(), array.stride_ptr()))
    throw Failure(TASO_BAD_ARGUMENT, "an array on a device is not contiguous");
  const bool is_on_device =
      array.device_type() == nb::device::cuda::value || array.device_type() == nb::device::cuda_managed::value;
  if (!is_on_device && array.device_type() != nb::device::cpu::value &&
      array.device_type() != nb::device::cuda_host::value)
    throw Failure(TASO_BAD_ARGUMENT, "an array is on a device of a kind that is not supported");
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  return {reinterpret_cast<std::uintptr_t>(array.data()), array.nbytes(), type_of(array.dtype()), is_on_device,
          std::move(shape)};
}

/// Fills in a tensor from an array of the host, a capsule of DLPack, or a tuple of Python as Memory has it. What must
/// live as long as the tensor is kept.
taso_tensor tensor_of(nb::handle given, std::vector<nb::ndarray<>>& kept) {
  Memory memory;
  if (nb::isinstance<nb::tuple>(given)) {
    const auto tuple = nb::borrow<nb::tuple>(given);
    memory = {nb::cast<std::uintptr_t>(tuple[0]), nb::cast<std::size_t>(tuple[1]), nb::cast<std::int32_t>(tuple[2]),
              nb::cast<bool>(tuple[3]), nb::cast<std::vector<std::int64_t>>(tuple[4])};
  } else {
    kept.push_back(nb::ndarray<>(nb::cast<nb::ndarray<nb::ro>>(given, false)));
    memory = memory_of(kept.back());
  }
  const auto& [address, bytes, type, is_on_device, shape] = memory;
  taso_tensor tensor{};
  tensor.data = reinterpret_cast<void*>(address);
  tensor.capacity = bytes;
  tensor.type = type;
  tensor.place = is_on_device ? TASO_DEVICE : TASO_HOST;
  set_shape(tensor, shape);
  return tensor;
}

/// Memory that the library allocated, as an array that frees it.
nb::object array_of(const taso_tensor& tensor) {
  auto owned = std::make_unique<taso_tensor>(tensor);
  const nb::capsule owner(owned.get(), [](void* memory) noexcept {
    const std::unique_ptr<taso_tensor> freed(static_cast<taso_tensor*>(memory));
    taso_tensor_free(freed.get());
  });
  owned.release();
  std::vector<std::size_t> shape(tensor.shape, tensor.shape + tensor.rank);
  // NumPy has no bfloat16: Python looks at these bits.
  const auto dtype = dtype_of(tensor.type == TASO_BFLOAT16 ? TASO_UINT16 : tensor.type);
  if (!dtype) throw Failure(TASO_BAD_MODEL, "an output has a type that cannot be returned");
  return nb::cast(nb::ndarray<nb::numpy>(tensor.data, shape.size(), shape.data(), owner, nullptr, *dtype));
}

/// Of inputs, none for those left out; of outputs, none for those of unknown rank.
using Shapes = std::vector<std::optional<std::vector<std::int64_t>>>;

class Session {
 public:
  Session(nb::object model, const std::optional<std::string>& folder,
          const std::vector<std::pair<std::string, std::string>>& options, nb::object log)
      : callbacks_(std::make_unique<Callbacks>()) {
    callbacks_->log = std::move(log);
    taso_options* made = nullptr;
    require(taso_options_create(&made));
    const Options chosen(made);
    for (const auto& [name, value] : options) require(taso_options_set(made, name.c_str(), value.c_str()));
    require(taso_options_set_log(made, pass_on_log, callbacks_.get()));
    require(taso_options_set_cancel(made, is_cancelled, callbacks_.get()));
    taso_status status = TASO_OK;
    std::string trouble;
    // It is owned at once: in_thread may throw although it was loaded.
    taso_session* loaded = nullptr;
    const auto own = [&](taso_status ending) {
      session_.reset(loaded);
      return ending;
    };
    if (nb::isinstance<nb::bytes>(model)) {
      const auto bytes = nb::borrow<nb::bytes>(model);
      status = in_thread(*callbacks_, trouble, [&, all = bytes.data(), size = bytes.size()] {
        const char* place = folder ? folder->c_str() : nullptr;
        return own(taso_session_load_bytes(all, size, place, made, &loaded));
      });
    } else {
      const auto path = nb::cast<std::string>(model);
      status = in_thread(*callbacks_, trouble, [&] { return own(taso_session_load(path.c_str(), made, &loaded)); });
    }
    if (status != TASO_OK) throw Failure(status, trouble);
  }

  nb::list values(bool are_outputs) const {
    nb::list all;
    const std::size_t count =
        are_outputs ? taso_session_output_count(session_.get()) : taso_session_input_count(session_.get());
    for (std::size_t i = 0; i < count; ++i) {
      taso_value value;
      require(are_outputs ? taso_session_output(session_.get(), i, &value)
                          : taso_session_input(session_.get(), i, &value));
      nb::object shape = nb::none();
      if (value.rank >= 0) {
        nb::list sizes;
        for (std::int32_t k = 0; k < value.rank; ++k) {
          if (value.shape[k] >= 0)
            sizes.append(value.shape[k]);
          else if (value.dimensions[k] != nullptr)
            sizes.append(value.dimensions[k]);
          else
            sizes.append(nb::none());
        }
        shape = nb::tuple(sizes);
      }
      const bool is_optional = !are_outputs && taso_session_input_is_optional(session_.get(), i) == 1;
      all.append(nb::make_tuple(value.name, value.type, shape, is_optional));
    }
    return all;
  }
  bool is_on_device() const { return taso_session_place(session_.get()) == TASO_DEVICE; }
  std::string device() const { return taso_session_device(session_.get()); }
  std::string report() {
    const std::lock_guard lock(reporting_);
    return taso_session_report(session_.get());
  }

  void save_engine(const std::string& path) {
    const WithoutGil no_gil;
    require(taso_session_save_engine(session_.get(), path.c_str()));
  }
  void warm_up(const Shapes& shapes) {
    const auto inputs = shaped(shapes);
    const WithoutGil no_gil;
    require(taso_session_warm_up(session_.get(), inputs.data(), inputs.size()));
  }
  /// The shapes of outputs, with -1 for sizes that are not known; none if the rank is not known.
  Shapes infer(const Shapes& shapes) const {
    const auto inputs = shaped(shapes);
    std::vector<taso_tensor> outputs(taso_session_output_count(session_.get()));
    require(taso_session_infer(session_.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    Shapes all;
    for (const taso_tensor& output : outputs) {
      all.emplace_back();
      if (output.rank >= 0) all.back() = shape_of(output);
    }
    return all;
  }

  /// For each output an array, if none was given, or else its shape.
  nb::list run(const nb::sequence& inputs, const nb::sequence& outputs, std::uintptr_t stream) {
    std::vector<nb::ndarray<>> kept;
    std::vector<taso_tensor> given, results;
    for (const nb::handle input : inputs) given.push_back(input.is_none() ? taso_tensor{} : tensor_of(input, kept));
    for (const nb::handle output : outputs)
      results.push_back(output.is_none() ? taso_tensor{} : tensor_of(output, kept));
    std::vector<bool> is_ours;
    for (const taso_tensor& result : results) is_ours.push_back(result.data == nullptr);
    {
      const WithoutGil no_gil;
      require(taso_session_run(session_.get(), given.data(), given.size(), results.data(), results.size(),
                               reinterpret_cast<void*>(stream)));
    }
    nb::list all;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (is_ours[i])
        all.append(array_of(results[i]));
      else
        all.append(nb::tuple(nb::cast(shape_of(results[i]))));
    }
    return all;
  }

  /// False if this PyTorch does not offer what run_tensors needs. See TensorCalls.
  bool learn_tensors(const nb::object& torch, std::vector<std::int32_t> input_types, std::vector<nb::object> names,
                     std::vector<std::int32_t> types, std::vector<nb::object> torch_types, nb::object device,
                     std::int32_t number) {
    tensor_calls_ =
        TensorCalls::with(torch, std::move(input_types),
                          {std::move(names), std::move(types), std::move(torch_types), std::move(device)}, number);
    return tensor_calls_.has_value();
  }
  nb::object run_tensors(const nb::sequence& inputs, const nb::object& outputs, std::optional<std::uintptr_t> stream) {
    return tensor_calls_ ? tensor_calls_->run(session_.get(), inputs, outputs, stream) : nb::none();
  }

  Callbacks* callbacks() { return callbacks_.get(); }

 private:
  static std::vector<taso_tensor> shaped(const Shapes& shapes) {
    std::vector<taso_tensor> all(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (!shapes[i]) continue;
      all[i].type = TASO_FLOAT32;  // any: it is not left out
      set_shape(all[i], *shapes[i]);
    }
    return all;
  }

  std::unique_ptr<Callbacks> callbacks_;
  std::mutex reporting_;
  std::optional<TensorCalls> tensor_calls_;
  std::unique_ptr<taso_session, DestroySession> session_;  // it ends before what it calls
};

// A log function may refer to the session that calls it: the garbage collector needs to know.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  if (Callbacks* callbacks = nb::inst_ptr<Session>(self)->callbacks()) Py_VISIT(callbacks->log.ptr());
  return 0;
}
int clear(PyObject* self) {
  if (Callbacks* callbacks = nb::inst_ptr<Session>(self)->callbacks()) callbacks->log.reset();
  return 0;
}
PyType_Slot session_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace
}  // namespace taso::python

NB_MODULE(_taso, module) {
  using namespace taso::python;
  nb::set_leak_warnings(false);  // sessions that live until the interpreter ends are no error
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      try {
        const nb::object made =
            nb::module_::import_("taso.errors").attr("error_of")(static_cast<int>(failure.status()), failure.what());
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
      } catch (nb::python_error& error) {
        error.restore();
      }
    }
  });
  module.def("version", [] { return std::string(taso_version()); });
  module.def("api_version", [] { return taso_api_version(); });
  module.def("device_count", [] {
    const WithoutGil no_gil;
    return taso_device_count();
  });
  module.def("device_text", [] { return std::string(taso_device_text()); });
  module.def("status_name", [](std::int32_t status) { return std::string(taso_status_name(status)); });
  module.def("memory_of", [](const nb::object& given) { return memory_of(nb::cast<nb::ndarray<>>(given, false)); });

  nb::class_<Session>(module, "Session", nb::type_slots(session_slots))
      .def(nb::init<nb::object, const std::optional<std::string>&,
                    const std::vector<std::pair<std::string, std::string>>&, nb::object>(),
           nb::arg("model"), nb::arg("folder").none(), nb::arg("options"), nb::arg("log").none())
      .def("values", &Session::values, nb::arg("are_outputs"))
      .def("is_on_device", &Session::is_on_device)
      .def("device", &Session::device)
      .def("report", &Session::report)
      .def("save_engine", &Session::save_engine, nb::arg("path"))
      .def("warm_up", &Session::warm_up, nb::arg("shapes"))
      .def("infer", &Session::infer, nb::arg("shapes"))
      .def("run", &Session::run, nb::arg("inputs"), nb::arg("outputs"), nb::arg("stream"))
      .def("learn_tensors", &Session::learn_tensors, nb::arg("torch"), nb::arg("input_types"), nb::arg("names"),
           nb::arg("types"), nb::arg("torch_types"), nb::arg("device"), nb::arg("number"))
      .def("run_tensors", &Session::run_tensors, nb::arg("inputs"), nb::arg("outputs").none(),
           nb::arg("stream").none());
}
