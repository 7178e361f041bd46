// A concrete tensor of any element type: what the interpreter moves around. Copies share the data.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ops/core/error.h"
#include "ops/core/shape.h"

namespace taso::ops {

class Array {
 public:
  Array() = default;
  /// Uninitialised, aligned to 64 bytes.
  Array(ElementType type, Extents extents);
  /// Data that someone else keeps alive through `owner`; must be aligned for the element.
  static Array view(ElementType type, Extents extents, const std::byte* data, std::shared_ptr<const void> owner);
  template <class T>
  static Array of(Extents extents, const std::vector<T>& values) {
    Array array(element_type_of<T>, std::move(extents));
    check(static_cast<std::int64_t>(values.size()) == array.size(), "as many values as the shape has elements");
    std::copy(values.begin(), values.end(), array.mutable_values<T>().begin());
    return array;
  }
  template <class T>
  static Array scalar(T value) {
    return of<T>({}, std::vector<T>{value});
  }

  ElementType type() const { return type_; }
  const Extents& extents() const { return extents_; }
  std::size_t rank() const { return extents_.size(); }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * size_of(type_); }

  const std::byte* data() const { return data_; }
  /// Whether this array alone holds its data, and the data is its own.
  bool writable() const { return owned_ && owner_.use_count() == 1; }
  /// For filling in a new array: nobody else may hold the data.
  std::byte* mutable_data();

  template <class T>
  std::span<const T> values() const {
    check(type_ == element_type_of<T>, "array is read as the type that it has");
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<T> mutable_values() {
    check(type_ == element_type_of<T>, "array is written as the type that it has");
    return {reinterpret_cast<T*>(mutable_data()), static_cast<std::size_t>(size_)};
  }

  /// The same data under another shape of as many elements.
  Array reshaped(Extents extents) const;
  /// Every element converted as a C++ cast does, booleans to 0 and 1, to bool as "is not zero"; a floating value that an
  /// integer type cannot hold saturates, NaN becomes 0.
  Array cast(ElementType type) const;
  /// The elements as 64-bit integers; the array must hold integers or booleans.
  std::vector<std::int64_t> integers() const;
  /// The elements as doubles, of any type.
  std::vector<double> doubles() const;

 private:
  ElementType type_ = ElementType::undefined;
  Extents extents_;
  std::int64_t size_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool owned_ = false;  ///< allocated by us, not a view of somebody's data
};

/// While it lives, a new array of more bytes is refused on this thread, by a ShapeError: a damaged model may ask for any
/// amount of memory, and a machine that promises more than it has kills whoever takes it. Limits nest, the least counts.
class ArrayLimit {
 public:
  explicit ArrayLimit(std::size_t bytes);
  ArrayLimit(const ArrayLimit&) = delete;
  ArrayLimit& operator=(const ArrayLimit&) = delete;
  ~ArrayLimit();

 private:
  std::size_t outer_;
};

/// Same type, shape and bytes.
bool identical(const Array& a, const Array& b);

}  // namespace taso::ops
