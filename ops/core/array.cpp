#include "ops/core/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include <fmt/format.h>

namespace taso::ops {
namespace {

constexpr std::size_t alignment = 64;

thread_local std::size_t largest_array = std::numeric_limits<std::size_t>::max();

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<From, Float16> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

ArrayLimit::ArrayLimit(std::size_t bytes) : outer_(largest_array) { largest_array = std::min(outer_, bytes); }
ArrayLimit::~ArrayLimit() { largest_array = outer_; }

Array::Array(ElementType type, Extents extents) : type_(type), extents_(std::move(extents)) {
  check(size_of(type) > 0, "arrays have a type that we model");
  for (const std::int64_t extent : extents_)
    if (extent < 0) throw ShapeError(fmt::format("negative dimension in {}", text_of(extents_)));
  size_ = count(extents_);
  if (size_ > std::numeric_limits<std::int64_t>::max() / 16) throw ShapeError("number of elements overflows");
  const std::size_t bytes = std::max<std::size_t>(this->bytes(), 1);
  if (bytes > largest_array) throw ShapeError(fmt::format("a tensor of {} bytes is too large here", bytes));
  void* raw = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (raw == nullptr) throw EnvironmentError(fmt::format("not enough memory for a tensor of {} bytes", bytes));
  owner_ = std::shared_ptr<const void>(
      raw, [](const void* data) { ::operator delete (const_cast<void*>(data), std::align_val_t{alignment}); });
  data_ = static_cast<const std::byte*>(raw);
  owned_ = true;
}

Array Array::view(ElementType type, Extents extents, const std::byte* data, std::shared_ptr<const void> owner) {
  Array array;
  array.type_ = type;
  array.size_ = count(extents);
  array.extents_ = std::move(extents);
  array.data_ = data;
  array.owner_ = std::move(owner);
  check(reinterpret_cast<std::uintptr_t>(data) % std::max<std::size_t>(size_of(type), 1) == 0, "data is aligned");
  return array;
}

std::byte* Array::mutable_data() {
  check(owner_.use_count() == 1, "an array is written only while its data is not shared");
  return const_cast<std::byte*>(data_);
}

Array Array::reshaped(Extents extents) const {
  check(count(extents) == size_, "a reshape keeps the number of elements");
  Array result = *this;
  result.extents_ = std::move(extents);
  return result;
}

Array Array::cast(ElementType to) const {
  if (to == type_) return *this;
  Array result(to, extents_);
  with_element_type(type_, [&](auto from_tag) {
    using From = decltype(from_tag);
    const auto from = values<From>();
    with_element_type(to, [&](auto to_tag) {
      using To = decltype(to_tag);
      const auto out = result.mutable_values<To>();
      for (std::size_t i = 0; i < from.size(); ++i) out[i] = convert<To>(from[i]);
    });
  });
  return result;
}

std::vector<std::int64_t> Array::integers() const {
  check(is_integer(type_) || type_ == ElementType::boolean, "the array holds integers");
  const Array wide = cast(ElementType::int64);
  const auto values = wide.values<std::int64_t>();
  return {values.begin(), values.end()};
}

std::vector<double> Array::doubles() const {
  const Array wide = cast(ElementType::float64);
  const auto values = wide.values<double>();
  return {values.begin(), values.end()};
}

bool identical(const Array& a, const Array& b) {
  return a.type() == b.type() && a.extents() == b.extents() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace taso::ops
