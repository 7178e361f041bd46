// A family's inputs with concrete shapes and random contents in the prime field, and what its schemas make of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "generator/enumeration/family.h"
#include "ops/core/error.h"
#include "ops/core/field.h"
#include "ops/core/tensor.h"

namespace taso::generator {

/// Where a tensor was joined, for each axis: the size of the first part, 0 for "not joined". With `rows_bit`, the axis
/// was made of two, of which the outer had this size.
using Cuts = std::array<std::uint8_t, 4>;
constexpr std::uint8_t rows_bit = 0x80;

/// All of an item but its contents.
struct Layout {
  Extents extents;
  bool is_kernel = false;
  Cuts cuts{};
  bool operator==(const Layout&) const = default;
  std::size_t size() const { return static_cast<std::size_t>(count(extents)); }
};

/// What a term computes in a world, in whatever numbers.
template <class S>
struct ItemOf {
  Tensor<S> tensor;
  bool is_kernel = false;
  Cuts cuts{};
  Layout layout() const { return {tensor.extents, is_kernel, cuts}; }
};
using Item = ItemOf<Field>;

/// Two independent projections of a tensor's contents, with its shape: equal tensors have equal keys, and different
/// ones differ but for a chance of less than 2^-100.
struct Fingerprint {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Fingerprint&) const = default;
};
struct HashFingerprint {
  std::size_t operator()(const Fingerprint& key) const { return key.high ^ (key.low * 0x9e3779b97f4a7c15u); }
};
Fingerprint fingerprint(const Item& item);

/// What inputs hold. Any elements of the field tell polynomials apart best, but what is larger than what means nothing
/// any more once they are multiplied. Small integers keep their order through two products, sums and means: with them,
/// what relu and maxima do is seen.
enum class Contents { field, integers };

/// Whether a family has operators that need an order.
bool needs_order(const Family& family);

class World {
 public:
  /// With `larger`, the shapes at which equalities are confirmed.
  World(const Family& family, bool larger, std::uint64_t seed, Contents contents = Contents::field);

  const Family& family() const { return family_; }
  std::size_t inputs() const { return inputs_.size(); }
  const Item& input(std::size_t place) const { return inputs_[place]; }
  std::span<const Item> all_inputs() const { return inputs_; }
  std::size_t kind_of(std::size_t input) const { return kinds_[input]; }

  /// The results; nothing if the schema does not take these operands. For other scalars than those that the interpreter
  /// has, evaluate() must be instantiated.
  template <class S = Field>
  std::optional<std::vector<ItemOf<S>>> apply(const Schema& schema,
                                              const std::vector<const ItemOf<S>*>& operands) const;
  /// The operator with the attributes that the place gives, or nothing.
  std::optional<Operator> concrete(const Schema& schema, std::span<const Layout> operands) const;
  /// Whether there are tensors with one number for each channel.
  bool has_channels() const { return has_channels_; }

 private:
  Operator constant(const Schema& schema) const;
  std::optional<Operator> convolution(const Schema& schema, std::span<const Layout> operands) const;
  std::optional<Operator> part(const Schema& schema, const Layout& whole) const;
  bool is_channels(const Layout& layout) const;
  /// Higher or wider than the family's images: one border is enough.
  bool has_grown(const Extents& extents) const;

  const Family& family_;
  bool larger_;
  bool has_channels_ = false;
  std::vector<Item> inputs_;
  std::vector<std::size_t> kinds_;
};

/// Where a schema's result is joined, from where its operands are.
Cuts cuts_of(const Schema& schema, std::span<const Layout> operands, const Extents& result);
/// Zeros everywhere. All that computes them is alike, and its equalities would say only that: nobody writes x - x, so
/// that such values are left out of the enumeration.
bool is_zero(std::span<const Field> contents);
/// Whether a schema's result is a kernel.
bool gives_kernel(const Schema& schema, std::span<const Layout> operands);

template <class S>
std::optional<std::vector<ItemOf<S>>> World::apply(const Schema& schema,
                                                   const std::vector<const ItemOf<S>*>& operands) const {
  std::vector<Layout> layouts;
  std::vector<Tensor<S>> tensors;
  for (const ItemOf<S>* operand : operands) layouts.push_back(operand->layout());
  const auto op = concrete(schema, layouts);
  if (!op) return std::nullopt;
  for (const ItemOf<S>* operand : operands) tensors.push_back(operand->tensor);
  std::vector<ItemOf<S>> items;
  try {
    for (Tensor<S>& tensor : ops::evaluate<S>(*op, tensors)) {
      ItemOf<S>& item = items.emplace_back(ItemOf<S>{std::move(tensor), gives_kernel(schema, layouts), {}});
      item.cuts = cuts_of(schema, layouts, item.tensor.extents);
    }
  } catch (const ShapeError&) {
    return std::nullopt;
  }
  return items;
}

}  // namespace taso::generator
