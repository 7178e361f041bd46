// What all files of the extension need: the GIL, errors of the library, element types.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <taso/taso.h>

namespace taso::python {

namespace nb = nanobind;

// Like nanobind's, but for daemon threads. Python ends a thread that asks for the GIL while the interpreter ends, by
// unwinding its stack; that ends the process if there is a destructor on the way. Such a thread waits here instead.
template <class Ask>
auto ask_for_gil(const Ask& ask) {
  try {
    while (Py_IsInitialized() == 0) ::pause();
    return ask();
  } catch (...) {
    for (;;) ::pause();
  }
}

class WithGil {
 public:
  WithGil() : state_(ask_for_gil([] { return PyGILState_Ensure(); })) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Does nothing while the interpreter ends: its last thread destroys what is left, and would not get the GIL back.
class WithoutGil {
 public:
  WithoutGil() : thread_(Py_IsInitialized() != 0 ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (thread_ == nullptr) return;
    ask_for_gil([&] {
      PyEval_RestoreThread(thread_);
      return 0;
    });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

/// A call of the library failed. It becomes an exception of taso.errors.
class Failure : public std::runtime_error {
 public:
  Failure(taso_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  taso_status status() const { return status_; }

 private:
  taso_status status_;
};

inline void require(taso_status status) {
  if (status != TASO_OK) throw Failure(status, taso_last_error());
}

/// Nothing for types that arrays cannot have.
inline std::optional<nb::dlpack::dtype> dtype_of(std::int32_t type) {
  using nb::dlpack::dtype;
  using Code = nb::dlpack::dtype_code;
  const auto made = [](Code code, std::uint8_t bits) { return dtype{static_cast<std::uint8_t>(code), bits, 1}; };
  switch (type) {
    case TASO_FLOAT32: return made(Code::Float, 32);
    case TASO_FLOAT64: return made(Code::Float, 64);
    case TASO_FLOAT16: return made(Code::Float, 16);
    case TASO_BFLOAT16: return made(Code::Bfloat, 16);
    case TASO_INT8: return made(Code::Int, 8);
    case TASO_INT16: return made(Code::Int, 16);
    case TASO_INT32: return made(Code::Int, 32);
    case TASO_INT64: return made(Code::Int, 64);
    case TASO_UINT8: return made(Code::UInt, 8);
    case TASO_UINT16: return made(Code::UInt, 16);
    case TASO_UINT32: return made(Code::UInt, 32);
    case TASO_UINT64: return made(Code::UInt, 64);
    case TASO_BOOL: return made(Code::Bool, 8);
    default: return std::nullopt;
  }
}

/// Whether elements lie one behind the other. No strides stand for that, and those of axes of size 1 mean nothing.
inline bool is_dense(std::size_t rank, const std::int64_t* shape, const std::int64_t* strides) {
  std::int64_t stride = 1;
  for (std::size_t i = rank; strides != nullptr && i-- > 0;) {
    if (shape[i] != 1 && strides[i] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

}  // namespace taso::python
