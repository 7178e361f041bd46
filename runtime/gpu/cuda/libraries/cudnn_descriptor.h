// RAII wrapper for the descriptors of cuDNN's backend interface.
#pragma once

#include <cudnn.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/core/error.h"

namespace taso::gpu::cuda {

inline void require(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw EnvironmentError(fmt::format("cuDNN: {}: {}", what, cudnnGetErrorString(status)));
}

template <class T>
inline constexpr cudnnBackendAttributeType_t attribute_type_of = CUDNN_TYPE_BACKEND_DESCRIPTOR;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<double> = CUDNN_TYPE_DOUBLE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnBackendKnobType_t> = CUDNN_TYPE_KNOB_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnBackendBehaviorNote_t> = CUDNN_TYPE_BEHAVIOR_NOTE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type_of<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    require(cudnnBackendCreateDescriptor(type, &descriptor_), "a descriptor");
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)), text_(std::move(other.text_)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(text_, other.text_);
    return *this;
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  /// All attributes that were set, with those of other descriptors among them: equal texts describe the same. Handles
  /// and addresses are left out.
  const std::string& text() const { return text_; }

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    note(name, &value, 1);
    return set(name, attribute_type_of<T>, 1, &value);
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    note(name, values.data(), values.size());
    return set(name, attribute_type_of<T>, static_cast<std::int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    const cudnnBackendDescriptor_t descriptor = other.get();
    text_ += fmt::format("{}: {{{}}} ", static_cast<int>(name), other.text_);
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others) {
    std::vector<cudnnBackendDescriptor_t> list;
    text_ += fmt::format("{}: ", static_cast<int>(name));
    for (const Descriptor& other : others) {
      list.push_back(other.get());
      text_ += fmt::format("{{{}}} ", other.text_);
    }
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(list.size()), list.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                  const void* values) {
    require(cudnnBackendSetAttribute(descriptor_, name, type, count, values),
            fmt::format("attribute {}", static_cast<int>(name)));
    return *this;
  }
  Descriptor& finalize(std::string_view what) {
    require(cudnnBackendFinalize(descriptor_), what);
    return *this;
  }

  template <class T>
  T get_one(cudnnBackendAttributeName_t name) const {
    T value{};
    std::int64_t count = 0;
    require(cudnnBackendGetAttribute(descriptor_, name, attribute_type_of<T>, 1, &count, &value),
            fmt::format("attribute {}", static_cast<int>(name)));
    return value;
  }
  template <class T>
  std::vector<T> get_some(cudnnBackendAttributeName_t name, std::int64_t most) const {
    std::vector<T> values(static_cast<std::size_t>(most));
    std::int64_t count = 0;
    require(cudnnBackendGetAttribute(descriptor_, name, attribute_type_of<T>, most, &count, values.data()),
            fmt::format("attribute {}", static_cast<int>(name)));
    values.resize(static_cast<std::size_t>(count < most ? count : most));
    return values;
  }
  /// cuDNN fills in the descriptors that it is given.
  std::vector<Descriptor> get_descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                          std::int64_t most) const {
    std::vector<Descriptor> found;
    std::vector<cudnnBackendDescriptor_t> list;
    for (std::int64_t i = 0; i < most; ++i) list.push_back(found.emplace_back(type).get());
    std::int64_t count = 0;
    require(cudnnBackendGetAttribute(descriptor_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, list.data()),
            fmt::format("attribute {}", static_cast<int>(name)));
    found.resize(static_cast<std::size_t>(count < most ? count : most));
    return found;
  }

 private:
  template <class T>
  void note(cudnnBackendAttributeName_t name, const T* values, std::size_t count) {
    if constexpr (!std::is_pointer_v<T>) {
      text_ += fmt::format("{}: ", static_cast<int>(name));
      for (std::size_t i = 0; i < count; ++i)
        if constexpr (std::is_enum_v<T>)
          text_ += fmt::format("{} ", static_cast<long long>(values[i]));
        else
          text_ += fmt::format("{} ", values[i]);  // floating-point numbers in full
    }
  }

  cudnnBackendDescriptor_t descriptor_ = nullptr;
  std::string text_;
};

}  // namespace taso::gpu::cuda
