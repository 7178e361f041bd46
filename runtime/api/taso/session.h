// Runs ONNX models on the GPU or the CPU. A thin C++20 cover of the C interface (taso.h), in this header alone: the
// library's C++ is not part of its interface, so that programs work with newer releases and other compilers.
//
//   taso::Session session("model.onnx");
//   std::vector<float> picture(3 * 224 * 224);
//   const std::vector<taso::HostTensor> results = session.run({taso::TensorView::of(picture, {1, 3, 224, 224})});
//   std::span<const float> scores = results[0].values<float>();
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <taso/taso.h>

namespace taso {

/// What every function below throws.
class SessionError : public std::runtime_error {
 public:
  SessionError(taso_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  taso_status status() const { return status_; }

 private:
  taso_status status_;
};

namespace detail {

inline void require(taso_status status) {
  if (status != TASO_OK) throw SessionError(status, taso_last_error());
}

template <class T>
constexpr taso_type type_of() {
  if constexpr (std::is_same_v<T, float>) return TASO_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return TASO_FLOAT64;
  if constexpr (std::is_same_v<T, bool>) return TASO_BOOL;
  if constexpr (std::is_same_v<T, std::int8_t>) return TASO_INT8;
  if constexpr (std::is_same_v<T, std::int16_t>) return TASO_INT16;
  if constexpr (std::is_same_v<T, std::int32_t>) return TASO_INT32;
  if constexpr (std::is_same_v<T, std::int64_t>) return TASO_INT64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return TASO_UINT8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return TASO_UINT16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return TASO_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return TASO_UINT64;
  return TASO_UNDEFINED;
}

}  // namespace detail

/// A tensor in memory of the caller, dense and row-major. TensorView() stands for an optional input that is left out.
struct TensorView : taso_tensor {
  TensorView() : taso_tensor{} {}
  TensorView(void* memory, std::size_t bytes, taso_type element, taso_place where, std::span<const std::int64_t> sizes)
      : taso_tensor{memory, bytes, element, where, 0, 0, {}} {
    if (sizes.size() > TASO_MAX_RANK) throw SessionError(TASO_BAD_ARGUMENT, "a tensor has too many axes");
    rank = static_cast<std::int32_t>(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) shape[i] = sizes[i];
  }

  /// Elements on the host, such as a std::vector<float>.
  template <class Elements>
  static TensorView of(Elements& elements, std::initializer_list<std::int64_t> sizes) {
    const std::span all(elements);
    using T = std::remove_cv_t<typename decltype(all)::element_type>;
    static_assert(detail::type_of<T>() != TASO_UNDEFINED, "an element type of ONNX");
    return {const_cast<T*>(all.data()), all.size_bytes(), detail::type_of<T>(), TASO_HOST,
            std::span(sizes.begin(), sizes.size())};
  }
  /// Memory of the session's GPU.
  static TensorView on_device(void* memory, std::size_t bytes, taso_type element, std::span<const std::int64_t> sizes) {
    return {memory, bytes, element, TASO_DEVICE, sizes};
  }
  std::span<const std::int64_t> sizes() const { return {shape, static_cast<std::size_t>(rank)}; }
};

/// A result in memory of the host, which it owns.
class HostTensor {
 public:
  HostTensor() = default;
  explicit HostTensor(const taso_tensor& tensor) : tensor_(tensor) {}
  HostTensor(HostTensor&& other) noexcept : tensor_(std::exchange(other.tensor_, taso_tensor{})) {}
  HostTensor& operator=(HostTensor&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~HostTensor() { taso_tensor_free(&tensor_); }

  taso_type type() const { return static_cast<taso_type>(tensor_.type); }
  std::span<const std::int64_t> sizes() const { return {tensor_.shape, static_cast<std::size_t>(tensor_.rank)}; }
  const void* data() const { return tensor_.data; }
  std::size_t count() const {
    std::size_t product = 1;
    for (const std::int64_t size : sizes()) product *= static_cast<std::size_t>(size);
    return product;
  }
  template <class T>
  std::span<const T> values() const {
    if (detail::type_of<T>() != type()) throw SessionError(TASO_BAD_ARGUMENT, "a result is read as its own type");
    return {static_cast<const T*>(tensor_.data), count()};
  }

 private:
  taso_tensor tensor_{};
};

/// Memory of a GPU, or memory of the host (TASO_HOST) that copies to and from it use without a detour.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes, int device = 0, taso_place place = TASO_DEVICE)
      : size_(bytes), device_(device), place_(place) {
    detail::require(taso_device_allocate(device, place, bytes, &data_));
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_), device_(other.device_), place_(other.place_) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(device_, other.device_);
    std::swap(place_, other.place_);
    return *this;
  }
  ~DeviceMemory() { taso_device_free(device_, place_, data_); }

