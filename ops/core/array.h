// A concrete tensor of any element type, as the interpreter passes it around. Copies share the data.
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
  /// An uninitialised array, aligned to 64 bytes.
  Array(ElementType type, Extents extents);
  /// A view of data that `owner` keeps alive. The data must be aligned for the element type.
  static Array view(ElementType type, Extents extents, const std::byte* data, std::shared_ptr<const void> owner);
  template <class T>
  static Array of(Extents extents, const std::vector<T>& values) {
    Array array(element_type_of<T>, std::move(extents));
    check(static_cast<std::int64_t>(values.size()) == array.size(), "the number of values matches the shape");
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
  /// Whether this array owns its data and no other array shares it.
  bool writable() const { return owned_ && owner_.use_count() == 1; }
  /// For filling in a new array; no other array may share the data.
  std::byte* mutable_data();

  template <class T>
  std::span<const T> values() const {
    check(type_ == element_type_of<T>, "an array is read as its own type");
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<T> mutable_values() {
    check(type_ == element_type_of<T>, "an array is written as its own type");
    return {reinterpret_cast<T*>(mutable_data()), static_cast<std::size_t>(size_)};
  }

  /// The same data under another shape with the same number of elements.
  Array reshaped(Extents extents) const;
  /// Converts every element. Booleans become 0 and 1; a number becomes true if it is not zero. A floating value that an
  /// integer type cannot hold saturates, and NaN becomes 0. Everything else is a C++ cast.
  Array cast(ElementType type) const;
  /// The elements as 64-bit integers; the array must hold integers or booleans.
  std::vector<std::int64_t> integers() const;
  /// The elements as doubles, from any type.
  std::vector<double> doubles() const;

 private:
  ElementType type_ = ElementType::undefined;
  Extents extents_;
  std::int64_t size_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool owned_ = false;  ///< false for a view
};

/// While one is alive, this thread refuses new arrays of more than `bytes` with a ShapeError. A damaged model may ask
/// for any amount of memory, and a machine that overcommits memory kills the process that uses it. Limits nest; the
/// smallest counts.
class ArrayLimit {
 public:
  explicit ArrayLimit(std::size_t bytes);
  ArrayLimit(const ArrayLimit&) = delete;
  ArrayLimit& operator=(const ArrayLimit&) = delete;
  ~ArrayLimit();

 private:
  std::size_t outer_;
};

/// Whether type, shape and bytes are the same.
bool identical(const Array& a, const Array& b);

}  // namespace taso::ops
