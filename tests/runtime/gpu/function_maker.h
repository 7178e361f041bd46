// What random nodes of opaque operators are made with.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "ops/core/error.h"
#include "tests/runtime/gpu/function_cases.h"

namespace taso::test::functions {

using enum ElementType;

inline const std::vector<ElementType> floats{float32, float32, float32, float16, bfloat16, float64};
inline const std::vector<ElementType> wholes{int64, int32, int8, uint8, int16, uint16, uint32};

inline ElementType some_number(Random& random) { return random.pick(random.chance(0.6) ? floats : wholes); }
inline ElementType any_type(Random& random) { return random.chance(0.2) ? boolean : some_number(random); }

inline Extents some_extents(Random& random, std::size_t least, std::size_t most, std::int64_t elements = 3000) {
  Extents extents;
  std::int64_t left = elements;
  for (std::size_t i =
           static_cast<std::size_t>(random.between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)));
       i > 0; --i) {
    const std::int64_t longest = std::min<std::int64_t>(left, random.chance(0.2) ? 300 : 9);
    extents.push_back(random.chance(0.15) ? 1 : random.between(1, std::max<std::int64_t>(longest, 1)));
    left /= extents.back();
  }
  random.shuffle(extents);
  return extents;
}

/// Extents that broadcast to these.
inline Extents narrower(Random& random, const Extents& whole) {
  Extents extents(whole.begin() + static_cast<std::ptrdiff_t>(random.below(whole.size() + 1)), whole.end());
  for (std::int64_t& extent : extents)
    if (random.chance(0.3)) extent = 1;
  return extents;
}

/// `wild`: with NaN, infinities and the limits of types among them.
inline Array some_array(Random& random, ElementType type, const Extents& extents, bool wild = false) {
  Array array(type, extents);
  const double odd = wild && random.chance(0.5) ? 0.05 : 0;
  with_element_type(type, [&](auto tag) {
    using T = decltype(tag);
    for (T& value : array.mutable_values<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        value = random.chance(0.5);
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(random.between(std::is_signed_v<T> ? -9 : 0, 12));
        if (random.chance(odd))
          value = random.pick(std::vector<T>{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                                             static_cast<T>(random.next())});
      } else {
        value = T(static_cast<float>(random.unit() * 6 - 3));
        if (random.chance(0.1)) value = T(static_cast<float>(random.between(-6, 6)) * 0.5F);
        constexpr float infinite = std::numeric_limits<float>::infinity();
        if (random.chance(odd))
          value = T(random.pick(
              std::vector{std::numeric_limits<float>::quiet_NaN(), infinite, -infinite, -0.0F, 30.0F, -30.0F}));
      }
    }
  });
  return array;
}

inline Array numbers(const std::vector<std::int64_t>& list) {
  return Array::of<std::int64_t>({static_cast<std::int64_t>(list.size())}, list);
}

/// Indices of a dimension of this extent, some of them from the end.
inline Array some_indices(Random& random, const Extents& extents, std::int64_t extent, bool is_narrow = false) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = count(extents); i > 0; --i) list.push_back(random.between(-extent, extent - 1));
  return Array::of<std::int64_t>(extents, list).cast(is_narrow ? int32 : int64);
}

class Maker {
 public:
  Maker(const std::string& name, Random& source) : random(source) { made.function.name = name; }
  FunctionCase made = {};
  Random& random;

  Array& add(Array array, bool is_constant = false) {
    made.operands.emplace_back(std::move(array));
    made.function.constants.push_back(is_constant ? made.operands.back() : std::nullopt);
    return *made.operands.back();
  }
  void omit() {
    made.operands.emplace_back();
    made.function.constants.emplace_back();
  }
  template <class T>
  void set(const std::string& name, T value) {
    made.function.attributes.set(name, std::move(value));
  }
  void set_sometimes(const std::string& name, double value) {
    if (random.chance(0.7)) set(name, value);
  }
  const Extents& extents() const { return made.operands[0]->extents(); }
  std::size_t rank() const { return extents().size(); }
  std::int64_t some_axis(std::size_t among) {
    const auto axis = static_cast<std::int64_t>(random.below(among));
    return random.chance(0.5) ? axis : axis - static_cast<std::int64_t>(among);
  }
};

using Make = std::function<void(Maker&)>;
using Table = std::map<std::string, Make>;

void add_element_functions(Table& table);
void add_row_functions(Table& table);
void add_place_functions(Table& table);
void add_quantised_functions(Table& table);
void add_recurrent_functions(Table& table);

}  // namespace taso::test::functions