  void* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Copies all of it, in the order of the stream.
  void copy_from(const void* memory, void* stream = nullptr) {
    detail::require(taso_device_copy(device_, data_, memory, size_, stream));
  }
  void copy_to(void* memory, void* stream = nullptr) const {
    detail::require(taso_device_copy(device_, memory, data_, size_, stream));
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  int device_ = 0;
  taso_place place_ = TASO_DEVICE;
};

/// A cudaStream_t.
class DeviceStream {
 public:
  explicit DeviceStream(int device = 0) : device_(device) { detail::require(taso_stream_create(device, &stream_)); }
  DeviceStream(DeviceStream&& other) noexcept
      : device_(other.device_), stream_(std::exchange(other.stream_, nullptr)) {}
  DeviceStream& operator=(DeviceStream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~DeviceStream() { taso_stream_destroy(device_, stream_); }
  void* get() const { return stream_; }
  void wait() const { detail::require(taso_stream_wait(device_, stream_)); }

 private:
  int device_;
  void* stream_ = nullptr;
};

/// See taso.h for the names of options.
class SessionOptions {
 public:
  SessionOptions() {
    taso_options* made = nullptr;
    detail::require(taso_options_create(&made));
    options_.reset(made);
  }
  SessionOptions(std::initializer_list<std::pair<std::string, std::string>> values) : SessionOptions() {
    for (const auto& [name, value] : values) set(name, value);
  }
  SessionOptions& set(const std::string& name, const std::string& value) {
    detail::require(taso_options_set(options_.get(), name.c_str(), value.c_str()));
    return *this;
  }
  using Log = std::function<void(taso_log_level, std::string_view)>;
  using Cancel = std::function<bool()>;
  /// Called until the session is destroyed. It must not throw.
  SessionOptions& on_log(Log log) {
    log_ = std::make_shared<Log>(std::move(log));
    detail::require(taso_options_set_log(
        options_.get(),
        [](void* user, std::int32_t level, const char* text) {
          (*static_cast<Log*>(user))(static_cast<taso_log_level>(level), text);
        },
        log_.get()));
    return *this;
  }
  /// Returns true to end a search, measuring or planning, which then throws TASO_CANCELLED. Called until the session is
  /// destroyed, also by several threads at once. It must not throw.
  SessionOptions& on_cancel(Cancel cancel) {
    cancel_ = std::make_shared<Cancel>(std::move(cancel));
    detail::require(taso_options_set_cancel(
        options_.get(), [](void* user) -> std::int32_t { return (*static_cast<Cancel*>(user))() ? 1 : 0; },
        cancel_.get()));
    return *this;
  }
  const taso_options* get() const { return options_.get(); }
  /// What the options refer to.
  std::shared_ptr<void> kept() const { return std::make_shared<std::pair<LogPointer, CancelPointer>>(log_, cancel_); }

 private:
  struct End {
    void operator()(taso_options* options) const { taso_options_destroy(options); }
  };
  using LogPointer = std::shared_ptr<Log>;
  using CancelPointer = std::shared_ptr<Cancel>;
  LogPointer log_;
  CancelPointer cancel_;
  std::unique_ptr<taso_options, End> options_;
};

class Session {
 public:
  /// A model or an engine file.
  explicit Session(const std::string& path, const SessionOptions& options = {}) : kept_(options.kept()) {
    taso_session* made = nullptr;
    detail::require(taso_session_load(path.c_str(), options.get(), &made));
    session_.reset(made);
  }
  /// A model in memory, without external weights.
  Session(std::span<const std::byte> bytes, const SessionOptions& options = {}) : kept_(options.kept()) {
    taso_session* made = nullptr;
    detail::require(taso_session_load_bytes(bytes.data(), bytes.size(), nullptr, options.get(), &made));
    session_.reset(made);
  }

  std::vector<taso_value> inputs() const { return values(taso_session_input_count, taso_session_input); }
  std::vector<taso_value> outputs() const { return values(taso_session_output_count, taso_session_output); }
  /// Whether the model has a default for an input.
  bool is_optional(std::size_t input) const { return taso_session_input_is_optional(session_.get(), input) == 1; }
  bool is_on_device() const { return taso_session_place(session_.get()) == TASO_DEVICE; }
  std::string device() const { return taso_session_device(session_.get()); }
  std::string report() { return taso_session_report(session_.get()); }

  /// The results, in memory of the host.
  std::vector<HostTensor> run(std::span<const TensorView> inputs, void* stream = nullptr) {
    std::vector<taso_tensor> results(taso_session_output_count(session_.get()));
    const std::vector<taso_tensor> given(inputs.begin(), inputs.end());
    detail::require(
        taso_session_run(session_.get(), given.data(), given.size(), results.data(), results.size(), stream));
    std::vector<HostTensor> owned;
    for (const taso_tensor& result : results) owned.emplace_back(result);
    return owned;
  }
  std::vector<HostTensor> run(std::initializer_list<TensorView> inputs, void* stream = nullptr) {
    return run(std::span(inputs.begin(), inputs.size()), stream);
  }
  /// Into memory of the caller. On a device, returns before the run has ended.
  void run(std::span<const taso_tensor> inputs, std::span<taso_tensor> outputs, void* stream = nullptr) {
    detail::require(
        taso_session_run(session_.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), stream));
  }
  /// Makes the plan for inputs of these shapes now, instead of in the first run.
  void warm_up(std::span<const taso_tensor> inputs) {
    detail::require(taso_session_warm_up(session_.get(), inputs.data(), inputs.size()));
  }
  /// Writes an engine file.
  void save_engine(const std::string& path) { detail::require(taso_session_save_engine(session_.get(), path.c_str())); }
  taso_session* get() const { return session_.get(); }

 private:
  struct End {
    void operator()(taso_session* session) const { taso_session_destroy(session); }
  };
  template <class Count, class Get>
  std::vector<taso_value> values(Count count, Get describe) const {
    std::vector<taso_value> list(count(session_.get()));
    for (std::size_t i = 0; i < list.size(); ++i) detail::require(describe(session_.get(), i, &list[i]));
    return list;
  }
  std::shared_ptr<void> kept_;  // the functions of the options, which outlive the session
  std::unique_ptr<taso_session, End> session_;
};

}  // namespace taso
